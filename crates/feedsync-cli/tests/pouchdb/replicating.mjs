// One-time replications: push, pull, and both.

import assert from 'node:assert/strict';

import { documents, edit, found, pull, push, remove, same, settle, store } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

onEachAdapter('what is pushed is there', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  await store(client, documents(30));
  const result = await push(client, hub);
  assert.equal(result.docs_written, 30);
  const { doc_count, doc_del_count } = await hub.info();
  assert.deepEqual([doc_count, doc_del_count], [30, 0]);
  await same(client, hub);
  assert.equal((await push(client, hub)).docs_written, 0);
});

onEachAdapter('what is pulled is there', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  await store(hub, documents(30));
  const result = await pull(client, hub);
  assert.deepEqual([result.docs_read, result.docs_written], [30, 30]);
  await same(client, hub);
  assert.equal((await pull(client, hub)).docs_read, 0);
});

onEachAdapter('a database that is not there is made by a push', async (place) => {
  const client = place.local();
  assert.equal((await place.raw('GET', '')).status, 404);
  await client.put({ _id: 'first' });
  await push(client, place.url);
  assert.equal((await place.raw('GET', '')).value.doc_count, 1);
});

onEachAdapter('both sides get what the other has', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  await client.put({ _id: 'here', from: 'client' });
  await hub.put({ _id: 'there', from: 'hub' });
  const { push: pushed, pull: pulled } = await client.sync(hub);
  assert.equal(pushed.ok && pulled.ok, true);
  assert.equal((await hub.get('here')).from, 'client');
  assert.equal((await client.get('there')).from, 'hub');
  await same(client, hub);
});

onEachAdapter('edits and deletions go through the hub to another client', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await store(one, documents(5));
  await settle(hub, one, other);
  await edit(one, 'document-00001', { edited: true });
  await remove(one, 'document-00002');
  await settle(hub, one, other);
  assert.equal((await other.get('document-00001')).edited, true);
  assert.equal(await found(other, 'document-00002'), undefined);
  assert.equal((await hub.info()).doc_del_count, 1);
  await same(hub, one, other);
});

onEachAdapter('a client may be copied by a hub that already has a part', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  await store(client, documents(10));
  await push(client, hub, { doc_ids: ['document-00003', 'document-00004'] });
  assert.equal((await push(client, hub)).docs_written, 8);
  await same(client, hub);
});

onEachAdapter('two thousand documents go in batches', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await store(one, documents(2_000, (number) => ({ text: 'word '.repeat(number % 40) })));
  assert.equal((await push(one, hub, { batch_size: 250 })).docs_written, 2_000);
  assert.equal((await pull(other, hub, { batch_size: 500 })).docs_written, 2_000);
  assert.equal((await other.info()).doc_count, 2_000);
  assert.deepEqual(
    (await other.allDocs({ include_docs: true })).rows.map(({ doc }) => doc),
    (await one.allDocs({ include_docs: true })).rows.map(({ doc }) => doc),
  );
});

scenario('batches may be of one, and several under way', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await store(one, documents(25));
  await push(one, hub, { batch_size: 1, batches_limit: 3 });
  await pull(other, hub, { batch_size: 1, batches_limit: 3 });
  await same(one, hub, other);
});

scenario('documents are asked for by the batch, not one by one', async (place) => {
  await store(place.remote(), documents(150));
  const { remote, requests } = place.watched();
  await pull(place.local(), remote);
  const asked = requests.map(({ path }) => path.replace(/_local\/.*/, '_local'));
  const count = (path) => asked.filter((it) => it === path).length;
  assert.deepEqual([count('/_bulk_get'), count('/_changes')], [2, 3], asked.join('\n'));
  assert.equal(asked.filter((path) => path.startsWith('/document')).length, 0);
});

onEachAdapter('what a replication writes twice is written once', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await store(one, documents(20));
  await settle(hub, one, other);
  const before = (await hub.info()).update_seq;
  await push(other, hub, { checkpoint: false, since: 0 });
  await push(one, hub, { checkpoint: false, since: 0 });
  assert.equal((await hub.info()).update_seq, before);
});

onEachAdapter('tombstones keep what they say', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const { rev } = await one.put({ _id: 'gone', text: 'it was' });
  await one.put({ _id: 'gone', _rev: rev, _deleted: true, because: 'of it' });
  await settle(hub, one, other);
  const [row] = (await hub.changes({ include_docs: true })).results;
  assert.equal(row.deleted, true);
  assert.equal(row.doc.because, 'of it');
  const [{ ok }] = await other.get('gone', { open_revs: 'all' });
  assert.deepEqual([ok._deleted, ok.because], [true, 'of it']);
});

onEachAdapter('what was deleted can be made again, on either side', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  await client.put({ _id: 'phoenix', life: 1 });
  await remove(client, 'phoenix');
  await push(client, hub);
  const { rev } = await hub.put({ _id: 'phoenix', life: 2 });
  assert.match(rev, /^3-/);
  await pull(client, hub);
  assert.equal((await client.get('phoenix')).life, 2);
  await remove(client, 'phoenix');
  const again = await client.put({ _id: 'phoenix', life: 3 });
  assert.match(again.rev, /^5-/);
  await push(client, hub);
  assert.equal((await hub.get('phoenix', { conflicts: true }))._conflicts, undefined);
  await same(client, hub);
});

onEachAdapter('design documents go along, and what was pulled answers queries', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const map = 'function (document) { emit(document.number % 2); }';
  const views = { parity: { map, reduce: '_count' } };
  await one.put({ _id: '_design/numbers', language: 'javascript', views });
  await store(one, documents(9));
  await settle(hub, one, other);
  assert.deepEqual((await hub.get('_design/numbers')).views, views);
  const { rows } = await other.query('numbers/parity', { group: true });
  assert.deepEqual(rows, [{ key: 0, value: 5 }, { key: 1, value: 4 }]);
  assert.equal((await hub.info()).doc_count, 10);
});

onEachAdapter('local documents stay where they are', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  await client.put({ _id: '_local/here', of: 'client' });
  await hub.put({ _id: '_local/there', of: 'hub' });
  await client.sync(hub);
  assert.equal(await found(hub, '_local/here'), undefined);
  assert.equal(await found(client, '_local/there'), undefined);
  assert.equal((await hub.get('_local/there')).of, 'hub');
  assert.deepEqual((await hub.allDocs()).rows, []);
  assert.equal((await hub.info()).doc_count, 0);
});

scenario('one database of the hub is replicated into another', async (place) => {
  const hub = place.remote();
  await store(hub, documents(20));
  await hub.putAttachment('document-00003', 'note', (await hub.get('document-00003'))._rev,
    Buffer.from('noted'), 'text/plain');
  await remove(hub, 'document-00004');
  place.name += '-copy';
  const copy = place.remote();
  await pull(copy, hub);
  await same(hub, copy);
  assert.equal((await copy.getAttachment('document-00003', 'note')).toString(), 'noted');
});

onEachAdapter('a client is destroyed, and begins anew with what the hub has', async (place) => {
  const [first, hub] = [place.local(), place.remote()];
  await store(first, documents(10));
  await push(first, hub);
  await first.destroy();
  const second = place.local();
  assert.equal((await pull(second, hub)).docs_written, 10);
  await same(second, hub);
});

onEachAdapter('a database is dropped and made again: clients begin anew', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await store(one, documents(10));
  await settle(hub, one, other);
  await hub.put({ _id: '_local/settings' });
  await hub.destroy();
  assert.equal((await place.raw('GET', '')).status, 404);
  const anew = place.remote();
  assert.equal((await anew.info()).doc_count, 0);
  assert.equal(await found(anew, '_local/settings'), undefined);
  await anew.put({ _id: 'new' });
  assert.equal((await push(one, anew)).docs_written, 10);
  assert.equal((await pull(other, anew)).docs_written, 1);
  await settle(anew, one, other);
  await same(anew, one, other);
  assert.equal((await anew.info()).doc_count, 11);
});
