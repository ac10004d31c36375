// A hub of its own: a process, a data directory and a port.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PATIENCE = 15_000;

/** Hubs that run, to be killed whatever happens. */
const running = new Set();

process.on('exit', () => {
  for (const hub of running) hub.remove();
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

export class Hub {
  /** Makes an endpoint in a data directory of its own, prepares it, and starts its hub. */
  static async start(settings = [], prepare = () => {}) {
    const hub = new Hub();
    hub.feedsync = process.env.FEEDSYNC ?? 'feedsync';
    hub.data = mkdtempSync(join(tmpdir(), 'feedsync-pouchdb-'));
    hub.settings = settings;
    hub.port = 0;
    running.add(hub);
    hub.run(['init', '--endpoint', 'hub']);
    prepare(hub);
    await hub.again();
    return hub;
  }

  /** Runs a command on the data directory, which reads `input`. */
  run(command, input = '') {
    return execFileSync(this.feedsync, ['--data', this.data, ...command], {
      encoding: 'utf8',
      input,
    });
  }

  /** Starts, on the port that it had before, if it had one. */
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

  /** Ends it without warning, as a power cut would. */
  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  /** Ends it, with its data. */
  remove() {
    running.delete(this);
    this.process?.kill('SIGKILL');
    rmSync(this.data, { recursive: true, force: true, maxRetries: 3 });
  }
}
