// Helpers for replicas: replication, comparison and random edits.

import assert from 'node:assert/strict';

/** Default time limit of waits, in milliseconds. */
export const SOON = 5_000;

/** Options of replications that survive a restart of their hub. */
export const GOES_ON = { live: true, retry: true, back_off_function: () => 100 };

/** Waits until `holds` returns a true value; returns that value. */
export async function until(what, holds, patience = SOON) {
  const late = Date.now() + patience;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > late) throw new Error(`not within ${patience} ms: ${what}`);
    await new Promise((again) => setTimeout(again, 20));
  }
}

/** Waits for an event; returns its value. */
export function event(emitter, name, patience = SOON) {
  return new Promise((happened, fail) => {
    const late = setTimeout(() => fail(new Error(`no ${name} within ${patience} ms`)), patience);
    emitter.once(name, (value) => {
      clearTimeout(late);
      happened(value);
    });
  });
}

/** The document, or undefined if it does not exist. */
export async function found(database, id, options = {}) {
  try {
    return await database.get(id, options);
  } catch (error) {
    if (error.status === 404) return undefined;
    throw error;
  }
}

/** Checks that a promise fails with this status and name; returns the error. */
export async function refused(promise, status, name) {
  const error = await promise.then(
    (value) => assert.fail(`done, though it should be refused: ${JSON.stringify(value)}`),
    (error) => error,
  );
  assert.equal(error.status, status, `${error.status}: ${error.reason ?? error.message ?? error}`);
  if (name) assert.equal(error.name, name);
  return error;
}

/** Whether a hub sent no response, or an incomplete one. */
export function isAway(error) {
  return error?.cause !== undefined || error?.name === 'FetchError';
}

/** Pushes all changes; returns the result of the replication. */
export async function push(from, to, options = {}) {
  return whole(await from.replicate.to(to, options));
}

/** Pulls all changes; returns the result of the replication. */
export async function pull(into, from, options = {}) {
  return whole(await into.replicate.from(from, options));
}

function whole(result) {
  assert.equal(result.ok, true);
  assert.deepEqual(result.errors, []);
  assert.equal(result.doc_write_failures, 0);
  return result;
}

/** Replicates in both directions until no documents are written. */
export async function settle(hub, ...clients) {
  for (let round = 0; round < 10; round += 1) {
    let written = 0;
    for (const client of clients) {
      written += (await push(client, hub)).docs_written;
      written += (await pull(client, hub)).docs_written;
    }
    if (written === 0) return;
  }
  assert.fail('replicas are still not quiet after ten rounds');
}

/** All leaves of all documents with their contents. Equal replicas give equal results. */
export async function everything(database) {
  const { results } = await database.changes({ since: 0, style: 'all_docs' });
  const winners = new Map((await database.changes({ since: 0 })).results
    .map(({ id, changes }) => [id, changes[0].rev]));
  const documents = {};
  for (const { id, changes, deleted } of results) {
    const leaves = await database.get(id, { open_revs: 'all', revs: true });
    const told = leaves.map(({ ok, missing }) => {
      assert.ok(ok, `${id} lacks the leaf ${missing}`);
      return shown(ok);
    });
    told.sort((one, other) => (one._rev < other._rev ? -1 : 1));
    const listed = changes.map(({ rev }) => rev).sort();
    assert.deepEqual(listed, told.map(({ _rev }) => _rev), `changes of ${id} list other leaves`);
    documents[id] = { winner: winners.get(id), isDeleted: deleted === true, leaves: told };
  }
  return documents;
}

/** Leaves in changes rows as a text. Equal leaves give equal texts. */
export function listed(results) {
  const lines = results.map(({ id, changes }) => `${id}: ${changes.map(({ rev }) => rev).sort()}`);
  return lines.sort().join('\n');
}

/** A document without the members that may differ between replicas. */
function shown({ _attachments = {}, ...document }) {
  const kept = Object.entries(_attachments).map(([name, { digest, length, content_type }]) => [
    name,
    { digest, length, content_type },
  ]);
  return { ...document, _attachments: Object.fromEntries(kept.sort()) };
}

/** Checks that all replicas have the same leaves, the same winners and the same contents. */
export async function same(first, ...others) {
  const expected = await everything(first);
  for (const other of others) {
    assert.deepEqual(sorted(await everything(other)), sorted(expected));
  }
  return expected;
}

function sorted(documents) {
  return Object.fromEntries(Object.entries(documents).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Edits the current revision of a document. */
export async function edit(database, id, change) {
  const document = await database.get(id);
  return database.put({ ...document, ...change });
}

/** Deletes the current revision of a document. */
export async function remove(database, id) {
  return database.remove(await database.get(id));
}

/** Applies a random operation to one of these documents; returns the revisions that it created. */
export async function anything(replica, ids, roll, text) {
  const id = ids[roll(ids.length)];
  const document = await found(replica, id, { conflicts: true });
  const [action, which] = [roll(7), roll(2)];
  if (!document) return [await replica.put({ _id: id, text })];
  const { _conflicts = [], ...kept } = document;
  const { _rev } = document;
  switch (action) {
    case 0:
      return [await replica.remove(document)];
    case 1: {
      const data = bytes(100, which);
      return [await replica.putAttachment(id, `data ${which}`, _rev, data, 'image/png')];
    }
    case 2:
      return [await replica.put({ _id: id, _rev, text })];
    case 3: {
      const removed = [];
      for (const rev of _conflicts) removed.push(await replica.remove(id, rev));
      return removed;
    }
    case 4: {
      const [rev] = _conflicts;
      return rev ? [await replica.put({ _id: id, _rev: rev, text: `${text} of the loser` })] : [];
    }
    default:
      return [await replica.put({ ...kept, text })];
  }
}

/** Creates `count` documents, whose ids sort by number. */
export function documents(count, make = () => ({})) {
  return Array.from({ length: count }, (_, number) => ({
    _id: `document-${String(number).padStart(5, '0')}`,
    number,
    ...make(number),
  }));
}

/** Stores documents, and checks that all are accepted. */
export async function store(database, all) {
  const results = await database.bulkDocs(all);
  for (const result of results) assert.equal(result.ok, true, JSON.stringify(result));
  return results;
}

/** Generator of random numbers, determined by the seed. */
export function dice(seed) {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

/** Returns incompressible bytes, determined by the seed. */
export function noise(length, seed = 1) {
  const roll = dice(seed);
  return Uint8Array.from({ length }, () => roll(256));
}

/** Returns incompressible bytes as a Node buffer, which PouchDB uses there. */
export function bytes(length, seed) {
  return Buffer.from(noise(length, seed));
}
