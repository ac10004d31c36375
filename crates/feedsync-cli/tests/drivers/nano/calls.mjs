// The calls of nano, as its documentation shows them, by an administrator and a user.
//
// Three of them cannot work with any server in this version: an address that names a database (nano repeats the name),
// headers of `nano.request` (they are not sent), and `nano.db.changesAsStream` (it exists only in databases).
//
//   MODULES=DIRECTORY node calls.mjs ADDRESS ADMINISTRATOR USER PASSWORD

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, json } from 'node:stream/consumers';

import { end, refused, until, works } from '../calls.mjs';

const Nano = createRequire(join(process.env.MODULES, 'package.json'))('nano');
const [address, anna, bert, password] = process.argv.slice(2);

/** Address with a login. */
const as = (user, path = '') => address.replace('://', `://${user}:${password}@`) + path;

const nano = Nano(as(anna));

// Databases.
await works('nano.db.create', async () => assert.equal((await nano.db.create('alice', { n: 3 })).ok, true));
await refused('nano.db.create of an existing database', 412, /file_exists/, () => nano.db.create('alice'));
await works('nano.db.get', async () => assert.equal((await nano.db.get('alice')).db_name, 'alice'));
await works('nano.db.list', async () => assert.ok((await nano.db.list()).includes('alice')));
await works('nano.db.listAsStream', async () => {
  assert.ok((await json(nano.db.listAsStream())).includes('alice'));
});
await works('nano.info', async () => assert.equal((await nano.info()).couchdb, 'Welcome'));
await works('nano.use, nano.db.use, nano.scope and nano.db.scope', async () => {
  for (const use of [nano.use, nano.db.use, nano.scope, nano.db.scope]) {
    assert.equal((await use('alice').info()).db_name, 'alice');
  }
});
await works('nano.config', async () => assert.ok(nano.config.url.startsWith('http')));
await works('nano.uuids', async () => {
  assert.equal((await nano.uuids(3)).uuids.length, 3);
  assert.equal((await nano.uuids()).uuids.length, 1);
});
await works('nano.updates', async () => {
  assert.ok((await nano.updates()).results.some(({ db_name }) => db_name === 'alice'));
});

// Documents.
const alice = nano.use('alice');
const rabbit = await works('db.insert with an id', () => alice.insert({ happy: true }, 'rabbit'));
await works('db.insert with a new id', async () => assert.match((await alice.insert({ a: 1 })).id, /^[0-9a-f]{32}$/));
await works('db.insert with an id in the document, and an update', async () => {
  const { rev } = await alice.insert({ _id: 'myid', happy: true });
  assert.match((await alice.insert({ _id: 'myid', _rev: rev, happy: false })).rev, /^2-/);
});
await works('db.insert with parameters', async () => {
  const answer = await alice.insert({ happy: true }, { docName: 'batch', batch: 'ok' });
  assert.equal(answer.ok, true);
});
await refused('db.insert without the revision', 409, /conflict/, () => alice.insert({}, 'rabbit'));
await works('db.get', async () => assert.equal((await alice.get('rabbit')).happy, true));
await works('db.get with parameters', async () => {
  assert.equal((await alice.get('rabbit', { revs_info: true }))._revs_info.length, 1);
});
await refused('db.get of a missing document', 404, /missing/, () => alice.get('nobody'));
await works('db.head', async () => assert.equal((await alice.head('rabbit')).etag, `"${rabbit.rev}"`));
await works('db.bulk', async () => {
  const [first, second] = await alice.bulk({ docs: [{ a: 1, b: 2 }, { _id: 'tiger', striped: true }] });
  assert.ok(first.ok && second.id === 'tiger');
});
await works('db.list', async () => {
  const { rows, total_rows: total } = await alice.list();
  assert.equal(rows.length, total);
  assert.equal((await alice.list({ include_docs: true, key: 'tiger' })).rows[0].doc.striped, true);
});
await works('db.listAsStream', async () => {
  assert.equal((await json(alice.listAsStream({ limit: 2 }))).rows.length, 2);
});
await works('db.fetch', async () => {
  const { rows } = await alice.fetch({ keys: ['tiger', 'zebra'] });
  assert.deepEqual([rows[0].doc.striped, rows[1].error], [true, 'not_found']);
});
await works('db.fetchRevs', async () => {
  const { rows } = await alice.fetchRevs({ keys: ['rabbit'] });
  assert.deepEqual(rows[0].value, { rev: rabbit.rev });
});
await works('db.destroy', async () => {
  const { _rev: rev } = await alice.get('batch');
  assert.equal((await alice.destroy('batch', rev)).ok, true);
});
await works('nano.request and nano.relax', async () => {
  const request = { db: 'alice', doc: 'rabbit', method: 'get', qs: { rev: rabbit.rev } };
  for (const send of [nano.request, nano.relax]) assert.equal((await send(request)).happy, true);
});

// Attachments.
const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256));
await works('db.attachment.insert', async () => {
  const { _rev: rev } = await alice.get('rabbit');
  assert.equal((await alice.attachment.insert('rabbit', 'rabbit.png', bytes, 'image/png', { rev })).ok, true);
});
await works('db.attachment.insert of a stream', async () => {
  const { _rev: rev } = await alice.get('rabbit');
  const stream = Readable.from([bytes]);
  assert.equal((await alice.attachment.insert('rabbit', 'stream.png', stream, 'image/png', { rev })).ok, true);
});
await works('db.attachment.get', async () => {
  assert.deepEqual(Buffer.from(await alice.attachment.get('rabbit', 'rabbit.png')), bytes);
});
await works('db.attachment.getAsStream', async () => {
  assert.deepEqual(await buffer(alice.attachment.getAsStream('rabbit', 'stream.png')), bytes);
});
await works('db.attachment.destroy', async () => {
  const { _rev: rev } = await alice.get('rabbit');
  await alice.attachment.destroy('rabbit', 'stream.png', { rev });
  assert.deepEqual(Object.keys((await alice.get('rabbit'))._attachments), ['rabbit.png']);
});
await works('db.multipart.insert', async () => {
  const attachments = [{ name: 'rabbit.png', data: bytes, content_type: 'image/png' }];
  assert.equal((await alice.multipart.insert({ foo: 'bar' }, attachments, 'mydoc')).ok, true);
  assert.deepEqual(Buffer.from(await alice.attachment.get('mydoc', 'rabbit.png')), bytes);
});
await works('db.multipart.get', async () => {
  // nano 11 reads the response as text, which only suits attachments that are text.
  const attachments = [{ name: 'rabbit.txt', data: 'a rabbit', content_type: 'text/plain' }];
  await alice.multipart.insert({}, attachments, 'text');
  const answer = await alice.multipart.get('text');
  assert.ok(answer.includes('\r\n\r\na rabbit\r\n') && answer.includes('"follows":true'), answer);
});

// Queries and views.
await works('db.createIndex', async () => {
  const index = { index: { fields: ['name'] }, name: 'by-name' };
  assert.equal((await alice.createIndex(index)).result, 'created');
});
await alice.bulk({ docs: [{ name: 'Brian', age: 26 }, { name: 'Brian', age: 24 }, { name: 'Ann', age: 30 }] });
const query = {
  selector: { name: { $eq: 'Brian' }, age: { $gt: 25 } },
  fields: ['name', 'age', 'tags', 'url'],
  limit: 50,
};
await works('db.find', async () => {
  assert.deepEqual((await alice.find(query)).docs, [{ name: 'Brian', age: 26 }]);
});
await works('db.findAsStream', async () => {
  assert.deepEqual((await json(alice.findAsStream(query))).docs, [{ name: 'Brian', age: 26 }]);
});
await works('db.insert of a design document', () => alice.insert({
  views: {
    ages: { map: 'function (doc) { if (doc.age) emit(doc.name, doc.age); }', reduce: '_sum' },
  },
  shows: { text: 'function (doc, req) { return "x"; }' },
  lists: { text: 'function (head, req) { send("x"); }' },
  updates: { 'in-place': 'function (doc, req) { return [null, "x"]; }' },
}, '_design/people'));
await works('db.view', async () => {
  const all = await alice.view('people', 'ages', { reduce: false });
  assert.deepEqual(all.rows.map(({ value }) => value).sort(), [24, 26, 30]);
  const { rows } = await alice.view('people', 'ages', { key: 'Ann', reduce: false, include_docs: true });
  assert.equal(rows[0].doc.name, 'Ann');
});
await works('db.view with keys, and with a reduction', async () => {
  const { rows } = await alice.view('people', 'ages', { keys: ['Ann', 'Brian'], group: true });
  assert.deepEqual(rows, [{ key: 'Ann', value: 30 }, { key: 'Brian', value: 50 }]);
});
// CouchDB 1 answered these at the address of the view.
await refused('db.view with several queries', 400, /no longer supported/, () => (
  alice.view('people', 'ages', { queries: [{ key: 'Ann', reduce: false }, { reduce: true }] })
));
await works('several queries of a view', async () => {
  const queries = [{ key: 'Ann', reduce: false }, { reduce: true }];
  const path = '_design/people/_view/ages/queries';
  const { results } = await nano.request({ db: 'alice', path, method: 'post', body: { queries } });
  assert.equal(results[1].rows[0].value, 80);
});
await works('db.viewAsStream', async () => {
  assert.equal((await json(alice.viewAsStream('people', 'ages', { reduce: false }))).rows.length, 3);
});
const functions = /not_implemented functions/;
await refused('db.viewWithList', 501, functions, () => alice.viewWithList('people', 'ages', 'text'));
await refused('db.show', 501, functions, () => alice.show('people', 'text', 'rabbit'));
await refused('db.atomic', 501, functions, () => alice.atomic('people', 'in-place', 'rabbit', { field: 'foo' }));
await refused('db.search', 501, /not_implemented/, () => alice.search('people', 'all', { q: 'cat' }));
// A stream of nano has the status of an error, but not its reason.
const status = /Not Implemented/;
await refused('db.viewWithListAsStream', 501, status, () => buffer(alice.viewWithListAsStream('people', 'ages', 'text')));
await refused('db.searchAsStream', 501, status, () => buffer(alice.searchAsStream('people', 'all', { q: 'cat' })));

// Partitions.
const partitions = /not_implemented/;
await refused('nano.db.create of a partitioned database', 501, partitions, () => (
  nano.db.create('parts', { partitioned: true })
));
await refused('db.partitionInfo', 501, partitions, () => alice.partitionInfo('canidae'));
await refused('db.partitionedList', 501, partitions, () => alice.partitionedList('canidae'));
await refused('db.partitionedFind', 501, partitions, () => alice.partitionedFind('canidae', { selector: {} }));
await refused('db.partitionedSearch', 501, partitions, () => alice.partitionedSearch('canidae', 'd', 's', { q: 'x' }));
await refused('db.partitionedView', 501, partitions, () => alice.partitionedView('canidae', 'people', 'ages'));
for (const [name, call] of Object.entries({
  partitionedListAsStream: () => alice.partitionedListAsStream('canidae'),
  partitionedFindAsStream: () => alice.partitionedFindAsStream('canidae', { selector: {} }),
  partitionedSearchAsStream: () => alice.partitionedSearchAsStream('canidae', 'd', 's', { q: 'x' }),
  partitionedViewAsStream: () => alice.partitionedViewAsStream('canidae', 'people', 'ages'),
})) await refused(`db.${name}`, 501, status, () => buffer(call()));

// Changes.
const { last_seq: last } = await works('nano.db.changes', async () => {
  const changes = await nano.db.changes('alice');
  assert.ok(changes.results.some(({ id }) => id === 'rabbit'));
  return changes;
});
await works('db.changesAsStream', async () => {
  assert.equal((await json(alice.changesAsStream({ limit: 1 }))).results.length, 1);
});
await works('db.changes', async () => {
  assert.deepEqual((await alice.changes({ since: last })).results, []);
});
const batches = (reader, end) => new Promise((done, fail) => {
  const found = [];
  reader.on('error', fail).on('end', () => done(found)).on('batch', (batch, next) => {
    found.push(...batch);
    if (end?.(found)) done(found);
    next?.();
  });
});
await works('db.changesReader.get', async () => {
  const found = await batches(alice.changesReader.get({ since: 0, batchSize: 5, includeDocs: true, timeout: 500 }));
  assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
  assert.equal(found.find(({ id }) => id === 'tiger').doc.striped, true);
});
await works('db.changesReader.get with a selector', async () => {
  const selector = { name: 'Ann' };
  assert.equal((await batches(alice.changesReader.get({ since: 0, selector, timeout: 500 }))).length, 1);
});
await works('db.changesReader.spool', async () => {
  const found = await batches(alice.changesReader.spool({ since: 0 }));
  assert.ok(found.some(({ id }) => id === 'rabbit'));
});
await works('db.changesReader.start and stop', async () => {
  const reader = alice.changesReader.start({ since: last, timeout: 10_000 });
  const found = batches(reader, (all) => all.length === 1);
  await alice.insert({}, 'later');
  assert.equal((await found)[0].id, 'later');
  alice.changesReader.stop();
});

// Maintenance and replication.
await works('nano.db.compact', async () => {
  assert.equal((await nano.db.compact('alice')).ok, true);
  assert.equal((await nano.db.compact('alice', 'people')).ok, true);
});
await works('nano.db.replicate', async () => {
  const done = await nano.db.replicate(as(anna, '/alice'), as(anna, '/copy'), { create_target: true });
  assert.equal(done.ok, true);
  assert.equal((await nano.use('copy').get('tiger')).striped, true);
});
await works('db.replicate', async () => {
  await alice.insert({}, 'again');
  assert.equal((await Nano(as(anna)).use('alice').replicate(as(anna, '/copy'))).ok, true);
  await until('replication', async () => (await nano.use('copy').list()).rows.some(({ id }) => id === 'again'));
});
await works('nano.db.replication.enable, query and disable', async () => {
  await nano.db.create('_replicator');
  const { id } = await nano.db.replication.enable(as(anna, '/alice'), as(anna, '/copy'));
  await until('its outcome', async () => (await nano.db.replication.query(id))._replication_state === 'completed');
  const { _rev } = await nano.db.replication.query(id);
  assert.equal((await nano.db.replication.disable(id, _rev)).ok, true);
});

// Sign-in.
await works('nano.auth and nano.session', async () => {
  const signing = Nano({ url: address });
  assert.equal((await signing.auth(anna, password)).name, anna);
  const { userCtx, info } = await signing.session();
  assert.deepEqual([userCtx.name, info.authenticated], [anna, 'cookie']);
  assert.equal((await signing.use('alice').get('tiger')).striped, true);
});
await refused('nano.auth with a wrong password', 401, /unauthorized/, () => Nano({ url: address }).auth(anna, 'x'));
await refused('a request without a login', 401, /unauthorized/, () => Nano({ url: address }).db.list());
await works('another user sees another database', async () => {
  const other = Nano(as(bert));
  await other.db.create('by-bert');
  assert.deepEqual(await other.db.list(), ['by-bert']);
});
await refused('a database of another user', 404, /not_found/, () => Nano(as(bert)).use('alice').get('tiger'));
await works('a logger', async () => {
  const log = [];
  await Nano({ url: as(anna), log: (entry) => log.push(entry) }).db.list();
  assert.ok(log.length === 2 && !JSON.stringify(log).includes(password));
});
await works('custom headers', async () => {
  const headers = { mycustomheader: '42' };
  assert.equal((await Nano({ url: as(anna), headers }).info()).couchdb, 'Welcome');
});
await works('nano.db.destroy', async () => {
  for (const name of ['alice', 'copy', 'by-bert']) assert.equal((await nano.db.destroy(name)).ok, true);
});
await refused('nano.db.destroy of a missing database', 404, /not_found/, () => nano.db.destroy('alice'));

end();
