// An AtomPub server of the tests: one collection with entries, and the files of an application.
//
// It records each edit that it carries out. It can be stopped and started again at the same port.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { endLast } from "./left.mjs";

const ATOM = "application/atom+xml";
const SCRIPT = "text/javascript; charset=utf-8";
const dist = new URL("../dist/", import.meta.url);

export const entry = (title) => `<?xml version="1.0"?><entry xmlns="http://www.w3.org/2005/Atom">` +
  `<id>urn:test:${encodeURIComponent(title)}</id><title>${title}</title>` +
  `<updated>2026-01-01T00:00:00Z</updated><author><name>test</name></author><content>${title}</content></entry>`;

export const titleOf = (text) => /<title>([^<]*)<\/title>/.exec(text.slice(text.indexOf("<entry")))?.[1];
export const titlesOf = (feed) => [...feed.matchAll(/<entry[\s>][\s\S]*?<title[^>]*>([^<]*)<\/title>/g)].map(([, title]) => title);

export class Origin {
  entries = new Map();
  // Edits that were carried out: method, path and title.
  log = [];
  files = new Map();
  next = 1;
  // Called before a request is answered: a number is the status of the response, "drop" closes the connection, and
  // "answered" says that the function has answered.
  interfere = () => undefined;
  // Called after a request was carried out, before it is answered.
  afterwards = () => undefined;
  // Whether the response to a POST says that its body is the new entry (RFC 5023 9.2).
  namesContents = false;
  feedPath = "/feed";
  entryPath(title) { return `/entry/${title}`; }

  static async start(page) {
    const origin = new Origin();
    await origin.serveFiles(page);
    await origin.listen(0);
    return origin;
  }

  async serveFiles(page = "<!doctype html><title>test</title>") {
    this.files.set("/", ["text/html; charset=utf-8", page]);
    this.files.set("/bitsy-worker.js", [SCRIPT, await readFile(new URL("bitsy-worker.js", dist))]);
    for (const name of ["/bitsy.js", "/bitsy.mjs"]) {
      this.files.set(name, [SCRIPT, await readFile(new URL(name.slice(1), dist))]);
    }
    this.files.set("/bitsy_bg.wasm", ["application/wasm", await readFile(new URL("bitsy_bg.wasm", dist))]);
  }

  // Serves the worker with other words.
  change(from, to) {
    const [type, text] = this.files.get("/bitsy-worker.js");
    if (!text.toString().includes(from)) throw new Error(`the worker does not contain ${from}`);
    this.files.set("/bitsy-worker.js", [type, text.toString().replace(from, to)]);
  }

  async listen(port = this.port) {
    this.server = createServer((request, response) => this.answer(request, response).catch((error) => {
      console.error(error);
      response.destroy();
    }));
    const { server } = this;
    endLast(() => {
      server.close();
      server.closeAllConnections();
    });
    await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
  }

  async stop() {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  // Ends the programs behind the server.
  async end() {}

  titles() {
    return [...this.entries.values()].map(titleOf);
  }

  feed() {
    const entries = [...this.entries].map(([path, text]) => {
      const inner = text.replace(/^<\?xml[^>]*>/, "");
      return inner.replace("</entry>", `<link rel="edit" href="${path}"/></entry>`);
    });
    return `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:app="http://www.w3.org/2007/app">` +
      `<id>urn:test:feed</id><title>notes</title><updated>2026-01-01T00:00:00Z</updated>` +
      `<author><name>test</name></author><app:collection href="/feed"><title>notes</title></app:collection>` +
      `${entries.join("")}</feed>`;
  }

  async answer(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts).toString();
    const { method, url } = request;
    const send = async (status, headers, text = "") => {
      await this.afterwards(method, url, body);
      return response.writeHead(status, headers).end(text);
    };
    const refusal = await this.interfere(method, url, body, response, request);
    if (refusal === "answered") return undefined;
    if (refusal === "drop") return response.destroy();
    if (refusal) return response.writeHead(refusal, { "content-type": "text/plain" }).end("refused");
    if (this.files.has(url) && method === "GET") {
      const [type, text] = this.files.get(url);
      return response.writeHead(200, { "content-type": type, "cache-control": "no-cache" }).end(text);
    }
    return this.carryOut(request, body, send);
  }

  carryOut({ method, url, headers }, body, send) {
    if (url === "/feed" && method === "GET") return send(200, this.described(ATOM, this.feed()), this.feed());
    if (url === "/feed" && method === "POST") {
      const path = `/entry/${this.next++}`;
      this.entries.set(path, body);
      this.log.push(`POST ${titleOf(body)}`);
      const named = this.namesContents ? { "content-location": this.url + path } : {};
      return send(201, { ...this.described(ATOM, body), location: this.url + path, ...named }, body);
    }
    const known = this.entries.get(url);
    if (known === undefined) return send(404, { "content-type": "text/plain" }, "nothing here");
    const { etag } = this.described(ATOM, known);
    if (method === "GET") return send(200, this.described(ATOM, known), known);
    const wanted = headers["if-match"];
    if (wanted && wanted !== "*" && wanted !== etag) return send(412, { "content-type": "text/plain", etag }, "changed");
    if (method === "PUT") {
      this.entries.set(url, body);
      this.log.push(`PUT ${titleOf(body)}`);
      return send(200, this.described(ATOM, body), body);
    }
    if (method === "DELETE") {
      this.entries.delete(url);
      this.log.push(`DELETE ${url}`);
      return send(204, {});
    }
    return send(405, {});
  }

  described(type, text) {
    const etag = `"${createHash("sha256").update(text).digest("hex").slice(0, 16)}"`;
    return { "content-type": `${type};charset=utf-8`, etag, "cache-control": "no-cache" };
  }
}
