// The operations of a collection.

import { decide, sequences } from "./decisions.mjs";
import { Conflict, Exists, Invalid, NotFound } from "./errors.mjs";
import { ItemConflict, historyOf, isDeleted, itemOf } from "./items.mjs";
import { sync } from "./sync.mjs";

/** Number of attempts of `change` while somebody else is faster. */
const MAX_ATTEMPTS = 1000;

export class Collection {
  #store;
  #environment;

  constructor(store, environment, name) {
    this.#store = store;
    this.#environment = environment;
    this.name = name;
  }

  async add(content, { id = this.#environment.id(), noconflicts } = {}) {
    const text = contentText(content);
    await this.#decide(id, (record, signer) => {
      if (record) throw new Exists(`the collection has an item ${JSON.stringify(id)}`);
      return decide({ op: "create", id, content: text, noconflicts, ...signer });
    });
    return id;
  }

  async get(id) {
    const record = await this.#store.item(this.name, id);
    return record && !isDeleted(record) ? itemOf(record) : undefined;
  }

  async items() {
    return (await this.#records()).filter((record) => !isDeleted(record)).map(itemOf);
  }

  async deletedItems() {
    return (await this.#records()).filter(isDeleted).map(itemOf);
  }

  async history(id) {
    return historyOf(this.#existing(id, await this.#store.item(this.name, id)));
  }

  async update(item) {
    const content = contentText(item.content);
    const seen = itemOf({ id: item.id, text: item.version });
    const isUnchanged = JSON.stringify(seen.content) === content;
    return this.#edit(item.id, (record, signer) => {
      if (isUnchanged) return { outcome: "unchanged", item: record.text };
      const deleted = seen.deleted ? false : undefined;
      return decide({ op: "edit", item: record.text, base: item.version, content, deleted, ...signer });
    });
  }

  async change(id, change) {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const item = await this.get(id);
      if (!item) throw this.#missing(id);
      const content = contentText(changed(item.content, change));
      const edited = await this.#edit(id, (record, signer) => {
        if (record.text !== item.version) return { outcome: "stale", item: record.text };
        if (JSON.stringify(itemOf(record).content) === content) return { outcome: "unchanged", item: record.text };
        return decide({ op: "edit", item: record.text, content, ...signer });
      });
      if (edited.outcome !== "stale") return edited.item;
    }
    throw new Conflict(`the item ${JSON.stringify(id)} changed ${MAX_ATTEMPTS} times while it was edited`);
  }

  delete(item) {
    return this.#edit(item.id, (record, signer) => decide({
      op: "edit", item: record.text, base: item.version, deleted: true, ...signer,
    }));
  }

  deleteLatest(id) {
    return this.#edit(id, (record, signer) => decide({ op: "edit", item: record.text, deleted: true, ...signer }));
  }

  undelete(id) {
    return this.#edit(id, (record, signer) => decide({ op: "edit", item: record.text, deleted: false, ...signer }));
  }

  async conflicts() {
    const conflicts = (await this.#records()).map((record) => new ItemConflict(record));
    return conflicts.filter(({ versions }) => versions.length > 1);
  }

  async resolve({ id, seen, keep, content, deleted }) {
    return this.#edit(id, (record, signer) => decide({
      op: "resolve", item: record.text, seen, keep, content, deleted, ...signer,
    }));
  }

  async sync(address, options = {}) {
    return sync({ store: this.#store, environment: this.#environment, name: this.name }, address, options);
  }

  async *watch({ signal } = {}) {
    let wake = () => {};
    let isDue = true;
    const stop = this.#store.listen((name) => {
      if (name !== this.name) return;
      isDue = true;
      wake();
    });
    const abort = () => wake();
    signal?.addEventListener("abort", abort);
    try {
      let after = 0;
      for (let isFirst = true; !signal?.aborted; isFirst = false) {
        isDue = false;
        for (const record of await this.#store.changes(this.name, after, Infinity)) {
          after = record.number;
          if (!isDeleted(record)) yield { kind: "put", item: itemOf(record) };
          else if (!isFirst) yield { kind: "deleted", id: record.id };
        }
        if (isFirst) yield { kind: "complete" };
        if (!isDue && !signal?.aborted) await new Promise((resolve) => { wake = resolve; });
      }
    } finally {
      stop();
      signal?.removeEventListener("abort", abort);
    }
  }

  #records() {
    return this.#store.changes(this.name, 0, Infinity);
  }

  async #edit(id, edit) {
    const { outcome, record } = await this.#decide(id, (record, signer) => edit(this.#existing(id, record), signer));
    return { outcome, item: itemOf(record) };
  }

  /** Decides on one item and stores the result, in one transaction. */
  #decide(id, decision) {
    if (typeof id !== "string") throw new Invalid("the id of an item is a string");
    const [now, fresh] = [this.#environment.now(), this.#environment.fresh()];
    return this.#store.decide(this.name, [id], ({ collection, items }) => {
      const before = items.get(id);
      const signer = { by: collection.by, fresh, now, issued: sequences(before?.issued ?? {}) };
      const { outcome, item: text, issued } = decision(before, signer);
      if (before && text === before.text) return { result: { outcome, record: before } };
      collection.last += 1;
      const record = {
        collection: this.name, id, text, number: collection.last, origin: "here", issued: withIssued(before?.issued, issued),
      };
      return { collection, records: [record], result: { outcome, record } };
    });
  }

  #existing(id, record) {
    if (!record) throw this.#missing(id);
    return record;
  }

  #missing(id) {
    return new NotFound(`the collection ${this.name} has no item ${JSON.stringify(id)}`);
  }
}

/** Adds issued sequences to those of an item. `shown` is the last sequence that a hub has received. */
export function withIssued(before = {}, issued = {}) {
  const all = { ...before };
  for (const [by, sequence] of Object.entries(issued)) all[by] = { shown: 0, ...all[by], sequence };
  return all;
}

/** The content that a function returns, or the one that it got and changed. */
function changed(content, change) {
  const result = change(content);
  if (typeof result?.then === "function") throw new Invalid("the function that changes an item must not be asynchronous");
  return typeof result === "object" && result !== null ? result : content;
}

function contentText(content) {
  const text = JSON.stringify(content);
  if (text === undefined || !text.startsWith("{")) throw new Invalid("the content of an item is an object");
  return text;
}
