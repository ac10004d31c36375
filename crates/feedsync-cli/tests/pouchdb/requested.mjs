// Replications that clients request from the hub (`_replicate`), by nano.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { until } from './replicas.mjs';
import { modules, scenario } from './suite.mjs';

const require = createRequire(join(modules, 'package.json'));
const nano = require('nano');

const notes = (count) => Array.from({ length: count }, (_, at) => ({ _id: `note-${at}`, at }));

scenario('nano lets the hub replicate once', async (place) => {
  const hub = place.remote();
  await hub.bulkDocs(notes(7));
  const server = nano({ url: place.hub.base, parseUrl: false });
  const copy = `${place.name}-copy`;
  const report = await server.db.replicate(place.name, copy, { create_target: true });
  assert.deepEqual([report.ok, report.history[0].docs_written], [true, 7]);
  assert.equal((await server.use(copy).info()).doc_count, 7);
  assert.equal((await server.db.replicate(place.name, copy)).no_changes, true);
  await assert.rejects(server.db.replicate('none', copy), { statusCode: 404 });
});

scenario('nano lets the hub follow a database by its address', async (place) => {
  const hub = place.remote();
  await hub.bulkDocs(notes(3));
  const server = nano({ url: place.hub.base, parseUrl: false });
  const copy = `${place.name}-followed`;
  const options = { create_target: true, continuous: true };
  const { _local_id: id } = await server.db.replicate(place.address, copy, options);
  // nano names databases by their addresses, so this one is created after the response.
  const count = async () => (await server.use(copy).info().catch(() => ({}))).doc_count;
  await until('three notes', async () => (await count()) === 3);
  await hub.put({ _id: 'late' });
  await until('four notes', async () => (await count()) === 4);
  const tasks = await server.request({ path: '_active_tasks' });
  assert.ok(tasks.some((task) => task.replication_id === id), JSON.stringify(tasks));
  const cancelled = { replication_id: id, cancel: true };
  const ended = await server.request({ method: 'post', path: '_replicate', body: cancelled });
  assert.equal(ended.ok, true);
  const left = await server.request({ path: '_active_tasks' });
  assert.ok(!left.some((task) => task.replication_id === id));
});
