// A web server with the files of the package and of the example, and the collections of a hub under the same origin, as behind a
// reverse proxy.

import { createServer, request as requestOf } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { endLast } from "../../bitsy/test/left.mjs";

const TYPES = { ".html": "text/html; charset=utf-8", ".mjs": "text/javascript", ".wasm": "application/wasm", ".css": "text/css" };
const DIST = new URL("../dist", import.meta.url).pathname;

export class WebServer {
  static async start({ files = DIST, hub, pages = {}, index = '<!doctype html><title>test</title><link rel="icon" href="data:,">' } = {}) {
    const server = new WebServer();
    Object.assign(server, { files, hub, pages: { ...pages, ...index && { "/": index } } });
    server.http = createServer((request, response) => server.answer(request, response));
    endLast(() => {
      server.http.close();
      server.http.closeAllConnections();
    });
    await new Promise((resolve) => server.http.listen(0, "127.0.0.1", resolve));
    server.url = `http://127.0.0.1:${server.http.address().port}`;
    return server;
  }

  async answer(request, response) {
    const { pathname } = new URL(request.url, this.url);
    if (pathname.startsWith("/collections/")) return this.forward(request, response);
    const page = this.pages[pathname];
    if (page) return response.writeHead(200, { "content-type": TYPES[extname(pathname) || ".html"] }).end(page);
    const path = normalize(pathname === "/" ? "/index.html" : pathname);
    const places = [this.files, DIST].map((place) => join(place, path.replace(/^\/feedsync\//, "/")));
    for (const place of places) {
      const bytes = await readFile(place).catch(() => undefined);
      if (bytes) return response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain" }).end(bytes);
    }
    return response.writeHead(404).end();
  }

  forward(request, response) {
    const target = { host: "127.0.0.1", port: this.hub?.port ?? 9, path: request.url, method: request.method, headers: request.headers };
    const forwarded = requestOf(target, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  }

  async stop() {
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }
}
