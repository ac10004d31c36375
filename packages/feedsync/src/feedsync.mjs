// Collections of items that several devices and people edit, online or offline, without losing an edit.

import { Collection } from "./collection.mjs";
import { load } from "./decisions.mjs";
import { FeedSyncError, Invalid } from "./errors.mjs";
import { IndexedDbStore } from "./indexeddb.mjs";
import { MemoryStore } from "./memory.mjs";

export { Batch } from "./decisions.mjs";
export { Conflict, Denied, Exists, FeedSyncError, HubFailed, Invalid, NotFound, Offline, Refused, StorageFailed } from "./errors.mjs";
export { Collection };

// Names of collections at a hub.
const NAME = /^[a-z][a-z0-9_-]{0,62}$/;

export class Replica {
  #store;
  #environment;

  constructor(store, environment) {
    this.#store = store;
    this.#environment = environment;
  }

  static async open(name, options = {}) {
    if (!globalThis.indexedDB) throw new FeedSyncError("there is no IndexedDB here: use Replica.inMemory()");
    const [store] = await Promise.all([IndexedDbStore.open(name), load()]);
    // The browser may refuse; it then deletes data only if the device has no space left.
    globalThis.navigator?.storage?.persist?.().catch(() => {});
    return new Replica(store, environment(options));
  }

  static async inMemory(options = {}) {
    await load();
    return new Replica(new MemoryStore(), environment(options));
  }

  async collection(name) {
    if (!NAME.test(name)) throw new Invalid(`${JSON.stringify(name)} is no name of a collection: use a-z, 0-9, '_' and '-'`);
    const by = this.#environment.fresh();
    await this.#store.decide(name, [], ({ collection }) => collection ? {} : { collection: { name, by, last: 0, remotes: {} } });
    return new Collection(this.#store, this.#environment, name);
  }

  collections() {
    return this.#store.collections();
  }

  close() {
    this.#store.close();
  }
}

/** The clock and the random numbers of a replica. */
function environment({ now = () => new Date(), random = randomName, fetch = globalThis.fetch }) {
  const time = () => `${now().toISOString().slice(0, 19)}Z`;
  return { now: time, fresh: () => `web.${random()}`, id: () => random() + random(), fetch: (...request) => fetch(...request) };
}

function randomName() {
  const bytes = crypto.getRandomValues(new Uint8Array(8));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
