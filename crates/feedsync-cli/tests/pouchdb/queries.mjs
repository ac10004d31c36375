// Indexes and queries: pouchdb-find and nano as clients of the hub's database.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { refused } from './replicas.mjs';
import { modules, scenario } from './suite.mjs';

const require = createRequire(join(modules, 'package.json'));
const nano = require('nano');

const HEROES = [
  { _id: 'dk', name: 'donkey kong', rank: 7, series: 'mario', debut: 1981 },
  { _id: 'falcon', name: 'captain falcon', rank: 4, series: 'f-zero', debut: 1990 },
  { _id: 'fox', name: 'fox', rank: 3, series: 'star fox', debut: 1993 },
  { _id: 'kirby', name: 'kirby', rank: 2, series: 'kirby', debut: 1992 },
  { _id: 'link', name: 'link', rank: 10, series: 'zelda', debut: 1986 },
  { _id: 'luigi', name: 'luigi', rank: 11, series: 'mario', debut: 1983 },
  { _id: 'mario', name: 'mario', rank: 5, series: 'mario', debut: 1981 },
  { _id: 'yoshi', name: 'yoshi', rank: 6, series: 'mario', debut: 1990 },
];

const ids = ({ docs }) => docs.map(({ _id }) => _id).join(' ');

scenario('an index is created, listed and deleted by PouchDB', async (place) => {
  const hub = place.remote();
  const index = { index: { fields: ['series', 'debut'] }, ddoc: 'by-series', name: 'series' };
  const created = { result: 'created', id: '_design/by-series', name: 'series' };
  assert.deepEqual(await hub.createIndex(index), created);
  assert.deepEqual(await hub.createIndex(index), { ...created, result: 'exists' });
  const { total_rows, indexes } = await hub.getIndexes();
  assert.equal(total_rows, 2);
  assert.deepEqual(indexes[0].def, { fields: [{ _id: 'asc' }] });
  assert.deepEqual(indexes[1].def, { fields: [{ series: 'asc' }, { debut: 'asc' }] });
  assert.equal((await hub.get('_design/by-series')).language, 'query');
  assert.equal((await hub.deleteIndex(indexes[1])).ok, true);
  assert.equal((await hub.getIndexes()).total_rows, 1);
  await refused(hub.deleteIndex(indexes[1]), 404);
  await refused(hub.createIndex({ index: { fields: [{ a: 'asc' }, { b: 'desc' }] } }), 400);
});

scenario('queries of PouchDB have the results of its own database', async (place) => {
  const [hub, local] = [place.remote(), place.local()];
  for (const database of [hub, local]) {
    await database.bulkDocs(HEROES);
    await database.createIndex({ index: { fields: ['debut'] }, ddoc: 'debut' });
    await database.createIndex({ index: { fields: ['series', 'rank'] }, ddoc: 'series' });
  }
  const queries = [
    { selector: { debut: { $gt: 1985 } }, sort: ['debut'], fields: ['_id', 'debut'] },
    { selector: { debut: { $gte: 1981, $lt: 1990 } }, sort: [{ debut: 'desc' }] },
    { selector: { series: 'mario' }, sort: ['series', 'rank'], limit: 2, skip: 1 },
    { selector: { series: 'mario', rank: { $gt: 5 } }, fields: ['name'] },
    { selector: { series: { $in: ['zelda', 'kirby'] }, rank: { $exists: true } }, sort: ['series'] },
    { selector: { $or: [{ debut: 1981 }, { debut: 1993 }] }, fields: ['_id'] },
    { selector: { name: { $regex: '^(m|l)' } }, fields: ['_id'] },
    { selector: { _id: { $gt: 'k' } }, sort: [{ _id: 'desc' }], limit: 3 },
  ];
  for (const query of queries) {
    // PouchDB changes the object that it gets.
    const theirs = await local.find(structuredClone(query));
    const ours = await hub.find(structuredClone(query));
    assert.ok(ours.docs.length > 0);
    const bare = ({ docs }) => {
      const all = docs.map(({ _rev, ...document }) => document);
      // Without `sort` the order is that of the chosen index.
      const text = (document) => JSON.stringify(document);
      return query.sort ? all : all.sort((one, other) => (text(one) < text(other) ? -1 : 1));
    };
    assert.deepEqual(bare(ours), bare(theirs), JSON.stringify(query));
  }
  await refused(hub.find({ selector: { name: 'fox' }, sort: ['name'] }), 400);
});

scenario('PouchDB learns which index a query uses', async (place) => {
  const hub = place.remote();
  await hub.bulkDocs(HEROES);
  await hub.createIndex({ index: { fields: ['rank'] }, ddoc: 'one' });
  await hub.createIndex({ index: { fields: ['rank'] }, ddoc: 'two', name: 'named' });
  const explain = (use_index) => hub.explain({ selector: { rank: { $gt: 5 } }, use_index });
  assert.equal((await explain(undefined)).index.ddoc, '_design/one');
  assert.equal((await explain('two')).index.ddoc, '_design/two');
  assert.equal((await explain(['two', 'named'])).index.ddoc, '_design/two');
  const { warning, docs } = await hub.find({ selector: { rank: 5 }, use_index: 'three' });
  assert.match(warning, /^_design\/three was not used/);
  assert.deepEqual(docs.map(({ _id }) => _id), ['mario']);
  const unindexed = await hub.find({ selector: { name: 'fox' } });
  assert.match(unindexed.warning, /No matching index found/);
});

scenario('nano reads the pages of a query', async (place) => {
  await place.remote().info();
  // Without `parseUrl`, the last segment of the address would be a database.
  const server = nano({ url: place.hub.base, parseUrl: false });
  const hub = server.use(place.name);
  await hub.bulk({ docs: HEROES });
  const index = { index: { fields: ['debut'] }, ddoc: 'debut', name: 'debut' };
  assert.equal((await hub.createIndex(index)).result, 'created');
  for (const [query, whole] of [
    [{ selector: { debut: { $gt: 0 } } }, 'dk mario luigi link falcon yoshi kirby fox'],
    [{ selector: { debut: { $gt: 0 } }, sort: [{ debut: 'desc' }] }, 'fox kirby yoshi falcon link luigi mario dk'],
    [{ selector: { _id: { $gt: 'f' } } }, 'falcon fox kirby link luigi mario yoshi'],
  ]) {
    const found = [];
    let bookmark;
    for (;;) {
      const page = await hub.find({ ...query, limit: 3, bookmark, execution_stats: true });
      assert.equal(page.execution_stats.results_returned, page.docs.length);
      if (page.docs.length === 0) break;
      found.push(ids(page));
      bookmark = page.bookmark;
    }
    assert.equal(found.join(' '), whole);
  }
  const listed = await server.request({ db: place.name, path: '_index' });
  assert.deepEqual(listed.indexes.map(({ name }) => name), ['_all_docs', 'debut']);
  const body = { docids: ['debut'] };
  const path = '_index/_bulk_delete';
  const removed = await server.request({ db: place.name, method: 'post', path, body });
  assert.deepEqual(removed, { success: [{ id: '_design/debut', ok: true }], fail: [] });
});

scenario('an index that is replicated to the hub is used', async (place) => {
  const [hub, local] = [place.remote(), place.local()];
  await local.bulkDocs(HEROES);
  await local.createIndex({ index: { fields: ['rank'] }, ddoc: 'rank' });
  await local.replicate.to(hub);
  const query = { selector: { rank: { $lte: 3 } }, sort: ['rank'] };
  assert.equal(ids(await hub.find(query)), 'kirby fox');
  assert.equal((await hub.explain(query)).index.ddoc, '_design/rank');
  await hub.createIndex({ index: { fields: ['series'] }, ddoc: 'series' });
  await local.replicate.from(hub);
  const names = ({ indexes }) => indexes.map(({ ddoc }) => ddoc ?? '').sort();
  assert.deepEqual(names(await local.getIndexes()), ['', '_design/rank', '_design/series']);
});

scenario('an index is there after the hub was killed', async (place) => {
  const own = await place.ownHub();
  const hub = place.remote();
  await hub.bulkDocs(HEROES);
  await hub.createIndex({ index: { fields: ['rank'] }, ddoc: 'rank' });
  const query = { selector: { rank: { $lte: 3 } }, sort: ['rank'] };
  await hub.find(query);
  await own.kill();
  await own.again();
  assert.equal(ids(await place.remote().find(query)), 'kirby fox');
});
