// What is said about replicas: that they have the same, and how they come to it.

import assert from 'node:assert/strict';

/** How long anything may take that happens by itself. */
export const SOON = 5_000;

/** Waits until something holds, and says what it was. */
export async function until(what, holds, patience = SOON) {
  const late = Date.now() + patience;
  for (;;) {
    const found = await holds();
    if (found) return found;
    if (Date.now() > late) throw new Error(`not within ${patience} ms: ${what}`);
    await new Promise((again) => setTimeout(again, 20));
  }
}

/** Waits for an event. */
export function event(emitter, name, patience = SOON) {
  return new Promise((happened, fail) => {
    const late = setTimeout(() => fail(new Error(`no ${name} within ${patience} ms`)), patience);
    emitter.once(name, (value) => {
      clearTimeout(late);
      happened(value);
    });
  });
}

/** The document, or nothing where there is none. */
export async function found(database, id, options = {}) {
  try {
    return await database.get(id, options);
  } catch (error) {
    if (error.status === 404) return undefined;
    throw error;
  }
}

/** What is refused, with its status and its name. */
export async function refused(promise, status, name) {
  const error = await promise.then(
    (value) => assert.fail(`done, though it should be refused: ${JSON.stringify(value)}`),
    (error) => error,
  );
  assert.equal(error.status, status, `${error.status}: ${error.reason ?? error.message ?? error}`);
  if (name) assert.equal(error.name, name);
  return error;
}

/** Sends everything there, and says what was sent. */
export async function push(from, to, options = {}) {
  return whole(await from.replicate.to(to, options));
}

/** Takes everything from there. */
export async function pull(into, from, options = {}) {
  return whole(await into.replicate.from(from, options));
}

function whole(result) {
  assert.equal(result.ok, true);
  assert.deepEqual(result.errors, []);
  assert.equal(result.doc_write_failures, 0);
  return result;
}

/** Replicates to and fro until nothing is left to be sent. */
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

/** All leaves of all documents, with what they say: the same of every replica that has the same. */
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

/** A document without what replicas may tell differently. */
function shown({ _attachments = {}, ...document }) {
  const kept = Object.entries(_attachments).map(([name, { digest, length, content_type }]) => [
    name,
    { digest, length, content_type },
  ]);
  return { ...document, _attachments: Object.fromEntries(kept.sort()) };
}

/** That all replicas have the same leaves, the same winners and the same contents. */
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

/** Edits the document as it is there. */
export async function edit(database, id, change) {
  const document = await database.get(id);
  return database.put({ ...document, ...change });
}

/** Deletes the document as it is there. */
export async function remove(database, id) {
  return database.remove(await database.get(id));
}

/** So many documents, with ids that sort as they count. */
export function documents(count, make = () => ({})) {
  return Array.from({ length: count }, (_, number) => ({
    _id: `document-${String(number).padStart(5, '0')}`,
    number,
    ...make(number),
  }));
}

/** Stores documents, all of which must be taken. */
export async function store(database, all) {
  const results = await database.bulkDocs(all);
  for (const result of results) assert.equal(result.ok, true, JSON.stringify(result));
  return results;
}

/** Random numbers that are the same for the same seed. */
export function dice(seed) {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

/** So many bytes that cannot be compressed, the same for the same seed. */
export function bytes(length, seed = 1) {
  const roll = dice(seed);
  return Buffer.from(Uint8Array.from({ length }, () => roll(256)));
}
