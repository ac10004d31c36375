// Many documents at once: `bulkDocs`, `bulkGet` and `revsDiff` of the hub's database.

import assert from 'node:assert/strict';

import { bytes, documents, edit, noise, pull, push, refused, store } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

scenario('each of many is told what became of it, in their order', async (place) => {
  const hub = place.remote();
  const { rev } = await hub.put({ _id: 'there' });
  const results = await hub.bulkDocs([
    { _id: 'new' }, { _id: 'there', text: 'no revision' }, { _id: 'there', _rev: rev, text: 'it' },
    { _id: 'twice', n: 1 }, { _id: 'twice', n: 2 }, { text: 'without an id' },
  ]);
  const told = results.map(({ ok, status, name, error }) => ok ?? status ?? name ?? error);
  assert.deepEqual(told, [true, 409, true, true, 409, true]);
  assert.equal(results[1].id, 'there');
  assert.equal((await hub.get('twice')).n, 1);
});

scenario('what replicators store never conflicts, and only failures are told', async (place) => {
  const hub = place.remote();
  const all = [
    { _id: 'it', _rev: '1-a', n: 1 },
    { _id: 'it', _rev: '1-b', n: 2 },
    { _id: 'it', _rev: '3-c', _revisions: { start: 3, ids: ['c', 'x', 'a'] }, n: 3 },
  ];
  assert.deepEqual(await hub.bulkDocs(all, { new_edits: false }), []);
  const { update_seq } = await hub.info();
  assert.deepEqual(await hub.bulkDocs(all, { new_edits: false }), []);
  assert.equal((await hub.info()).update_seq, update_seq);
  const { _rev, _conflicts } = await hub.get('it', { conflicts: true });
  assert.deepEqual([_rev, _conflicts], ['3-c', ['1-b']]);
});

scenario('one bad document stops what came with it', async (place) => {
  const hub = place.remote();
  await hub.info();
  for (const bad of ['{"_id":"x","_unknown":1}', '{"_id":"_x"}', '{"_id":"x","_rev":"nonsense"}', '7',
    '{"_id":7}']) {
    const { status } = await place.raw('POST', '/_bulk_docs', `{"docs":[{"_id":"good"},${bad}]}`);
    assert.equal(status, 400, bad);
  }
  assert.equal((await hub.info()).doc_count, 0);
  assert.equal((await place.raw('POST', '/_bulk_docs', '{}')).status, 400);
  assert.equal((await place.raw('POST', '/_bulk_docs', '{"docs":{}}')).status, 400);
  assert.equal((await place.raw('POST', '/_bulk_docs', '{"docs":[')).status, 400);
});

scenario('many are read at once: each is answered, in their order', async (place) => {
  const hub = place.remote();
  const [{ rev }] = await store(hub, documents(3));
  const { results } = await hub.bulkGet({
    docs: [
      { id: 'document-00002' }, { id: 'document-00000', rev },
      { id: 'document-00000', rev: '7-00000000000000000000000000000000' }, { id: 'nothing' },
      { id: 'document-00000', rev },
    ],
    revs: true,
  });
  assert.deepEqual(results.map(({ id }) => id), ['document-00002', 'document-00000',
    'document-00000', 'nothing', 'document-00000']);
  assert.deepEqual(results[1].docs[0].ok._revisions, { start: 1, ids: [rev.split('-')[1]] });
  for (const index of [2, 3]) assert.equal(results[index].docs[0].error.error, 'not_found');
  assert.deepEqual(results[4], results[1]);
  const raw = await place.raw('POST', '/_bulk_get', '{"docs":[{"id":"document-00001"}]}');
  assert.deepEqual(Object.keys(raw.value), ['results']);
});

scenario('many are read with newer leaves in the place of what was asked', async (place) => {
  const hub = place.remote();
  const { rev } = await hub.put({ _id: 'it' });
  const newer = await edit(hub, 'it', { edited: true });
  const docs = [{ id: 'it', rev }];
  const [{ docs: latest }] = (await hub.bulkGet({ docs, latest: true })).results;
  assert.equal(latest[0].ok._rev, newer.rev);
});

scenario('many are read with attachments', async (place) => {
  const hub = place.remote();
  const data = bytes(500);
  await hub.putAttachment('it', 'data', data, 'image/png');
  const docs = [{ id: 'it' }];
  const inline = await hub.bulkGet({ docs, attachments: true });
  assert.equal(inline.results[0].docs[0].ok._attachments.data.data, data.toString('base64'));
  const stubs = await hub.bulkGet({ docs });
  assert.equal(stubs.results[0].docs[0].ok._attachments.data.stub, true);
});

scenario('what is missing is told, with what it may come from', async (place) => {
  const hub = place.remote();
  const { rev } = await hub.put({ _id: 'it' });
  const newer = await edit(hub, 'it', { edited: true });
  const diff = await hub.revsDiff({
    it: [rev, newer.rev, '3-00000000000000000000000000000000', '1-00000000000000000000000000000000'],
    known: ['1-a'],
    nothing: [],
  });
  assert.deepEqual(diff, {
    it: {
      missing: ['3-00000000000000000000000000000000', '1-00000000000000000000000000000000'],
      possible_ancestors: [newer.rev],
    },
    known: { missing: ['1-a'] },
  });
  assert.deepEqual(await hub.revsDiff({ it: [rev] }), {});
  assert.equal((await place.raw('POST', '/_revs_diff', '[]')).status, 400);
  assert.equal((await place.raw('POST', '/_revs_diff', '{"a":1}')).status, 400);
});

scenario('five thousand revisions are compared at once', async (place) => {
  const hub = place.remote();
  const results = await store(hub, documents(2_500));
  const asked = Object.fromEntries(results.map(({ id, rev }) => [id, [rev]]));
  for (let number = 0; number < 2_500; number += 1) asked[`unknown-${number}`] = ['1-a'];
  assert.equal(Object.keys(await hub.revsDiff(asked)).length, 2_500);
});

onEachAdapter('documents of four megabytes', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const text = new TextDecoder('latin1').decode(noise(3 << 20));
  const large = documents(3).map((it) => ({ ...it, text: it.number + text }));
  await store(one, large);
  await push(one, hub);
  await pull(other, hub);
  for (const { _id, text } of large) assert.equal((await other.get(_id)).text, text);
});

scenario('a hundred megabytes at once', async (place) => {
  await place.remote().info();
  const text = 'x'.repeat(4 << 20);
  const docs = documents(25, () => ({ text }));
  const body = JSON.stringify({ docs, new_edits: true });
  const { status, value } = await place.raw('POST', '/_bulk_docs', body);
  assert.equal(status, 201);
  assert.ok(value.every(({ ok }) => ok));
  assert.equal((await place.remote().get('document-00024')).text.length, 4 << 20);
});

scenario('a body that says it is no JSON is refused', async (place) => {
  const hub = place.remote();
  await hub.info();
  const { status, value } = await place.raw('POST', '/_bulk_docs', '{"docs":[]}',
    { 'content-type': 'text/plain' });
  assert.deepEqual([status, value.error], [415, 'bad_content_type']);
  await refused(hub.bulkDocs({ docs: 'none' }), 400);
});
