// Definitions for scenarios in Node: their list, and the place where each runs.

import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Hub } from './hub.mjs';
import { Place as Anywhere } from './place.mjs';

export const modules = process.env.POUCHDB_MODULES ?? import.meta.dirname;
const require = createRequire(join(modules, 'package.json'));

export const PouchDB = require('pouchdb');
PouchDB.plugin(require('pouchdb-adapter-memory'));
PouchDB.plugin(require('pouchdb-find'));

export const ADAPTERS = ['memory', 'leveldb'];

/** All scenarios, in the order of their output. */
export const scenarios = [];

/** Adds a scenario with a separate database and an optional time limit. */
export function scenario(name, run, limit) {
  scenarios.push({ name, run: (place) => run(place), limit });
}

/** Adds a scenario for each storage adapter, since its outcome may depend on the adapter. */
export function onEachAdapter(name, run) {
  for (const adapter of ADAPTERS) {
    scenarios.push({
      name: `${name} (${adapter})`,
      run(place) {
        place.adapter = adapter;
        return run(place);
      },
    });
  }
}

/** A place whose clients store documents in memory or in temporary directories. */
export class Place extends Anywhere {
  adapter = 'memory';

  constructor(hub) {
    super(hub, PouchDB);
    this.directory = mkdtempSync(join(tmpdir(), 'pouchdb-client-'));
    this.hubs = [];
  }

  local(options = {}) {
    const prefix = (options.adapter ?? this.adapter) === 'leveldb' ? `${this.directory}/` : '';
    return super.local({ prefix, ...options });
  }

  /** Starts a hub for this scenario alone. */
  async ownHub(settings, prepare) {
    this.hub = await Hub.start(settings, prepare);
    this.hubs.push(this.hub);
    return this.hub;
  }

  async close() {
    await super.close();
    for (const hub of this.hubs) hub.remove();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
