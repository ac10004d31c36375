// Requests of a client that synchronises notes: notes and their chunks, long polling, and requests through a proxy.

import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';

import { bytes, documents } from './replicas.mjs';
import { scenario } from './suite.mjs';
import { Device, NOTES, VERSION, connected, hubWithUsers, most } from './vault.mjs';

scenario('a vault below a prefix of a proxy, which passes on what it gets', async (place) => {
  await hubWithUsers(place);
  const proxy = createServer((asked, answer) => {
    const path = asked.url.replace(/^\/my\/notes/, '/couch');
    const { host, ...headers } = asked.headers;
    const { method } = asked;
    const to = request(`http://127.0.0.1:${place.hub.port}${path}`, { method, headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      got.pipe(answer);
    });
    answer.once('close', () => to.destroy());
    to.on('error', () => answer.destroy());
    asked.pipe(to);
  });
  await new Promise((listens) => proxy.listen(0, '127.0.0.1', listens));
  place.while({ cancel: () => (proxy.closeAllConnections(), proxy.close()) });
  const server = `http://127.0.0.1:${proxy.address().port}/my/notes`;
  const url = `${server}/${place.name}`;
  const device = new Device(place, { url });
  await device.connect();
  const first = await (await device.fetch(`${server}/`)).json();
  assert.match(first.uuid, /^[0-9a-f]{32}$/);
  await device.write('note.md', 'text');
  await device.sync();
  assert.equal((await device.ask('GET', '/')).value.db_name, place.name);
  const began = Date.now();
  const feed = await device.fetch(`${url}/_changes?feed=longpoll&since=now&heartbeat=300`);
  let beats = 0;
  for await (const part of feed.body) {
    beats += Buffer.from(part).toString() === '\n' ? 1 : 0;
    if (beats === 3) break;
  }
  assert.ok(Date.now() - began < 3_000, 'heartbeats come as they are sent');
});

scenario('chunks with odd ids are written, found and read by the hundred', async (place) => {
  const device = await connected(place);
  const ids = Array.from({ length: 300 }, (_, number) => `h:+${(number + 40_000).toString(36)}`);
  const docs = ids.map((_id) => ({ _id, _rev: '1-a', type: 'leaf', data: _id }));
  await device.ask('POST', '/_bulk_docs', { docs, new_edits: false });
  // Another device sends the same chunks, with the same revision and with another one.
  const again = [docs[0], { ...docs[1], _rev: '1-b' }];
  assert.equal((await device.ask('POST', '/_bulk_docs', { docs: again, new_edits: false })).text.trim(), '[]');
  const read = await Promise.all(ids.slice(0, 200).map((id) =>
    device.ask('GET', `/${encodeURIComponent(id)}`)));
  assert.deepEqual(read.map(({ value }) => value.data), ids.slice(0, 200));
  const { value } = await device.ask('POST', '/_all_docs', { keys: ids.slice(0, 250) });
  assert.deepEqual(value.rows.map(({ id }) => id), ids.slice(0, 250));
  // Query of the plugin at each start.
  const badly = async () => Promise.all([{ $lt: 'h:' }, { $gt: 'h;' }].map(async (_id) => {
    const { status, value: told } = await device.ask('POST', '/_find', { selector: { _id, type: 'leaf' } });
    assert.equal(status, 200);
    return told.docs.length;
  }));
  assert.deepEqual(await badly(), [0, 0]);
  for (const id of ['a', 'x']) await device.remote.put({ _id: id, type: 'leaf' });
  assert.deepEqual(await badly(), [1, 1]);
  // A note with the member `deleted` is an ordinary document.
  await device.remote.put({ _id: 'note.md', type: 'plain', deleted: true });
  assert.equal((await device.remote.get('note.md')).deleted, true);
  assert.equal((await device.remote.info()).doc_del_count, 0);
});

scenario('notes are told of without their chunks, and what waits hears of notes alone', async (place) => {
  const device = await connected(place);
  await device.ask('PUT', '/leaf', { type: 'leaf' });
  await device.ask('PUT', '/plain', { type: 'plain' });
  await device.ask('PUT', '/untyped', {});
  const common = 'style=all_docs&filter=_selector';
  const changes = (query) => device.ask('POST', `/_changes?${common}&${query}`, { selector: NOTES });
  const { headers, value } = await changes('since=0&limit=25');
  assert.deepEqual(value.results.map(({ id }) => id), [VERSION, 'plain', 'untyped']);
  assert.equal(headers.get('etag'), null);
  assert.match(headers.get('cache-control'), /must-revalidate|no-store/);
  assert.match(value.last_seq, /^\d+-/);
  const part = (await changes('since=0&limit=1')).value;
  assert.deepEqual([part.results.length, part.pending], [1, 3], 'what is passed over is pending, too');
  const waits = changes(`since=${value.last_seq}&limit=25&feed=longpoll&heartbeat=30000`);
  await device.ask('PUT', '/leaf-2', { type: 'leaf' });
  await device.ask('PUT', '/plain-2', { type: 'plain' });
  assert.deepEqual((await waits).value.results.map(({ id }) => id), ['plain-2']);
  // Old versions filter by a function in a design document.
  const filters = { pull: 'function (doc) { return doc.type !== "leaf"; }' };
  await device.remote.put({ _id: '_design/replicate', filters });
  const filtered = await device.ask('GET', '/_changes?filter=replicate/pull');
  const seen = filtered.value.results.map(({ id }) => id).sort();
  assert.deepEqual(seen, ['_design/replicate', VERSION, 'plain', 'plain-2', 'untyped'].sort());
});

scenario('without bulk reads, documents are asked for one by one', async (place) => {
  const one = await connected(place);
  await one.write('note.md', 'text'.repeat(500));
  await one.push();
  const other = new Device(place);
  const send = other.fetch;
  other.fetch = (url, init) => /_bulk_get/.test(url)
    ? Promise.resolve(new Response('{"error":"bad_request"}', { status: 400 }))
    : send.call(other, url, init);
  await other.pull({});
  const single = other.requests.filter(({ url }) => /open_revs=\["/.test(url));
  assert.equal(single.length, (await one.local.info()).doc_count + 1);
  assert.equal(await other.read('note.md'), 'text'.repeat(500));
});

scenario('a document of fifty megabytes, and large bodies one after the other', async (place) => {
  const device = await connected(place);
  const data = 'x'.repeat(50_000_000);
  assert.equal((await device.ask('PUT', '/h%3Alarge', { type: 'leaf', data })).status, 201);
  const read = await device.ask('GET', '/h%3Alarge');
  assert.ok(read.value.data === data);
  await place.hub.kill();
  await place.hub.again();
  const picture = bytes(300_000).toString('base64').repeat(10).slice(0, 4 << 20);
  await Promise.all(Array.from({ length: 6 }, async (_, of) => {
    const chunk = { _rev: '1-a', type: 'leaf', data: picture };
    const docs = documents(6).map(({ _id }) => ({ ...chunk, _id: `h:${of}-${_id}` }));
    const { status } = await device.ask('POST', '/_bulk_docs', { docs, new_edits: false });
    assert.equal(status, 201);
  }));
  assert.ok(most(place.hub) < 280, `144 MiB were taken in with ${most(place.hub)} MiB`);
});
