// Clients that send their own requests to a hub, also while it is killed: they write, or read its changes.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

import { bytes, documents, isAway, listed } from './replicas.mjs';

/** Writes documents that no other client writes, and records the acknowledged revisions. */
export class Writer {
  made = [];

  /**
   * Revision that the next edit of each document names, if it is known: an edit without a response may have
   * succeeded.
   */
  #last = new Map();

  constructor(place, name, roll) {
    const ids = documents(30).map(({ _id }) => `${name}-${_id}`);
    Object.assign(this, { place, ids, roll });
  }

  async work(working) {
    for (let count = 0; !working.isOver; count += 1) {
      const ways = [this.#put, this.#bulk, this.#replicate];
      try {
        await ways[this.roll(3)].call(this, count);
      } catch (error) {
        if (!isAway(error)) throw error;
      }
      await pause(this.roll(30));
    }
  }

  async #put(count) {
    const [document] = await this.#documents(1, count);
    const { rev } = await this.#ask('PUT', `/${document._id}`, document);
    this.#wrote(document, rev);
  }

  async #bulk(count) {
    const docs = await this.#documents(5, count);
    const results = await this.#ask('POST', '/_bulk_docs', { docs });
    for (const [index, document] of docs.entries()) this.#wrote(document, results[index].rev);
  }

  /** Writes with `new_edits=false`, as a replicator does. */
  async #replicate(count) {
    const docs = (await this.#documents(5, count)).map(({ _rev = '0-', ...document }) => {
      const [generation, parent] = _rev.split('-');
      const start = Number(generation) + 1;
      const edit = bytes(16, this.roll(2 ** 32)).toString('hex');
      const ids = parent ? [edit, parent] : [edit];
      return { ...document, _rev: `${start}-${edit}`, _revisions: { start, ids } };
    });
    assert.deepEqual(await this.#ask('POST', '/_bulk_docs', { docs, new_edits: false }), []);
    for (const document of docs) this.#wrote(document, document._rev);
  }

  /** Creates the given number of documents to be written. */
  async #documents(length, count) {
    const first = this.roll(this.ids.length);
    const ids = [...this.ids, ...this.ids].slice(first, first + length);
    return Promise.all(ids.map((id) => this.#document(id, count)));
  }

  async #document(_id, count) {
    if (!this.#last.has(_id)) {
      const { value } = await this.place.raw('GET', `/${_id}`);
      this.#last.set(_id, value._rev);
    }
    const document = { _id, count, _rev: this.#last.get(_id) };
    const what = this.roll(8);
    if (what === 0 && document._rev) return { ...document, _deleted: true };
    if (what > 2) return document;
    const data = bytes(500, what).toString('base64');
    return { ...document, _attachments: { [`data ${what}`]: { content_type: 'image/png', data } } };
  }

  async #ask(method, path, body) {
    for (const { _id } of body.docs ?? [body]) this.#last.delete(_id);
    const { status, text, value } = await this.place.raw(method, path, JSON.stringify(body));
    assert.equal(status, 201, text);
    return value;
  }

  #wrote({ _id: id, _deleted: isDeleted }, rev) {
    assert.match(rev, /^\d+-/, id);
    // An edit without a revision creates a deleted document again.
    this.#last.set(id, isDeleted ? undefined : rev);
    this.made.push({ id, rev });
  }
}

/** Reads changes from the last position, and reconnects after every failure. */
export class Reader {
  #rows = new Map();
  #places = [];

  constructor(place, feed) {
    Object.assign(this, { place, feed });
    this.#follow().catch((error) => { this.failure = error; });
  }

  cancel() {
    this.isOver = true;
  }

  /** Last reported leaves of each document. */
  get leaves() {
    if (this.failure) throw this.failure;
    return listed([...this.#rows.values()]);
  }

  /**
   * Number of times that the hub sent all changes again. In between, no change was sent twice or out of order. If a
   * hub is killed during its first write after a start, it may treat its store as restored from a backup.
   */
  timesAnew() {
    const last = new Map();
    let before;
    for (const place of this.#places) {
      const [number, epoch] = place.split('-');
      assert.ok(epoch === before || !last.has(epoch), `${place} comes back`);
      assert.ok(Number(number) > (last.get(epoch) ?? 0), `${place} after ${last.get(epoch)}`);
      last.set(epoch, Number(number));
      before = epoch;
    }
    return last.size - 1;
  }

  async #follow() {
    while (!this.isOver) {
      try {
        await this.#read();
      } catch (error) {
        if (!isAway(error)) throw error;
        await pause(10);
      }
    }
  }

  /** Reads one response, up to the end or to a failure. */
  async #read() {
    const query = `feed=${this.feed}&style=all_docs&timeout=60000&since=${this.#places.at(-1) ?? 0}`;
    const answer = await fetch(`${this.place.url}/_changes?${query}`);
    assert.equal(answer.status, 200);
    let text = '';
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      const lines = `${text}${part}`.split('\n');
      text = lines.pop();
      for (const line of lines) {
        // In either feed each row is a separate line.
        if (line.startsWith('{"seq":')) this.#take(JSON.parse(line.replace(/,$/, '')));
      }
    }
  }

  #take(row) {
    this.#rows.set(row.id, row);
    this.#places.push(row.seq);
  }
}
