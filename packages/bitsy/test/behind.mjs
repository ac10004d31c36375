// Origins that are other programs: an nginx with WebDAV, and the hub. A server of the tests stands before them. It has the
// files of the application, records each edit that was carried out, and can be stopped like a network that fails.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./browser.mjs";
import { PROGRAM, freePort } from "./hub.mjs";
import { start } from "./left.mjs";
import { Origin, entry, titleOf } from "./origin.mjs";

class Behind extends Origin {
  // Addresses of entries that were created.
  made = new Set();

  async begin(program, args) {
    this.process = start(program, args, { stdio: "ignore" });
    await until(program, () => fetch(this.upstream).then(() => true));
    await this.serveFiles();
    await this.listen(0);
  }

  async carryOut({ method, url, headers }, body, send) {
    const sent = new Headers();
    for (const name of ["content-type", "if-match", "if-none-match", "slug", "accept", "idempotency-key"]) {
      if (headers[name]) sent.set(name, headers[name]);
    }
    const response = await fetch(this.upstream + url, {
      method, headers: sent, body: method === "GET" || method === "HEAD" ? undefined : body, redirect: "manual",
    });
    // Links repeat the host of a request, which is that of the program.
    const received = Buffer.from(await response.arrayBuffer());
    const isText = /xml/.test(response.headers.get("content-type") ?? "");
    const bytes = isText ? Buffer.from(received.toString().replaceAll(this.upstream, this.url)) : received;
    // The hub answers a POST that it knows by its `Idempotency-Key` with the entry that it has.
    const made = method === "POST" ? response.headers.get("location") : undefined;
    if (method !== "GET" && response.ok && !this.made.has(made)) this.log.push(`${method} ${titleOf(body) ?? url}`);
    if (made) this.made.add(made);
    const told = {};
    for (const name of ["content-type", "etag", "location", "last-modified", "content-location"]) {
      const value = response.headers.get(name);
      if (value !== null) told[name] = value.replace(this.upstream, this.url);
    }
    return send(response.status, told, response.status === 204 || response.status === 304 ? undefined : bytes);
  }

  async end() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    await ended;
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

// Files that are put and deleted, and a feed that links to them.
export class Nginx extends Behind {
  feedPath = "/feed.atom";
  entryPath(title) { return `/${title}.entry`; }

  static async start(titles) {
    const origin = new Nginx();
    const at = await mkdtemp(join(tmpdir(), "bitsy-nginx-"));
    origin.directory = at;
    const port = await freePort();
    origin.upstream = `http://127.0.0.1:${port}`;
    for (const name of ["www", "tmp"]) await mkdir(join(at, name));
    const links = titles.map((title) => entry(title).replace(/^<\?xml[^>]*>/, "")
      .replace("</entry>", `<link rel="edit" href="/${title}.entry"/></entry>`));
    await writeFile(join(at, "www/feed.atom"), `<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:test:feed</id>` +
      `<title>files</title><updated>2026-01-01T00:00:00Z</updated><author><name>test</name></author>${links.join("")}</feed>`);
    for (const title of titles) await writeFile(join(at, `www/${title}.entry`), entry(title));
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${at}/tmp/${name};`);
    await writeFile(join(at, "nginx.conf"), `daemon off; master_process off; pid ${at}/pid; error_log ${at}/errors;
events {}
http {
  access_log off; ${temporary.join(" ")}
  types { application/atom+xml atom; "application/atom+xml;type=entry" entry; }
  server { listen 127.0.0.1:${port}; root ${at}/www; dav_methods PUT DELETE; }
}
`);
    const program = ["/usr/sbin/nginx", "/usr/bin/nginx"].find(existsSync);
    if (!program) throw new Error("nginx is not installed");
    await origin.begin(program, ["-c", join(at, "nginx.conf"), "-p", at, "-e", join(at, "errors")]);
    return origin;
  }

  async bodyOf(title) { return readFile(join(this.directory, `www/${title}.entry`), "utf8"); }
}

// The hub of this project with a collection of notes.
export class Hub extends Behind {
  feedPath = "/collections/notes";

  static async start(titles) {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is not built: cargo build -p feedsync-cli, or FEEDSYNC_PROGRAM`);
    const origin = new Hub();
    origin.directory = await mkdtemp(join(tmpdir(), "bitsy-hub-"));
    const port = await freePort();
    origin.upstream = `http://127.0.0.1:${port}`;
    const data = join(origin.directory, "data");
    await origin.begin(PROGRAM, ["--data", data, "serve", "--listen", `127.0.0.1:${port}`]);
    const made = await fetch(origin.upstream + origin.feedPath, {
      method: "PUT", headers: { "content-type": "application/json" }, body: `{"accept": ["application/atom+xml;type=entry"]}`,
    });
    if (made.status !== 201) throw new Error(`the hub answers a new collection with ${made.status}`);
    origin.members = new Map();
    for (const title of titles) {
      const { status, headers } = await fetch(origin.upstream + origin.feedPath, {
        method: "POST", headers: { "content-type": "application/atom+xml;type=entry" }, body: entry(title),
      });
      if (status !== 201) throw new Error(`the hub answers a new entry with ${status}`);
      origin.members.set(title, new URL(headers.get("location")).pathname);
    }
    return origin;
  }

  entryPath(title) { return this.members.get(title); }
}
