// A store in memory, for Node and for tests.

/** Data of one replica. Each call of `decide` is one transaction. */
export class MemoryStore {
  #collections = new Map();
  #items = new Map();
  #listeners = new Set();
  #chains = new Map();

  async collections() {
    return [...this.#collections.keys()].sort();
  }

  async collection(name) {
    return structuredClone(this.#collections.get(name));
  }

  // Nothing waits inside, so that no other call sees a state in between.
  /** Calls `decide` with the collection and these items (all of them if `ids` is undefined), and stores what it returns. */
  async decide(name, ids, decide) {
    const own = this.#items.get(name) ?? new Map();
    const items = new Map([...(ids ?? own.keys())].map((id) => [id, structuredClone(own.get(id))]));
    const { collection, records = [], result } = decide({ collection: structuredClone(this.#collections.get(name)), items });
    if (collection) this.#collections.set(name, structuredClone(collection));
    for (const record of records) own.set(record.id, structuredClone(record));
    this.#items.set(name, own);
    if (records.length > 0) this.#notify(name);
    return result;
  }

  async item(name, id) {
    return this.#items.get(name)?.get(id);
  }

  /** Records with a higher number, in order, at most `limit`. */
  async changes(name, after, limit) {
    const later = [...(this.#items.get(name)?.values() ?? [])].filter(({ number }) => number > after);
    return later.sort((one, other) => one.number - other.number).slice(0, limit);
  }

  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs one function at a time for each key. */
  async exclusive(key, run) {
    const before = this.#chains.get(key) ?? Promise.resolve();
    const mine = before.then(run, run);
    const settled = mine.catch(() => {});
    this.#chains.set(key, settled);
    try {
      return await mine;
    } finally {
      if (this.#chains.get(key) === settled) this.#chains.delete(key);
    }
  }

  close() {
    this.#listeners.clear();
  }

  #notify(name) {
    for (const listener of this.#listeners) listener(name);
  }
}
