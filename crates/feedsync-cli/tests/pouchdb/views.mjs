// Views: PouchDB and nano as clients of the hub's database.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { refused } from './replicas.mjs';
import { modules, scenario } from './suite.mjs';

const require = createRequire(join(modules, 'package.json'));
const nano = require('nano');

const DESIGN = {
  _id: '_design/sales',
  views: {
    // The functions are texts for the hub and for PouchDB.
    'by-day': {
      map: 'function (doc) { if (doc.day) emit([doc.shop, doc.day, doc.hour], doc.sum); }',
      reduce: '_sum',
    },
    'by-sum': { map: 'function (doc) { if (doc.sum) emit(doc.sum, { _id: doc.shop }); }' },
    count: { map: 'function (doc) { emit(doc.shop, 1); if (doc.sum > 15) emit("large", 1); }', reduce: '_count' },
    stats: { map: 'function (doc) { if (doc.sum) emit(doc.shop, doc.sum); }', reduce: '_stats' },
    longest: {
      map: 'function (doc) { emit(null, doc._id); }',
      reduce: 'function (keys, values) { return values.reduce(function (a, b) { return b.length > a.length || (b.length === a.length && b > a) ? b : a; }); }',
    },
    words: { map: 'function (doc) { (doc.text || "").split(" ").forEach(function (word) { emit(word); }); }' },
    throwing: { map: 'function (doc) { emit(doc.deep.deeper.x); }' },
  },
};

function sales() {
  const all = [{ _id: 'north', text: 'in the north a b' }, { _id: 'south', text: 'in the south' }];
  for (let number = 0; number < 150; number += 1) {
    all.push({
      _id: `sale${number}`,
      shop: number % 3 ? 'north' : 'south',
      day: 1 + (number % 7),
      hour: number % 12,
      sum: (number * 7) % 19,
    });
  }
  return all;
}

const QUERIES = {
  'by-day': [
    {},
    { group: true },
    { group_level: 1 },
    { group_level: 2, descending: true, limit: 5, skip: 1 },
    { startkey: ['north', 3], endkey: ['south', 2, {}] },
    { startkey: ['north', 3], endkey: ['south', 2, {}], group_level: 2 },
    { reduce: false, startkey: ['south'], limit: 10, include_docs: true },
    { reduce: false, key: ['north', 2, 1] },
    { keys: [['north', 2, 1], ['none'], ['south', 1, 0]], group: true },
  ],
  'by-sum': [
    {},
    { descending: true, limit: 7, skip: 3 },
    { startkey: 5, endkey: 9, inclusive_end: false },
    { keys: [3, 18, 3, 'x', 1] },
    { key: 4, include_docs: true },
  ],
  count: [{ group: true }, { reduce: false, startkey: 'm', endkey: 'p' }, { limit: 0 }, { skip: 1 }],
  stats: [{}, { group: true }],
  longest: [{}],
  words: [{}, { startkey: 'a', endkey: 'in' }, { key: '' }, { descending: true, startkey: 'the' }],
  throwing: [{}],
};

/** Compares results of all queries of two databases. */
async function compare(hub, local) {
  // PouchDB reports exceptions of map functions here, too.
  if (local.listenerCount('error') === 0) local.on('error', () => {});
  for (const [view, queries] of Object.entries(QUERIES)) {
    for (const query of queries) {
      const theirs = await local.query(`sales/${view}`, query);
      const ours = await hub.query(`sales/${view}`, query);
      const bare = ({ rows }) => rows.map(({ doc, ...row }) => ({ ...row, doc: doc?._id }));
      assert.deepEqual(bare(ours), bare(theirs), `${view} ${JSON.stringify(query)}`);
      if (theirs.total_rows !== undefined) assert.equal(ours.total_rows, theirs.total_rows);
    }
  }
}

scenario('views have the rows of PouchDB’s own views, also after changes', async (place) => {
  const [hub, local] = [place.remote(), place.local()];
  for (const database of [hub, local]) {
    await database.bulkDocs(sales());
    await database.put(DESIGN);
  }
  await compare(hub, local);
  for (const database of [hub, local]) {
    for (const id of ['sale3', 'sale77', 'north']) await database.remove(await database.get(id));
    const changed = await database.get('sale20');
    await database.put({ ...changed, shop: 'west', sum: 1e3 });
    await database.put({ _id: 'a new one', text: 'a a b', shop: 'west' });
  }
  await compare(hub, local);
});

scenario('a view that is replicated to the hub takes effect, and its rows follow replication', async (place) => {
  const [hub, local] = [place.remote(), place.local()];
  await local.bulkDocs(sales());
  await local.put(DESIGN);
  await local.replicate.to(hub);
  await compare(hub, local);
  await local.put({ _id: 'late', shop: 'east', day: 9, hour: 9, sum: 9 });
  await local.replicate.to(hub);
  await compare(hub, local);
  // Another version of the design document has rows of its own.
  const { _rev } = await local.get('_design/sales');
  const views = { ...DESIGN.views, 'by-sum': { map: 'function (doc) { emit(-doc.sum); }' } };
  await local.put({ ...DESIGN, _rev, views });
  await local.replicate.to(hub);
  const { rows } = await hub.query('sales/by-sum', { limit: 1 });
  assert.equal(rows[0].key, null);
  assert.equal((await hub.query('sales/by-sum', { endkey: -18 })).rows.at(-1).key, -18);
});

scenario('rows of a view are there after the hub was killed', async (place) => {
  const own = await place.ownHub();
  const [hub, local] = [place.remote(), place.local()];
  for (const database of [hub, local]) {
    await database.bulkDocs(sales());
    await database.put(DESIGN);
  }
  await hub.query('sales/by-day');
  await own.kill();
  await own.again();
  await compare(place.remote(), local);
});

scenario('nano reads views, and invalid requests are refused as by CouchDB', async (place) => {
  await place.remote().info();
  const server = nano({ url: place.hub.base, parseUrl: false });
  const hub = server.use(place.name);
  await hub.bulk({ docs: [...sales(), DESIGN] });
  const { total_rows, offset, rows } = await hub.view('sales', 'by-sum', { startkey: 17, limit: 2 });
  assert.deepEqual([total_rows, offset, rows.map(({ key }) => key)], [142, 126, [17, 17]]);
  assert.deepEqual((await hub.view('sales', 'count')).rows, [{ key: null, value: 176 }]);
  const queries = { queries: [{ limit: 1 }, { key: 18 }] };
  const path = '_design/sales/_view/by-sum/queries';
  const { results } = await server.request({ db: place.name, method: 'post', path, body: queries });
  assert.deepEqual(results.map((result) => result.rows.length), [1, 8]);
  const pages = hub.viewAsStream('sales', 'words');
  let text = '';
  for await (const piece of pages) text += piece;
  assert.equal(JSON.parse(text).total_rows, JSON.parse(text).rows.length);
  const info = await server.request({ db: place.name, path: '_design/sales/_info' });
  assert.deepEqual([info.name, info.view_index.updates_pending.total], ['sales', 0]);
  const cleaned = await server.request({ db: place.name, method: 'post', path: '_view_cleanup', body: {} });
  assert.deepEqual(cleaned, { ok: true });
  const remote = place.remote();
  // PouchDB itself compares strings by code units, and CouchDB by the collation of Unicode.
  await hub.insert({ text: 'b Z ä a B z' });
  const words = (await hub.view('sales', 'words', { startkey: 'a', endkey: 'c' })).rows;
  assert.equal(words.map(({ key }) => key).join(' '), 'a a ä b b B');
  await refused(remote.query('sales/none'), 404);
  await refused(remote.query('none/none'), 404);
  await refused(remote.query('sales/by-sum', { reduce: true }), 400);
  await refused(remote.query('sales/by-sum', { startkey: 2, endkey: 1 }), 400);
  await refused(remote.query('sales/by-day', { keys: [1, 2] }), 400);
  await remote.put({ _id: '_design/faulty', views: { v: { map: 'function (' } } });
  await refused(remote.query('faulty/v'), 500);
});
