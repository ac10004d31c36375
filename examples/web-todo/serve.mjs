// Serves the example, and the collections of a hub under the same origin, as a reverse proxy does.
//
//   node examples/web-todo/serve.mjs [PORT] [HUB]     (default: 8000 http://127.0.0.1:4287)

import { createServer, request as requestOf } from "node:http";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";

const [port = "8000", hub = "http://127.0.0.1:4287"] = process.argv.slice(2);
const TYPES = { ".html": "text/html; charset=utf-8", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const FOLDERS = { "/": new URL(".", import.meta.url), "/feedsync/": new URL("../../packages/feedsync/dist/", import.meta.url) };

function forward(request, response) {
  const { hostname, port: of } = new URL(hub);
  const { url: path, method, headers } = request;
  const forwarded = requestOf({ hostname, port: of, path, method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  forwarded.on("error", () => response.destroy());
  request.pipe(forwarded);
}

async function serve(path, response) {
  const folder = path.startsWith("/feedsync/") ? "/feedsync/" : "/";
  const name = path.slice(folder.length) || "index.html";
  const bytes = /^[\w-]+\.\w+$/.test(name) && await readFile(new URL(name, FOLDERS[folder])).catch(() => undefined);
  if (!bytes) return response.writeHead(404).end();
  return response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "text/plain", "cache-control": "no-cache" }).end(bytes);
}

const server = createServer((request, response) => {
  if (request.url.startsWith("/collections/")) return forward(request, response);
  return serve(new URL(request.url, hub).pathname, response);
});
server.listen(Number(port), "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${server.address().port}/`));
