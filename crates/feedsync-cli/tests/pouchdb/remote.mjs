// PouchDB as a client of the hub's database, without a local database.

import assert from 'node:assert/strict';

import { documents, edit, pull, refused, remove, store } from './replicas.mjs';
import { scenario } from './suite.mjs';

scenario('a document is made, read, edited and deleted', async (place) => {
  const hub = place.remote();
  const first = await hub.put({ _id: 'it', text: 'one' });
  assert.deepEqual([first.ok, first.id], [true, 'it']);
  const document = await hub.get('it');
  assert.deepEqual(document, { _id: 'it', _rev: first.rev, text: 'one' });
  const second = await hub.put({ ...document, text: 'two' });
  assert.match(second.rev, /^2-[0-9a-f]{32}$/);
  const third = await hub.remove('it', second.rev);
  assert.match(third.rev, /^3-/);
  const error = await refused(hub.get('it'), 404, 'not_found');
  assert.equal(error.reason, 'deleted');
  assert.equal((await refused(hub.get('never'), 404)).reason, 'missing');
});

scenario('edits of what is not the newest are refused', async (place) => {
  const hub = place.remote();
  const { rev } = await hub.put({ _id: 'it' });
  await hub.put({ _id: 'it', _rev: rev, n: 2 });
  await refused(hub.put({ _id: 'it', n: 3 }), 409, 'conflict');
  await refused(hub.put({ _id: 'it', _rev: rev, n: 3 }), 409, 'conflict');
  await refused(hub.remove('it', rev), 409, 'conflict');
  await refused(hub.put({ _id: 'it', _rev: 'x' }), 400);
});

scenario('revisions that were are still there, and told of', async (place) => {
  const hub = place.remote();
  const revs = [];
  revs.unshift((await hub.put({ _id: 'it', n: 0 })).rev);
  for (let n = 1; n < 4; n += 1) revs.unshift((await edit(hub, 'it', { n })).rev);
  const { _revisions, _revs_info } = await hub.get('it', { revs: true, revs_info: true });
  assert.equal(_revisions.start, 4);
  assert.deepEqual(_revisions.ids, revs.map((rev) => rev.split('-')[1]));
  assert.deepEqual(_revs_info.map(({ rev }) => rev), revs);
  assert.equal((await hub.get('it', { rev: revs[0] })).n, 3);
  for (const { rev, status } of _revs_info) {
    if (status === 'available') assert.equal((await hub.get('it', { rev }))._rev, rev);
  }
  await refused(hub.get('it', { rev: '9-00000000000000000000000000000000' }), 404);
});

scenario('leaves are read: all of them, named ones, and the newest of one', async (place) => {
  const hub = place.remote();
  const [first, left, right] = ['1-a', '2-b', '2-c'];
  await hub.bulkDocs([
    { _id: 'it', _rev: left, _revisions: { start: 2, ids: ['b', 'a'] }, n: 'left' },
    { _id: 'it', _rev: right, _revisions: { start: 2, ids: ['c', 'a'] }, n: 'right' },
  ], { new_edits: false });
  const document = await hub.get('it', { conflicts: true });
  assert.deepEqual([document._rev, document._conflicts], [right, [left]]);
  const all = await hub.get('it', { open_revs: 'all' });
  assert.deepEqual(all.map(({ ok }) => ok.n).sort(), ['left', 'right']);
  const named = await hub.get('it', { open_revs: [left, '5-x'], revs: true });
  assert.deepEqual(named.map(({ ok, missing }) => ok?.n ?? missing), ['left', '5-x']);
  assert.deepEqual(named[0].ok._revisions, { start: 2, ids: ['b', 'a'] });
  const latest = await hub.get('it', { open_revs: [first], latest: true });
  assert.deepEqual(latest.map(({ ok }) => ok?._rev).sort(), [left, right]);
  const { rev } = await hub.put({ _id: 'it', _rev: left, n: 'more' });
  assert.equal((await hub.get('it', { rev: left, latest: true }))._rev, rev);
});

scenario('all documents, and ranges of them', async (place) => {
  const hub = place.remote();
  await store(hub, documents(12));
  const id = (number) => documents(12)[number]._id;
  const numbers = async (options) => (await hub.allDocs(options)).rows
    .map((row) => Number(row.id.split('-')[1]));
  const { total_rows, offset, rows } = await hub.allDocs({ limit: 2 });
  assert.deepEqual([total_rows, offset, rows.length], [12, 0, 2]);
  assert.deepEqual(rows[0], { id: id(0), key: id(0), value: rows[0].value });
  assert.match(rows[0].value.rev, /^1-/);
  assert.deepEqual(await numbers({ startkey: id(3), endkey: id(5) }), [3, 4, 5]);
  assert.deepEqual(await numbers({ startkey: id(3), endkey: id(5), inclusive_end: false }), [3, 4]);
  assert.deepEqual(await numbers({ startkey: id(5), endkey: id(3), descending: true }), [5, 4, 3]);
  assert.deepEqual(await numbers({ descending: true, limit: 2, skip: 1 }), [10, 9]);
  assert.deepEqual(await numbers({ skip: 10 }), [10, 11]);
  assert.deepEqual(await numbers({ limit: 0 }), []);
  assert.deepEqual(await numbers({ key: id(7) }), [7]);
  assert.deepEqual(await numbers({ key: 'nothing' }), []);
  const tens = { startkey: 'document-0001', endkey: 'document-0001\uffff' };
  assert.deepEqual(await numbers(tens), [10, 11]);
});

scenario('documents by their keys, whether there or not', async (place) => {
  const hub = place.remote();
  await store(hub, documents(5));
  await remove(hub, 'document-00002');
  const keys = ['document-00004', 'nothing', 'document-00002', 'document-00000', 'document-00004'];
  const { rows } = await hub.allDocs({ keys, include_docs: true });
  assert.deepEqual(rows.map(({ key }) => key), keys);
  assert.equal(rows[0].doc.number, 4);
  assert.deepEqual(rows[1], { key: 'nothing', error: 'not_found' });
  assert.equal(rows[2].value.deleted, true);
  assert.equal(rows[2].doc, null);
  assert.deepEqual(rows[4], rows[0]);
  assert.deepEqual((await hub.allDocs({ keys: [] })).rows, []);
  assert.equal((await hub.allDocs()).rows.length, 4);
});

scenario('documents by their keys, from the last down, and a part of them', async (place) => {
  const [hub, client] = [place.remote(), place.local()];
  const keys = ['document-00004', 'nothing', 'document-00002', 'document-00000'];
  for (const database of [client, hub]) {
    await store(database, documents(5));
    const told = async (options) =>
      (await database.allDocs({ keys: [...keys], ...options })).rows.map(({ key }) => key);
    assert.deepEqual(await told({ descending: true }), [...keys].reverse(), database.name);
    assert.deepEqual(await told({ limit: 2 }), keys.slice(0, 2), database.name);
    assert.deepEqual(await told({ limit: 2, skip: 1 }), keys.slice(1, 3), database.name);
  }
});

scenario('conflicts are told with all documents', async (place) => {
  const [hub, client] = [place.remote(), place.local()];
  await hub.put({ _id: 'it' });
  await pull(client, hub);
  await edit(hub, 'it', { by: 'hub' });
  await edit(client, 'it', { by: 'client' });
  await client.replicate.to(hub);
  const [{ doc }] = (await hub.allDocs({ include_docs: true, conflicts: true })).rows;
  assert.equal(doc._conflicts.length, 1);
});

scenario('what is said of a database', async (place) => {
  const hub = place.remote();
  await store(hub, documents(4));
  await hub.put({ _id: '_design/x' });
  await remove(hub, 'document-00000');
  const info = await hub.info();
  assert.equal(info.db_name, place.name);
  assert.deepEqual([info.doc_count, info.doc_del_count], [4, 1]);
  assert.equal(info.compact_running, false);
  assert.equal(typeof info.instance_start_time, 'string');
  assert.equal(typeof info.sizes.file, 'number');
  assert.ok(info.sizes.file > 0 || info.sizes.active > 0, JSON.stringify(info.sizes));
});

scenario('a database that is not there is made only when asked', async (place) => {
  const hub = place.remote({ skip_setup: true });
  const error = await refused(hub.get('it'), 404);
  assert.equal(error.reason, 'Database does not exist.');
  await refused(place.local().replicate.from(hub), 404);
  assert.equal((await place.raw('GET', '')).status, 404);
  assert.equal((await place.raw('PUT', '')).status, 201);
  const again = await place.raw('PUT', '');
  assert.deepEqual([again.status, again.value.error], [412, 'file_exists']);
  assert.equal((await place.raw('GET', '/')).status, 200);
});

scenario('local documents of the hub', async (place) => {
  const hub = place.remote();
  const { rev } = await hub.put({ _id: '_local/mine', n: 1 });
  assert.equal(rev, '0-1');
  assert.deepEqual(await hub.get('_local/mine'), { _id: '_local/mine', _rev: '0-1', n: 1 });
  assert.equal((await hub.put({ _id: '_local/mine', _rev: '0-1', n: 2 })).rev, '0-2');
  assert.equal((await hub.get('_local/mine')).n, 2);
  await hub.remove('_local/mine', '0-2');
  await refused(hub.get('_local/mine'), 404);
});

scenario('documents are found by a selector', async (place) => {
  const hub = place.remote();
  await store(hub, documents(20, (number) => ({ kind: number % 2 ? 'odd' : 'even' })));
  const { docs } = await hub.find({ selector: { kind: 'odd', number: { $gt: 10 } } });
  assert.deepEqual(docs.map(({ number }) => number).sort((a, b) => a - b), [11, 13, 15, 17, 19]);
  const some = await hub.find({ selector: { _id: { $lt: 'document-00003' } }, fields: ['number'] });
  assert.deepEqual(some.docs, [{ number: 0 }, { number: 1 }, { number: 2 }]);
  assert.equal((await hub.find({ selector: { kind: 'odd' }, limit: 3 })).docs.length, 3);
});

scenario('a purge takes a document out of the database', async (place) => {
  const hub = place.remote();
  const { rev } = await hub.put({ _id: 'it' });
  await hub.put({ _id: 'other' });
  const { status, value } = await place.raw('POST', '/_purge', JSON.stringify({ it: [rev] }));
  if (status === 501) return assert.equal(value.error, 'not_implemented');
  assert.equal(status, 201);
  assert.deepEqual(value.purged, { it: [rev] });
  assert.equal((await refused(hub.get('it'), 404)).reason, 'missing');
  const client = place.local();
  await pull(client, hub);
  assert.deepEqual((await client.allDocs()).rows.map(({ id }) => id), ['other']);
});

scenario('the same document is edited by many at once, and no edit is lost', async (place) => {
  const hub = place.remote();
  await hub.put({ _id: 'counter', count: 0 });
  const adds = async () => {
    for (let left = 10; left > 0;) {
      const document = await hub.get('counter');
      const taken = await hub.put({ ...document, count: document.count + 1 })
        .catch((error) => assert.equal(error.status, 409));
      if (taken) left -= 1;
    }
  };
  await Promise.all(Array.from({ length: 6 }, adds));
  const { count, _rev, _conflicts } = await hub.get('counter', { conflicts: true });
  assert.equal(count, 60);
  assert.match(_rev, /^61-/);
  assert.equal(_conflicts, undefined);
});
