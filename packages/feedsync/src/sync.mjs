// Sync of a collection with a hub: merge what the hub has, send what it lacks, and again until nothing is left.
//
// Each page of the hub and the position after it are stored in one transaction, and so is the position after each
// request with changes. A crash between two steps repeats the last one, which changes nothing.

import { withIssued } from "./collection.mjs";
import { decide, incorporate } from "./decisions.mjs";
import { Hub } from "./hub.mjs";
import { HubFailed } from "./errors.mjs";

/** Maximum number of rounds, when others change something during a push. */
const ROUNDS = 3;
/** Maximum number of pages in one direction. */
const MAX_PAGES = 100_000;
/** Maximum number of items and of UTF-16 units in one request. */
const BATCH = { items: 500, units: 2 << 20 };
/** Maximum size of an item that a hub accepts. It may end the connection of a larger request before it answers. */
const MAX_ITEM_UNITS = (8 << 20) - 1024;
/** Maximum number of items that a hub refused and that are sent again at the next sync. */
const MAX_AGAIN = 1000;

export function sync(replica, address, options) {
  const hub = new Hub(address, replica.environment.fetch, options);
  return replica.store.exclusive(`${replica.name}:${hub.address}`, () => new Run(replica, hub).all());
}

class Run {
  constructor({ store, environment, name }, hub) {
    Object.assign(this, { store, environment, name, hub });
    this.report = { received: 0, sent: 0, conflicts: 0, refused: [], readOnly: undefined };
  }

  async all() {
    this.state = (await this.store.collection(this.name)).remotes[this.hub.address] ?? { pushed: 0, again: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      await this.pull();
      if (await this.push()) break;
    }
    return this.report;
  }

  async pull() {
    if (this.state.until === undefined) await this.readComplete();
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const read = await this.hub.changes(this.state.until, this.state.etag);
      if (!read) return;
      const { since, until } = read.window;
      if (until < this.state.until) {
        // The hub was restored or replaced: it may lack everything.
        await this.remember({ pushed: 0, lacks: true });
        await this.readComplete();
      } else if (since > this.state.until) {
        await this.readComplete();
      } else {
        // An entity tag belongs to the address, which stays the same only if there was nothing new.
        const etag = until === this.state.until ? read.etag : undefined;
        const before = this.state.until;
        await this.take(read.text, { until, etag });
        if (!read.next) return;
        if (until === before) throw new HubFailed(`${this.hub.address} has pages that lead nowhere`);
      }
    }
    throw new HubFailed(`${this.hub.address} has more than ${MAX_PAGES} pages`);
  }

  /** Reads all items. The position is stored with the last part, so that a crash repeats them. */
  async readComplete() {
    let [next, until] = [this.hub.complete(), undefined];
    for (let part = 0; part < MAX_PAGES; part += 1) {
      const read = await this.hub.read(next);
      until ??= read.window.until;
      await this.take(read.text, read.next ? {} : { until, etag: undefined });
      if (!read.next) return;
      next = read.next;
    }
    throw new HubFailed(`${this.hub.address} has more than ${MAX_PAGES} pages`);
  }

  /** Merges a document, and stores the result and the state after it in one transaction. */
  async take(text, state) {
    const ids = new Set(this.hub.idsOf(text));
    const taken = () => {
      const fresh = this.environment.fresh();
      return this.store.decide(this.name, ids, ({ collection, items }) => {
        const { collides, items: results } = incorporate({ by: collection.by, fresh, stored: items }, text);
        if (collides) return { result: undefined };
        const records = results.filter(({ item }) => item).map((result) => this.#record(collection, items, result));
        this.#put(collection, state);
        return { collection, records, result: results };
      });
    };
    let results = await taken();
    if (!results) {
      await this.reincarnate();
      results = await taken();
    }
    if (!results) throw new HubFailed("two authors have the same random name");
    for (const { id, outcome, reason } of results) {
      if (outcome === "refused") this.report.refused.push({ by: "here", id, reason });
      else if (outcome !== "unchanged") this.report.received += 1;
      if (outcome === "conflict") this.report.conflicts += 1;
    }
    Object.assign(this.state, state);
  }

  #record(collection, items, { id, item, issued, theirs }) {
    const before = items.get(id);
    const isReissued = Object.keys(issued).length > 0;
    const isTheirs = (theirs || before?.origin === this.hub.address) && !isReissued;
    collection.last += 1;
    return {
      collection: this.name, id, text: item, number: collection.last,
      origin: isTheirs ? this.hub.address : "mixed", issued: withIssued(before?.issued, issued),
    };
  }

  /** Another endpoint writes under the name of this one, such as a copied profile: edits that nobody has seen get a new one. */
  async reincarnate() {
    const fresh = this.environment.fresh();
    await this.store.decide(this.name, undefined, ({ collection, items }) => {
      const records = [];
      for (const record of items.values()) {
        const lines = Object.entries(record.issued).filter(([, { sequence, shown }]) => sequence > shown);
        if (lines.length === 0) continue;
        const unsent = Object.fromEntries(lines.map(([by, { shown }]) => [by, shown + 1]));
        const { item, issued } = decide({ op: "reissue", item: record.text, fresh, unsent });
        if (Object.keys(issued).length === 0) continue;
        collection.last += 1;
        records.push({ ...record, text: item, number: collection.last, issued: withIssued(record.issued, issued) });
      }
      collection.by = this.environment.fresh();
      return { collection, records };
    });
  }

  /** Sends what the hub lacks. Returns whether everything that it has is known here afterwards. */
  async push() {
    let isKnown = true;
    const { last } = await this.store.collection(this.name);
    const again = this.state.again;
    let refused = [];
    if (again.length > 0) {
      const records = (await Promise.all(again.map((id) => this.store.item(this.name, id)))).filter(Boolean);
      isKnown = await this.send(records, this.state.pushed, refused);
    }
    while (this.state.pushed < last && this.report.readOnly === undefined) {
      const page = (await this.store.changes(this.name, this.state.pushed, BATCH.items)).filter(({ number }) => number <= last);
      const through = page.at(-1)?.number ?? last;
      const lacking = page.filter(({ origin }) => this.state.lacks || origin !== this.hub.address);
      isKnown = await this.send(lacking, through, refused) && isKnown;
    }
    if (this.report.readOnly === undefined) {
      refused = refused.slice(0, MAX_AGAIN);
      await this.remember({ lacks: undefined, again: refused });
    }
    return isKnown;
  }

  /** Sends these items, in as many requests as needed, and stores that all changes up to `through` were sent. */
  async send(records, through, refused) {
    let isKnown = true;
    const waiting = [records];
    while (waiting.length > 0) {
      const batch = waiting.pop();
      const units = batch.reduce((sum, { text }) => sum + text.length, 0);
      if (batch.length === 0) continue;
      if (batch.length === 1 && units > MAX_ITEM_UNITS) {
        this.#refused(batch[0].id, "the item is larger than a hub accepts", refused);
        continue;
      }
      const answer = batch.length > 1 && units > BATCH.units ? { isTooLarge: true } : await this.hub.send(batch);
      if (answer.readOnly !== undefined) {
        this.report.readOnly = answer.readOnly;
        return true;
      }
      if (answer.isTooLarge || answer.refusal) {
        const half = Math.ceil(batch.length / 2);
        if (batch.length > 1) waiting.push(batch.slice(half), batch.slice(0, half));
        else this.#refused(batch[0].id, answer.refusal ?? "it is too large", refused);
        continue;
      }
      isKnown = await this.sent(batch, answer, refused) && isKnown;
    }
    await this.remember({ pushed: Math.max(through, this.state.pushed) });
    return isKnown;
  }

  async sent(batch, { since, until, items }, refused) {
    const conflicts = new Map(batch.map(({ id, text }) => [id, JSON.parse(text).sync.conflicts !== undefined]));
    for (const { id, outcome, reason } of items) {
      if (outcome === "refused") this.#refused(id ?? batch[0].id, reason, refused);
    }
    this.report.sent += batch.length - items.filter(({ outcome }) => outcome === "refused").length;
    const hasMore = items.some(({ id, outcome }) => outcome === "conflict" && !conflicts.get(id));
    const isKnown = since === this.state.until && !hasMore;
    const state = isKnown && since !== until ? { until, etag: undefined } : {};
    await this.store.decide(this.name, batch.map(({ id }) => id), ({ collection, items: stored }) => {
      const records = [];
      for (const { id, issued } of batch) {
        const record = stored.get(id);
        for (const [by, { sequence }] of Object.entries(issued)) {
          const line = record.issued[by];
          line.shown = Math.max(line.shown, sequence);
        }
        records.push(record);
      }
      this.#put(collection, state);
      return { collection, records };
    });
    Object.assign(this.state, state);
    return isKnown;
  }

  #refused(id, reason, refused) {
    refused.push(id);
    this.report.refused.push({ by: "there", id, reason: reason ?? "" });
  }

  async remember(state) {
    Object.assign(this.state, state);
    await this.store.decide(this.name, [], ({ collection }) => {
      this.#put(collection, state);
      return { collection };
    });
  }

  #put(collection, state) {
    collection.remotes[this.hub.address] = { ...this.state, ...state };
  }
}
