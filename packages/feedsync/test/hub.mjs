// A real hub: the program `feedsync serve`.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "../../bitsy/test/left.mjs";

const PROGRAM = process.env.FEEDSYNC_PROGRAM
  ?? join(process.env.CARGO_TARGET_DIR ?? new URL("../../../target", import.meta.url).pathname, "debug/feedsync");

export class HubProgram {
  static async start(...settings) {
    const hub = new HubProgram();
    hub.directory = await mkdtemp(join(tmpdir(), "feedsync-hub-"));
    hub.settings = settings;
    hub.run("store", "init");
    hub.run("collection", "create", "todo", "--format", "json");
    await hub.listen(0);
    return hub;
  }

  run(...command) {
    const { status, stdout, stderr, error } = spawnSync(PROGRAM, ["--data", this.directory, ...command], { encoding: "utf8" });
    if (status !== 0) throw new Error(`feedsync ${command.join(" ")}: ${error?.message ?? stderr}`);
    return stdout;
  }

  async listen(port = this.port) {
    const options = ["--data", this.directory, "serve", "--listen", `127.0.0.1:${port}`, ...this.settings];
    this.process = start(PROGRAM, options, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    this.port = await new Promise((resolve, reject) => {
      const read = (data) => {
        output += data;
        const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(output);
        if (found) resolve(Number(found[1]));
      };
      this.process.stdout.on("data", read);
      this.process.stderr.on("data", read);
      this.process.on("error", reject);
      this.process.on("exit", () => reject(new Error(`the hub ended: ${output}`)));
    });
    this.url = `http://127.0.0.1:${this.port}/collections/todo`;
  }

  async stop() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    await ended;
  }

  async remove() {
    await this.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}
