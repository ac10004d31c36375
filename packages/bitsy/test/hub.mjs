// A real hub with the package, for tests. FEEDSYNC_PROGRAM names the program; by default it is the one that Cargo built.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "./browser.mjs";
import { start } from "./left.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const dist = fileURLToPath(new URL("../dist", import.meta.url));
export const PROGRAM = process.env.FEEDSYNC_PROGRAM ?? join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "debug/feedsync");
const ENTRY = "application/atom+xml;type=entry";

export const entry = (title, text = title) => `<entry xmlns="http://www.w3.org/2005/Atom"><title>${title}</title><content>${text}</content></entry>`;

export class Hub {
  // Starts a hub with a collection for notes and photos.
  static async start() {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: cargo build -p feedsync-cli`);
    const hub = new Hub();
    hub.data = await mkdtemp(join(tmpdir(), "bitsy-hub-"));
    await hub.run("store", "init");
    await hub.run("collection", "create", "notes", "--accept", ENTRY, "--accept", "image/*");
    hub.port = await freePort();
    hub.url = `http://127.0.0.1:${hub.port}`;
    hub.feed = `${hub.url}/collections/notes`;
    await hub.begin();
    return hub;
  }

  run(...args) {
    return this.runWith("", ...args);
  }

  // Runs a command that reads this from its standard input.
  runWith(input, ...args) {
    const child = spawn(PROGRAM, ["--data", this.data, ...args], { stdio: ["pipe", "ignore", "pipe"] });
    child.stdin.end(input);
    let text = "";
    child.stderr.on("data", (data) => { text += data; });
    return new Promise((resolve, reject) => child.on("exit", (code) => code === 0 ? resolve()
      : reject(new Error(`${args.join(" ")}: ${text}`))));
  }

  async begin(port = this.port) {
    const args = ["--data", this.data, "serve", "--listen", `127.0.0.1:${port}`, "--web-package", dist, "--log-level", "error"];
    this.process = start(PROGRAM, args, { stdio: process.env.BITSY_TRACE ? "inherit" : "ignore" });
    await until("the hub", async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok);
  }

  async stop() {
    if (!this.process) return;
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGTERM");
    await ended;
    this.process = undefined;
  }

  async add(title, text) {
    const response = await fetch(this.feed, { method: "POST", headers: { "content-type": ENTRY }, body: entry(title, text) });
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
    return response.headers.get("location");
  }

  // Changes notes of a hub that is stopped, at an address that pages do not know, so that no edit of a page arrives before.
  async changeStopped(addresses, title) {
    const port = await freePort();
    await this.begin(port);
    for (const address of addresses) {
      const there = Object.assign(new URL(address), { port: String(port) });
      const response = await fetch(there, { method: "PUT", headers: { "content-type": ENTRY }, body: entry(title) });
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    }
    await this.stop();
  }

  // Titles of the stored notes, in the order of the feed.
  async titles() {
    const text = await (await fetch(this.feed, { headers: { accept: "application/atom+xml" } })).text();
    return [...text.matchAll(/<entry[\s>][\s\S]*?<title[^>]*>([^<]*)<\/title>/g)].map(([, title]) => title);
  }

  async end() {
    await this.stop();
    await rm(this.data, { recursive: true, force: true });
  }
}

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
