// Definitions for scenarios in a browser. It runs those that may depend on the storage adapter of the client.

import { Place as Anywhere } from './place.mjs';

export const { PouchDB } = globalThis;

/** Both adapters store documents in IndexedDB. */
export const ADAPTERS = ['idb', 'indexeddb'];

/** All scenarios, in the order of their output. */
export const scenarios = [];

/** Ignores a scenario that does not depend on the storage adapter. */
export function scenario() {}

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

/** The hub and its credentials, from the query of the page. */
const told = new URLSearchParams(location.search);
const hub = { base: `${told.get('hub')}/couch` };
const [username, password] = [told.get('user'), told.get('password')];

/** A place whose clients sign in at a hub of another origin than theirs. */
export class Place extends Anywhere {
  adapter = 'idb';

  constructor() {
    super(hub, PouchDB);
  }

  get url() {
    const url = new URL(this.address);
    return Object.assign(url, { username, password }).href;
  }

  /** Creates a client with documents in IndexedDB, whatever adapter the scenario names. */
  local(options = {}) {
    return super.local({ ...options, adapter: this.adapter });
  }

  raw(method, path, body, headers) {
    const authorization = `Basic ${btoa(`${username}:${password}`)}`;
    return super.raw(method, path, body, { authorization, ...headers });
  }
}
