// Who speaks to a hub by requests of their own, also while it is killed: they write, or read its changes.

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';

import { bytes, documents, isAway, listed } from './replicas.mjs';

/** Writes documents that nobody else writes, and keeps the revisions that were acknowledged. */
export class Writer {
  made = [];

  /** What the next edit of each document names, where it is known: what was not answered may be written. */
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

  /** As a replicator writes that brings edits from elsewhere. */
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

  /** So many documents to be written. */
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
    // What was deleted is made again by who names no revision.
    this.#last.set(id, isDeleted ? undefined : rev);
    this.made.push({ id, rev });
  }
}

/** Reads changes from where it was, whatever happens to the hub. */
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

  /** What it was told last of each document. */
  get leaves() {
    if (this.failure) throw this.failure;
    return listed([...this.#rows.values()]);
  }

  /**
   * How often all that the hub has was told anew; in between nothing is told twice, and nothing late. A hub that is
   * killed while it writes for the first time since it was started may take its store for one that was put back.
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

  /** What comes in one answer, as far as it comes. */
  async #read() {
    const query = `feed=${this.feed}&style=all_docs&timeout=60000&since=${this.#places.at(-1) ?? 0}`;
    const answer = await fetch(`${this.place.url}/_changes?${query}`);
    assert.equal(answer.status, 200);
    let text = '';
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
      const lines = `${text}${part}`.split('\n');
      text = lines.pop();
      for (const line of lines) {
        // Rows stand on lines of their own in either feed.
        if (line.startsWith('{"seq":')) this.#take(JSON.parse(line.replace(/,$/, '')));
      }
    }
  }

  #take(row) {
    this.#rows.set(row.id, row);
    this.#places.push(row.seq);
  }
}
