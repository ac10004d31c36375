// Filtered replications.

import assert from 'node:assert/strict';

import { documents, edit, found, pull, push, refused, remove, store, until } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

/** Creates a hub with thirty documents of three kinds. */
async function filled(place) {
  const hub = place.remote();
  await store(hub, documents(30, (number) => ({ kind: ['leaf', 'note', 'list'][number % 3] })));
  return hub;
}

onEachAdapter('documents that are named', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  const doc_ids = ['document-00003', 'document-00020', 'nothing'];
  const { docs_written } = await pull(client, hub, { doc_ids });
  assert.equal(docs_written, 2);
  const { rows } = await client.allDocs();
  assert.deepEqual(rows.map(({ id }) => id), doc_ids.slice(0, 2));
});

onEachAdapter('documents that a selector chooses', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  const selector = { kind: { $ne: 'leaf' }, number: { $gte: 10 } };
  assert.equal((await pull(client, hub, { selector })).docs_written, 14);
  assert.equal((await pull(client, hub, { selector })).docs_read, 0);
  await edit(hub, 'document-00011', { kind: 'leaf' });
  await edit(hub, 'document-00012', { kind: 'note' });
  assert.equal((await pull(client, hub, { selector })).docs_written, 1);
});

scenario('selectors of every kind choose what PouchDB chooses', async (place) => {
  const [hub, client] = [place.remote(), place.local()];
  const all = [
    { _id: 'a', n: 1, tags: ['x', 'y'], of: { deep: 'one' } },
    { _id: 'b', n: 2.5, tags: ['y'], of: { deep: 'two' } },
    { _id: 'c', n: '3', tags: [], of: 'c' },
    { _id: 'd', n: null, list: [{ k: 1 }, { k: 2 }] },
    { _id: 'e', text: 'Grüße' },
  ];
  await store(hub, all);
  await store(client, all);
  for (const selector of [
    { n: 1 }, { n: { $gt: 1 } }, { n: { $lt: 'a' } }, { n: { $exists: false } }, { n: null },
    { n: { $type: 'number' } }, { n: { $in: [1, '3'] } }, { _id: { $nin: ['a', 'e'] } },
    { tags: { $all: ['x'] } }, { tags: { $size: 0 } }, { tags: { $elemMatch: { $eq: 'y' } } },
    { 'of.deep': 'one' }, { of: { deep: 'two' } }, { list: { $elemMatch: { k: { $gt: 1 } } } },
    { text: { $regex: '^Gr' } }, { $or: [{ n: 1 }, { text: { $exists: true } }] },
    { $and: [{ n: { $gte: 1 } }, { n: { $lte: 2.5 } }] }, { $not: { n: 1 } },
    { $nor: [{ n: 1 }, { n: 2.5 }] }, { n: { $mod: [2, 1] } }, { _id: { $gt: 'b' } }, {},
  ]) {
    const ids = async (database) => (await database.changes({ selector })).results
      .map(({ id }) => id).sort();
    assert.deepEqual(await ids(hub), await ids(client), JSON.stringify(selector));
  }
});

onEachAdapter('documents that a function of the client chooses', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  const filter = ({ kind }, { query }) => kind === query.kind;
  const query_params = { kind: 'note' };
  assert.equal((await pull(client, hub, { filter, query_params })).docs_written, 10);
  await store(client, documents(4).map((it) => ({ ...it, _id: `own-${it._id}` })));
  const own = (document) => document._id === 'own-document-00002';
  assert.equal((await push(client, hub, { filter: own })).docs_written, 1);
});

scenario('documents that a function of a design document chooses', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  await hub.put({
    _id: '_design/mine',
    filters: { kind: '(d, r) => d.kind === r.query.kind', faulty: '(d) => d.none.none' },
    views: { notes: { map: '(d) => { if (d.kind === "note") emit(1); }' } },
  });
  const filter = { filter: 'mine/kind', query_params: { kind: 'note' } };
  const error = await refused(client.replicate.from(hub, { filter: 'mine/faulty' }), 500);
  assert.equal(error.result?.docs_written ?? 0, 0);
  assert.equal((await pull(client, hub, filter)).docs_written, 10);
  const { results } = await hub.changes({ filter: '_view', view: 'mine/notes' });
  assert.equal(results.length, 10);
  await refused(hub.changes({ filter: 'nobodys/notes' }), 404);
  await refused(hub.changes({ filter: 'mine/none' }), 404);
});

scenario('live, chosen by a selector: others wake nobody', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  const { remote, requests } = place.watched();
  const selector = { kind: 'note' };
  place.while(client.replicate.from(remote, { live: true, retry: true, selector }));
  const waiting = () => requests.filter(({ query }) => query.get('feed') === 'longpoll').length;
  await until('ten notes', async () => (await client.info()).doc_count === 10);
  await until('a request that waits', () => waiting() === 1);
  const before = requests.length;
  const leaves = documents(20, () => ({ kind: 'leaf' }));
  await store(hub, leaves.map((it) => ({ ...it, _id: `leaf-${it._id}` })));
  await hub.put({ _id: 'wanted', kind: 'note' });
  await until('the note', () => found(client, 'wanted'));
  const later = requests.slice(before).filter(({ path }) => path === '/_bulk_get');
  assert.equal(later.length, 1);
  assert.ok(waiting() <= 2, `${waiting()} requests waited`);
});

scenario('what a selector passes over is not looked at again', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  const selector = { kind: 'of no document' };
  assert.equal((await pull(client, hub, { selector })).docs_read, 0);
  const { last_seq } = await hub.changes({ selector });
  assert.equal(last_seq, (await hub.info()).update_seq);
  assert.deepEqual((await hub.changes({ selector: {}, since: last_seq })).results, []);
});

scenario('since a place, and since now', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  const { results } = await hub.changes({ limit: 12 });
  await pull(client, hub, { since: results[11].seq });
  assert.equal((await client.info()).doc_count, 18);
  const late = place.local();
  await pull(late, hub, { since: 'now' });
  assert.equal((await late.info()).doc_count, 0);
});

scenario('a selector meets deleted documents and every leaf', async (place) => {
  const hub = await filled(place);
  await remove(hub, 'document-00001');
  const ids = async (selector) => (await hub.changes({ selector, style: 'all_docs' })).results
    .map(({ id }) => id);
  assert.ok((await ids({ type: { $ne: 'leaf' } })).includes('document-00001'));
  assert.deepEqual(await ids({ _deleted: true }), ['document-00001']);
});
