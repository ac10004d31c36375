// Hubs that are killed and restarted on the same port with the same data.

import assert from 'node:assert/strict';

import {
  GOES_ON, bytes, documents, edit, everything, found, pull, push, same, settle, store, until,
} from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

const PATIENCE = 10_000;

/** Kills the hub and starts it again. */
async function restart(hub) {
  await hub.kill();
  await hub.again();
}

scenario('what the hub is called stays', async (place) => {
  const hub = await place.ownHub();
  await store(place.remote(), documents(3));
  const told = async () => {
    const { uuid } = await (await fetch(`${hub.base}/`)).json();
    const { value } = await place.raw('GET', '');
    return [uuid, value.instance_start_time, value.update_seq, value.doc_count];
  };
  const before = await told();
  assert.match(before[0], /^[0-9a-f]{32}$/);
  await restart(hub);
  assert.deepEqual(await told(), before);
  const commit = await place.raw('POST', '/_ensure_full_commit', '{}');
  assert.equal(commit.status, 201);
  assert.equal(commit.value.instance_start_time, before[1]);
});

onEachAdapter('live replications go on, and read only what is new', async (place) => {
  const hub = await place.ownHub();
  const client = place.local();
  await store(place.remote(), documents(200));
  const { remote, requests } = place.watched();
  place.while(client.sync(remote, GOES_ON));
  await until('all documents', async () => (await client.info()).doc_count === 200, PATIENCE);
  await until('a checkpoint', () => requests.some(({ method, path, status }) =>
    method === 'PUT' && path.startsWith('/_local/') && status === 201));
  await until('a request that waits', () => requests.some(({ query }) => query.get('feed')));
  await hub.kill();
  const before = requests.length;
  await client.put({ _id: 'while it was away' });
  await hub.again();
  await place.remote().put({ _id: 'since it is back' });
  await until('the new one here', () => found(client, 'since it is back'), PATIENCE);
  await until('mine there', () => found(place.remote(), 'while it was away'), PATIENCE);
  const later = requests.slice(before);
  const asked = later.filter(({ path }) => path === '/_changes')
    .map(({ query }) => query.get('since'));
  assert.ok(asked.length > 0 && asked.every((since) => since !== '0'), asked.join());
  const read = later.filter(({ path }) => path === '/_bulk_get')
    .flatMap(({ body }) => JSON.parse(body).docs.map(({ id }) => id));
  assert.deepEqual([...new Set(read)], ['since it is back']);
  await until('the same on both sides', async () => {
    const [here, there] = [await everything(client), await everything(place.remote())];
    return JSON.stringify(Object.keys(here).sort()) === JSON.stringify(Object.keys(there).sort());
  });
});

onEachAdapter('nothing that was acknowledged is lost', async (place) => {
  const hub = await place.ownHub();
  await place.remote().info();
  const acknowledged = new Map();
  let stopped = false;
  const writes = async (writer) => {
    for (let count = 0; !stopped; count += 1) {
      const id = `${writer}-${count}`;
      try {
        const { rev } = await place.remote({ skip_setup: true }).put({ _id: id, count });
        acknowledged.set(id, rev);
      } catch (error) {
        if (!stopped) await new Promise((again) => setTimeout(again, 20));
      }
    }
  };
  const writers = ['a', 'b', 'c', 'd'].map(writes);
  for (const enough of [60, 120, 180]) {
    await until(`${enough} writes`, () => acknowledged.size >= enough, PATIENCE);
    await restart(hub);
  }
  stopped = true;
  await Promise.all(writers);
  const { rows } = await place.remote().allDocs();
  const stored = new Map(rows.map(({ id, value }) => [id, value.rev]));
  for (const [id, rev] of acknowledged) assert.equal(stored.get(id), rev, `${id} is lost`);
  const client = place.local();
  await pull(client, place.remote());
  await same(client, place.remote());
});

onEachAdapter('a push that the end of the hub breaks off completes', async (place) => {
  const hub = await place.ownHub();
  const client = place.local();
  await store(client, documents(1_000, () => ({ text: 'x'.repeat(2_000) })));
  await place.remote().info();
  const live = place.while(client.replicate.to(place.remote(), { ...GOES_ON, batch_size: 50 }));
  const there = async () => {
    try {
      return (await place.remote({ skip_setup: true }).info()).doc_count ?? 0;
    } catch {
      return 0;
    }
  };
  await until('some documents', async () => (await there()) >= 100, PATIENCE);
  await restart(hub);
  await until('all documents', async () => (await there()) === 1_000, PATIENCE);
  live.cancel();
  const result = await push(client, place.remote());
  assert.equal(result.docs_written, 0);
  await same(client, place.remote());
});

onEachAdapter('a pull that the end of the hub breaks off completes', async (place) => {
  const hub = await place.ownHub();
  const client = place.local();
  await store(place.remote(), documents(1_000, () => ({ text: 'x'.repeat(2_000) })));
  place.while(client.replicate.from(place.remote(), { ...GOES_ON, batch_size: 50 }));
  await until('some documents', async () => (await client.info()).doc_count >= 100, PATIENCE);
  await restart(hub);
  await until('all documents', async () => (await client.info()).doc_count === 1_000, PATIENCE);
  await same(client, place.remote());
});

scenario('attachments, conflicts, tombstones and settings are still there', async (place) => {
  const hub = await place.ownHub();
  const [one, other] = [place.local(), place.local()];
  await one.putAttachment('it', 'data', bytes(100_000), 'image/png');
  await one.put({ _id: 'gone' });
  await settle(place.remote(), one, other);
  await edit(one, 'it', { by: 'one' });
  await edit(other, 'it', { by: 'other' });
  await one.remove(await one.get('gone'));
  await settle(place.remote(), one, other);
  await place.raw('PUT', '/_revs_limit', '77');
  await place.raw('PUT', '/_local/note', '{"salt":"kept"}');
  const before = await everything(place.remote());
  await restart(hub);
  assert.deepEqual(await everything(place.remote()), before);
  const data = await place.remote().getAttachment('it', 'data');
  assert.equal(Buffer.compare(data, bytes(100_000)), 0);
  assert.equal((await place.raw('GET', '/_revs_limit')).text.trim(), '77');
  assert.equal((await place.raw('GET', '/_local/note')).value.salt, 'kept');
  await settle(place.remote(), one, other);
  await same(place.remote(), one, other);
});

scenario('a feed of changes ends with the hub, and goes on from its place', async (place) => {
  const hub = await place.ownHub();
  await store(place.remote(), documents(5));
  const { last_seq } = await place.remote().changes();
  const feed = place.while(place.remote().changes({ live: true, since: last_seq }));
  const failed = new Promise((failed) => feed.once('error', failed));
  await hub.kill();
  await failed;
  await hub.again();
  await place.remote().put({ _id: 'after' });
  const { results } = await place.remote().changes({ since: last_seq });
  assert.deepEqual(results.map(({ id }) => id), ['after']);
});

scenario('a hub that is restored from a backup is read anew', async (place) => {
  const hub = await place.ownHub();
  const client = place.local();
  await store(place.remote(), documents(10));
  await pull(client, place.remote());
  const backup = `${hub.data}/backup`;
  hub.run(['store', 'backup', backup]);
  for (let count = 0; count < 5; count += 1) await place.remote().put({ _id: `lost-${count}` });
  await pull(client, place.remote());
  await hub.kill();
  const { data, port } = hub;
  hub.data = `${data}/restored`;
  hub.run(['store', 'restore', '--from', backup]);
  await hub.again();
  hub.data = data;
  assert.equal(hub.port, port);
  for (let count = 0; count < 7; count += 1) await place.remote().put({ _id: `new-${count}` });
  await settle(place.remote(), client);
  assert.equal((await client.info()).doc_count, 22, 'the client lacks what came after the backup');
  assert.equal((await place.remote().info()).doc_count, 22, 'the hub lacks what the client had');
});
