// Unusual document ids.

import assert from 'node:assert/strict';

import { edit, remove, same, settle } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

const IDS = ['a/b', 'a//b', '/a', 'a/', 'a+b', '+', '%', '%2F', '100%25', 'a b', ' ', 'a?b', 'a#b',
  'a&b=c', 'Grüße', '世界', '\u{1f600}', 'e\u0301', '\u00e9', 'constructor', 'toString',
  'hasOwnProperty', 'x__proto__', 'prototype', 'null', 'true', '0', '-1', '1e5', '"', "'", '\\', '\n',
  '\t', '\u0001', '\u007f', '\u2028', '\uffff', '\u{10ffff}', ':', ';', '@', '=', '~', '*', '(', '[]',
  '{}', '|', '^', '`', 'h:+abc', 'f:0123', 'folder/näme with space.md', 'x'.repeat(4_000),
  '世'.repeat(1_000), 'design/x', 'local/x', 'a/_all_docs', 'CON', 'ends.', '.hidden'];

onEachAdapter('odd ids go everywhere, are edited, and deleted', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await one.bulkDocs(IDS.map((_id) => ({ _id, id: _id })));
  await settle(hub, one, other);
  for (const id of IDS) {
    const document = await hub.get(id);
    assert.deepEqual([document._id, document.id], [id, id]);
    await hub.put({ ...document, edited: true });
  }
  await settle(hub, one, other);
  for (const id of IDS) assert.equal((await other.get(id)).edited, true, id);
  for (const id of IDS.slice(0, 20)) await remove(hub, id);
  await settle(hub, one, other);
  assert.equal((await other.info()).doc_count, IDS.length - 20);
  await same(hub, one, other);
});

scenario('dots are ids as others are', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  // Clients cannot request these ids by address, because every client removes dot segments from addresses.
  await client.bulkDocs([{ _id: '.', text: 'one' }, { _id: '..', text: 'two' }, { _id: '...' }]);
  await settle(hub, client);
  const { rows } = await hub.allDocs({ include_docs: true });
  assert.deepEqual(rows.map(({ doc }) => doc.text), ['one', 'two', undefined]);
  const other = place.local();
  await settle(hub, other);
  assert.equal((await other.get('..')).text, 'two');
});

scenario('ids are in the order of their bytes', async (place) => {
  const hub = place.remote();
  await hub.bulkDocs(IDS.map((_id) => ({ _id })));
  const { rows } = await hub.allDocs();
  const expected = [...IDS].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual(rows.map(({ id }) => id), expected);
});

scenario('ids that are reserved are refused', async (place) => {
  const hub = place.remote();
  await hub.info();
  for (const id of ['_x', '__proto__', '_all_doc', '_designs/x']) {
    const { status, value } = await place.raw('PUT', `/${id}`, '{}');
    assert.deepEqual([status, value.error], [400, 'illegal_docid'], id);
    const bulk = await place.raw('POST', '/_bulk_docs', JSON.stringify({ docs: [{ _id: id }] }));
    assert.deepEqual([bulk.status, bulk.value.error], [400, 'illegal_docid'], id);
  }
  assert.equal((await hub.info()).doc_count, 0);
});

scenario('a document without an id gets one', async (place) => {
  const hub = place.remote();
  const { id } = await hub.post({ text: 'anonymous' });
  assert.equal((await hub.get(id)).text, 'anonymous');
  const { status, value } = await place.raw('POST', '', '{"text":"another"}');
  assert.equal(status, 201);
  assert.match(value.id, /^[0-9a-f]{32}$/);
});

onEachAdapter('members with the names of what objects have', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const odd = { constructor: 1, toString: 'x', hasOwnProperty: null, length: 0, '': 'empty',
    'a.b': 2, $ref: '#', '\u{1f600}': true };
  await one.put({ _id: 'members', odd, constructor: { name: 'it' } });
  await settle(hub, one, other);
  assert.deepEqual((await other.get('members')).odd, odd);
  assert.deepEqual((await hub.get('members')).constructor, { name: 'it' });
  await edit(hub, 'members', { odd: { ...odd, more: 1 } });
  await settle(hub, one, other);
  await same(hub, one, other);
});

scenario('databases with odd names', async (place) => {
  for (const name of ['a', 'a_b', 'a$b', 'a(b)', 'a+b', 'a-b', 'a/b', 'a1', `a${'x'.repeat(200)}`]) {
    place.name = encodeURIComponent(`${name}${name.length > 200 ? '' : `-${place.number}`}`);
    const hub = place.remote();
    await hub.put({ _id: 'it' });
    assert.equal((await hub.info()).db_name, decodeURIComponent(place.name));
    const client = place.local();
    await settle(hub, client);
    assert.equal((await client.info()).doc_count, 1);
    await hub.destroy();
  }
  for (const name of ['Upper', '1a', 'a.b', 'a%20b', '%C3%A4']) {
    place.name = name;
    const { status, value } = await place.raw('PUT', '');
    assert.deepEqual([status, value.error], [400, 'illegal_database_name'], name);
  }
});

scenario('a database whose name is reserved is refused as one', async (place) => {
  place.name = '_x';
  const { status, value } = await place.raw('PUT', '');
  assert.deepEqual([status, value.error], [400, 'illegal_database_name']);
});
