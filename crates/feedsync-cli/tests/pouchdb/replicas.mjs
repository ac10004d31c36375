// What is said about replicas: that they have the same, and how they come to it.

import assert from 'node:assert/strict';

/** How long anything may take that happens by itself. */
export const SOON = 5_000;

/** How replications live that are not to end with their hub. */
export const GOES_ON = { live: true, retry: true, back_off_function: () => 100 };

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

/** Whether a hub gave no answer, or not all of it. */
export function isAway(error) {
  return error?.cause !== undefined || error?.name === 'FetchError';
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

/** The leaves that changes name, as a text that is the same for the same. */
export function listed(results) {
  const lines = results.map(({ id, changes }) => `${id}: ${changes.map(({ rev }) => rev).sort()}`);
  return lines.sort().join('\n');
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

/** Does something to one of these documents, and says which revisions that made. */
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
export function noise(length, seed = 1) {
  const roll = dice(seed);
  return Uint8Array.from({ length }, () => roll(256));
}

/** The same as PouchDB takes and gives them in Node. */
export function bytes(length, seed) {
  return Buffer.from(noise(length, seed));
}
