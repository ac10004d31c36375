// What scenarios are written with: their list, and the place where each runs.

import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Hub } from './hub.mjs';

export const modules = process.env.POUCHDB_MODULES ?? import.meta.dirname;
const require = createRequire(join(modules, 'package.json'));

export const PouchDB = require('pouchdb');
PouchDB.plugin(require('pouchdb-adapter-memory'));
PouchDB.plugin(require('pouchdb-find'));

export const ADAPTERS = ['memory', 'leveldb'];

/** All scenarios, in the order in which they are told. */
export const scenarios = [];

/** A scenario with a database of its own. */
export function scenario(name, run) {
  scenarios.push({ name, run: (place) => run(place) });
}

/** A scenario for which it may matter what the client keeps its documents in. */
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

let places = 0;

/** Where a scenario runs: a database of the hub, and clients that keep theirs where they can be thrown away. */
export class Place {
  adapter = 'memory';

  constructor(hub) {
    this.hub = hub;
    this.number = ++places;
    this.name = `scenario-${this.number}`;
    this.directory = mkdtempSync(join(tmpdir(), 'pouchdb-client-'));
    this.clients = [];
    this.activities = [];
    this.hubs = [];
  }

  /** The address of the database. */
  get url() {
    return `${this.hub.base}/${this.name}`;
  }

  /** A client that keeps its documents on this side. */
  local(options = {}) {
    const name = `client-${this.number}-${this.clients.length}`;
    const adapter = options.adapter ?? this.adapter;
    const path = adapter === 'leveldb' ? join(this.directory, name) : name;
    const client = new PouchDB(path, { ...options, adapter });
    this.clients.push(client);
    return client;
  }

  /** The database of the hub, as a client sees it. */
  remote(options = {}) {
    return new PouchDB(this.url, options);
  }

  /** The same, and what it asks of the hub: method, path below the database, query and body. */
  watched(options = {}) {
    const requests = [];
    const fetch = async (url, init) => {
      const { pathname, searchParams: query } = new URL(url);
      const path = decodeURIComponent(pathname).split(`/${this.name}`)[1] ?? pathname;
      const request = { method: init?.method ?? 'GET', path, query, body: init?.body };
      requests.push(request);
      const answer = await PouchDB.fetch(url, init);
      request.status = answer.status;
      return answer;
    };
    return { remote: this.remote({ ...options, fetch }), requests };
  }

  /** A request as it stands, without a client: what it says is JSON text. */
  async raw(method, path, body, headers = {}) {
    const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
    const accept = { accept: 'application/json' };
    const answer = await fetch(this.url + path, {
      method,
      body,
      headers: { ...accept, ...type, ...headers },
    });
    const text = await answer.text();
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      // It is something else.
    }
    return { status: answer.status, headers: answer.headers, text, value };
  }

  /** Something that goes on until the scenario ends: a replication or a feed of changes. */
  while(activity) {
    activity.catch?.(() => {});
    this.activities.push(activity);
    return activity;
  }

  /** A hub for this scenario alone. */
  async ownHub(settings, prepare) {
    this.hub = await Hub.start(settings, prepare);
    this.hubs.push(this.hub);
    return this.hub;
  }

  async close() {
    for (const activity of this.activities) activity.cancel();
    for (const client of this.clients) await client.destroy().catch(() => {});
    for (const hub of this.hubs) hub.remove();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
