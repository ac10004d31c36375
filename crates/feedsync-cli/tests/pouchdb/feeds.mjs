// `changes()` of the hub's database.

import assert from 'node:assert/strict';

import { documents, edit, event, pull, remove, store, until } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

async function filled(place) {
  const hub = place.remote();
  await store(hub, documents(10));
  return hub;
}

/** Numbers of the documents in a changes feed. */
const numbers = ({ results }) => results.map(({ id }) => Number(id.split('-')[1]));

scenario('each document has one row, where it changed last', async (place) => {
  const hub = await filled(place);
  await edit(hub, 'document-00003', { edited: true });
  await remove(hub, 'document-00005');
  const changes = await hub.changes();
  assert.deepEqual(numbers(changes), [0, 1, 2, 4, 6, 7, 8, 9, 3, 5]);
  const [, last] = changes.results.slice(-2);
  assert.deepEqual([last.deleted, last.changes.length], [true, 1]);
  assert.equal(changes.last_seq, last.seq);
});

scenario('from the newest down, and so many of them', async (place) => {
  const hub = await filled(place);
  assert.deepEqual(numbers(await hub.changes({ descending: true })), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  assert.deepEqual(numbers(await hub.changes({ descending: true, limit: 3 })), [9, 8, 7]);
  assert.deepEqual(numbers(await hub.changes({ limit: 4 })), [0, 1, 2, 3]);
  const { results } = await hub.changes({ limit: 6 });
  assert.deepEqual(numbers(await hub.changes({ since: results[5].seq, limit: 3 })), [6, 7, 8]);
  assert.deepEqual(numbers(await hub.changes({ batch_size: 3 })), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

scenario('what is left is told', async (place) => {
  const hub = await filled(place);
  const first = (await place.raw('GET', '/_changes?limit=4')).value;
  assert.deepEqual([first.results.length, first.pending], [4, 6]);
  const rest = (await place.raw('GET', `/_changes?since=${first.last_seq}`)).value;
  assert.deepEqual([rest.results.length, rest.pending], [6, 0]);
  const none = (await place.raw('GET', `/_changes?limit=0&since=${first.last_seq}`)).value;
  assert.deepEqual([none.results.length, none.pending, none.last_seq], [0, 6, first.last_seq]);
  assert.equal((await place.raw('GET', '/_changes?since=now')).value.last_seq,
    (await hub.info()).update_seq);
});

scenario('with documents, all leaves and conflicts', async (place) => {
  const hub = await filled(place);
  const [one, other] = [place.local(), place.local()];
  for (const it of [one, other]) await pull(it, hub);
  await edit(one, 'document-00002', { by: 'one' });
  await edit(other, 'document-00002', { by: 'other' });
  for (const it of [one, other]) await it.replicate.to(hub);
  const options = { include_docs: true, conflicts: true };
  const plain = (await hub.changes(options)).results.at(-1);
  assert.equal(plain.changes.length, 1);
  assert.equal(plain.doc._conflicts.length, 1);
  const all = (await hub.changes({ ...options, style: 'all_docs' })).results.at(-1);
  assert.deepEqual(all.changes.map(({ rev }) => rev), [all.doc._rev, ...all.doc._conflicts]);
  await hub.remove('document-00002', all.doc._conflicts[0]);
  const resolved = (await hub.changes({ style: 'all_docs' })).results.at(-1);
  assert.equal(resolved.changes.length, 2);
  assert.equal(resolved.deleted, undefined);
});

scenario('live, with a heartbeat, it tells of what comes', async (place) => {
  const hub = await filled(place);
  const told = [];
  const options = { since: 'now', live: true, include_docs: true, heartbeat: 500 };
  const feed = place.while(hub.changes(options));
  feed.on('change', ({ id, deleted, doc }) => told.push([id, deleted ?? false, doc.text]));
  await place.remote().info();
  await place.remote().put({ _id: 'a', text: 'first' });
  await until('the first', () => told.length === 1);
  await edit(place.remote(), 'a', { text: 'second' });
  await until('the second', () => told.length === 2);
  await remove(place.remote(), 'a');
  await until('the third', () => told.length === 3);
  const ended = event(feed, 'complete');
  feed.cancel();
  await ended;
  assert.deepEqual(told, [['a', false, 'first'], ['a', false, 'second'], ['a', true, undefined]]);
});

scenario('heartbeats come while there is nothing to tell', async (place) => {
  const hub = await filled(place);
  const { update_seq } = await hub.info();
  const ended = new AbortController();
  const query = `feed=longpoll&heartbeat=300&since=${update_seq}`;
  const answer = await fetch(`${place.url}/_changes?${query}`, { signal: ended.signal });
  let text = '';
  const began = Date.now();
  for await (const part of answer.body) {
    text += Buffer.from(part).toString();
    if (/^\{"results":\[\n\n\n/.test(text)) break;
  }
  assert.ok(Date.now() - began < 3_000, JSON.stringify(text));
  ended.abort();
});

scenario('a request that waits without a heartbeat ends in time', async (place) => {
  const hub = await filled(place);
  const { update_seq } = await hub.info();
  const query = `feed=longpoll&timeout=300&since=${update_seq}`;
  const { value } = await place.raw('GET', `/_changes?${query}`);
  assert.deepEqual(value.results, []);
  assert.equal(value.last_seq, update_seq);
});

scenario('continuous feeds tell line by line and end with where they are', async (place) => {
  await filled(place);
  const { text } = await place.raw('GET', '/_changes?feed=continuous&since=0&limit=4&timeout=1000');
  const lines = text.trim().split('\n').map((line) => JSON.parse(line));
  assert.equal(lines.length, 5);
  assert.deepEqual(lines.slice(0, 4).map(({ id }) => id), documents(4).map(({ _id }) => _id));
  assert.deepEqual(lines[4], { last_seq: lines[3].seq, pending: 6 });
});

scenario('named documents only, and as a function of the client wants it', async (place) => {
  const hub = await filled(place);
  const doc_ids = ['document-00004', 'document-00001'];
  assert.deepEqual(numbers(await hub.changes({ doc_ids })), [1, 4]);
  assert.deepEqual(numbers(await hub.changes({ filter: ({ number }) => number > 7 })), [8, 9]);
  await hub.put({ _id: '_design/x' });
  const { value } = await place.raw('GET', '/_changes?filter=_design');
  assert.deepEqual(value.results.map(({ id }) => id), ['_design/x']);
});

onEachAdapter('a feed of the client tells of what a pull brings', async (place) => {
  const [hub, client] = [await filled(place), place.local()];
  const told = [];
  place.while(client.changes({ live: true, since: 0 })).on('change', ({ id }) => told.push(id));
  await pull(client, hub);
  await until('ten rows', () => told.length === 10);
});

scenario('numbers of changes begin with a number that grows', async (place) => {
  const hub = await filled(place);
  const { results } = await hub.changes();
  const leading = results.map(({ seq }) => Number(String(seq).split('-')[0]));
  assert.deepEqual([...leading].sort((a, b) => a - b), leading);
  assert.equal(new Set(leading).size, 10);
  assert.equal((await hub.info()).update_seq, results[9].seq);
});

scenario('a bad place is refused', async (place) => {
  await filled(place);
  for (const since of ['x', '-5', '%7B%7D']) {
    const { status, value } = await place.raw('GET', `/_changes?since=${since}`);
    assert.deepEqual([status, value.error], [400, 'bad_request'], since);
  }
  assert.equal((await place.raw('GET', '/_changes?feed=unheard')).status, 400);
});
