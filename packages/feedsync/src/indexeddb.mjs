// A store in IndexedDB, for pages and workers. Several tabs share it.

import { StorageFailed } from "./errors.mjs";

const VERSION = 1;

/** Data of one replica. Each call of `decide` is one transaction, which is durable before it is acknowledged. */
export class IndexedDbStore {
  #database;
  #name;
  #channel;
  #listeners = new Set();

  static async open(name) {
    const store = new IndexedDbStore();
    store.#name = `feedsync:${name}`;
    const request = opening(store.#name);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("collections", { keyPath: "name" });
      const items = request.result.createObjectStore("items", { keyPath: ["collection", "id"] });
      items.createIndex("number", ["collection", "number"]);
    };
    store.#database = await done(request);
    store.#database.onversionchange = () => store.close();
    store.#channel = new BroadcastChannel(store.#name);
    store.#channel.onmessage = ({ data }) => store.#notify(data);
    return store;
  }

  async collections() {
    return done(this.#transaction(["collections"], "readonly").objectStore("collections").getAllKeys());
  }

  async collection(name) {
    return done(this.#transaction(["collections"], "readonly").objectStore("collections").get(name));
  }

  /** Calls `decide` with the collection and these items (all of them if `ids` is undefined), and stores what it returns. */
  async decide(name, ids, decide) {
    const transaction = this.#transaction(["collections", "items"], "readwrite");
    const finished = completed(transaction);
    // A failed request fails the transaction, too, which reports it.
    finished.catch(() => {});
    const [collections, stored] = ["collections", "items"].map((store) => transaction.objectStore(store));
    try {
      const items = new Map();
      if (ids) {
        const keys = [...ids];
        const found = await Promise.all(keys.map((id) => done(stored.get([name, id]))));
        keys.forEach((id, index) => items.set(id, found[index]));
      } else {
        for (const record of await done(stored.index("number").getAll(range(name, 0)))) items.set(record.id, record);
      }
      const { collection, records = [], result } = decide({ collection: await done(collections.get(name)), items });
      if (collection) collections.put(collection);
      for (const record of records) stored.put(record);
      transaction.commit();
      await finished;
      if (records.length > 0) {
        this.#notify(name);
        this.#channel.postMessage(name);
      }
      return result;
    } catch (error) {
      try {
        transaction.abort();
      } catch {
        // It has ended already.
      }
      throw error;
    }
  }

  async item(name, id) {
    return done(this.#transaction(["items"], "readonly").objectStore("items").get([name, id]));
  }

  /** Records with a higher number, in order, at most `limit`. */
  async changes(name, after, limit) {
    const index = this.#transaction(["items"], "readonly").objectStore("items").index("number");
    return done(index.getAll(range(name, after), Number.isFinite(limit) ? limit : undefined));
  }

  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs one function at a time for each key, in all tabs. The browser ends the lock of a tab that is closed. */
  exclusive(key, run) {
    // Pages without TLS have no locks, except those of this machine. Two runs at once only repeat work.
    return navigator.locks ? navigator.locks.request(`${this.#name}:${key}`, run) : run();
  }

  close() {
    this.#listeners.clear();
    this.#channel.close();
    this.#database.close();
  }

  #transaction(stores, mode) {
    try {
      return this.#database.transaction(stores, mode, { durability: "strict" });
    } catch (error) {
      throw new StorageFailed(`cannot use the storage of this browser: ${error.message}`, { cause: error });
    }
  }

  #notify(name) {
    for (const listener of this.#listeners) listener(name);
  }
}

function opening(name) {
  try {
    return indexedDB.open(name, VERSION);
  } catch (error) {
    throw failed(error);
  }
}

function range(name, after) {
  return IDBKeyRange.bound([name, after], [name, Infinity], true, false);
}

function failed(error) {
  const reason = error?.name === "QuotaExceededError" ? "it is full" : error?.message ?? "unknown reason";
  return new StorageFailed(`cannot use the storage of this browser: ${reason}`, { cause: error });
}

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(failed(request.error));
    if ("onblocked" in request) request.onblocked = () => reject(failed(new Error("another tab uses an older version")));
  });
}

function completed(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(failed(transaction.error));
  });
}
