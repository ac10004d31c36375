// What scenarios are written with in a browser: those for which it may matter what a client keeps its documents in.

import { Place as Anywhere } from './place.mjs';

export const { PouchDB } = globalThis;

/** Both keep them in IndexedDB. */
export const ADAPTERS = ['idb', 'indexeddb'];

/** All scenarios, in the order in which they are told. */
export const scenarios = [];

/** What a client keeps its documents in does not matter. */
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

/** The hub and who signs in there, as the page was told. */
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

  /** Whatever a scenario says of it, a client keeps its documents in IndexedDB. */
  local(options = {}) {
    return super.local({ ...options, adapter: this.adapter });
  }

  raw(method, path, body, headers) {
    const authorization = `Basic ${btoa(`${username}:${password}`)}`;
    return super.raw(method, path, body, { authorization, ...headers });
  }
}
