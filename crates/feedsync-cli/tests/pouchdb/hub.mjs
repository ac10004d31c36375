// A separate hub: a process, a data directory and a port.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PATIENCE = 15_000;

/** Running hubs, which are killed at the end in any case. */
const running = new Set();

process.on('exit', () => {
  for (const hub of running) hub.remove();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

export class Hub {
  /** Creates an endpoint in a new data directory, prepares it, and starts its hub. */
  static async start(settings = [], prepare = () => {}) {
    const hub = new Hub();
    hub.feedsync = process.env.FEEDSYNC ?? 'feedsync';
    hub.data = mkdtempSync(join(tmpdir(), 'feedsync-pouchdb-'));
    hub.settings = settings;
    hub.port = 0;
    running.add(hub);
    hub.run(['store', 'init', '--endpoint', 'hub']);
    prepare(hub);
    await hub.again();
    return hub;
  }

  /** Runs a command on the data directory, with `input` on standard input. */
  run(command, input = '') {
    return execFileSync(this.feedsync, ['--data', this.data, ...command], {
      encoding: 'utf8',
      input,
    });
  }

  /** Starts the hub, on its previous port if there was one. */
  async again() {
    if (!running.has(this)) throw new Error('the hub is removed');
    const listen = `127.0.0.1:${this.port}`;
    const command = ['--data', this.data, 'serve', '--listen', listen, '--log-level', 'warn'];
    this.process = spawn(this.feedsync, [...command, ...this.settings], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.told = '';
    this.ended = new Promise((ended) => this.process.once('exit', ended));
    this.port = await new Promise((listening, fail) => {
      const late = setTimeout(() => fail(new Error(`no hub yet: ${this.told}`)), PATIENCE);
      this.ended.then(() => fail(new Error(`the hub ended: ${this.told}`)));
      const line = (text) => {
        this.told = `${this.told}${text}\n`.slice(-4_000);
        const port = text.match(/^listening on http:\/\/127\.0\.0\.1:(\d+)\//)?.[1];
        if (port) {
          clearTimeout(late);
          listening(Number(port));
        }
      };
      createInterface({ input: this.process.stdout }).on('line', line);
      createInterface({ input: this.process.stderr }).on('line', line);
    });
    this.base = `http://127.0.0.1:${this.port}/couch`;
  }

  /** Kills the hub without warning, like a power failure. */
  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  /** Kills the hub and removes its data. */
  remove() {
    running.delete(this);
    this.process?.kill('SIGKILL');
    rmSync(this.data, { recursive: true, force: true, maxRetries: 3 });
  }
}
