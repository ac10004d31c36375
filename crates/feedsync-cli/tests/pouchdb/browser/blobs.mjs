// Attachments as blobs in browsers.

import assert from 'node:assert/strict';

import { found, noise, pull, push, same, settle } from './replicas.mjs';
import { onEachAdapter } from './suite.mjs';

function blob(length, seed, type = 'image/png') {
  return new Blob([noise(length, seed)], { type });
}

/** Checks that an attachment equals this blob in all databases. */
async function has(expected, id, name, ...databases) {
  const bytes = async (data) => new Uint8Array(await data.arrayBuffer()).join();
  for (const database of databases) {
    const data = await database.getAttachment(id, name);
    assert.ok(data instanceof Blob, name);
    assert.deepEqual([data.type, data.size], [expected.type, expected.size], name);
    assert.equal(await bytes(data), await bytes(expected), name);
  }
}

onEachAdapter('a blob goes to the hub', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  const photo = blob(50_000, 1);
  await client.putAttachment('it', 'photo', photo, photo.type);
  await push(client, hub);
  await has(photo, 'it', 'photo', client, hub);
  await same(hub, client);
});

onEachAdapter('a blob comes from the hub', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  const photo = blob(50_000, 2);
  await hub.putAttachment('it', 'photo', photo, photo.type);
  await pull(client, hub);
  await has(photo, 'it', 'photo', client, hub);
  await same(hub, client);
});

onEachAdapter('large, empty and oddly named blobs go there and back', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const all = {
    large: blob(1 << 20, 3),
    empty: blob(0, 4),
    'Grüße, 世界.txt': new Blob(['Grüße'], { type: 'text/plain' }),
    'folder/100% +?#': blob(10, 5, 'application/octet-stream'),
  };
  const _attachments = Object.fromEntries(Object.entries(all).map(([name, data]) =>
    [name, { content_type: data.type, data }]));
  await one.put({ _id: 'many', _attachments });
  await settle(hub, one, other);
  for (const [name, data] of Object.entries(all)) await has(data, 'many', name, hub, one, other);
  await same(hub, one, other);
});

onEachAdapter('a blob stays, is replaced and is removed', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const [first, second] = [blob(9_000, 6), blob(9_000, 7, 'image/jpeg')];
  for (const name of ['stays', 'replaced', 'removed']) {
    const { _rev } = (await found(one, 'it')) ?? {};
    await one.putAttachment('it', name, _rev, first, first.type);
  }
  await settle(hub, one, other);
  const { rev } = await other.putAttachment('it', 'replaced', (await other.get('it'))._rev, second,
    second.type);
  await other.removeAttachment('it', 'removed', rev);
  await settle(hub, one, other);
  await has(first, 'it', 'stays', hub, one, other);
  await has(second, 'it', 'replaced', hub, one, other);
  assert.deepEqual(Object.keys((await one.get('it'))._attachments).sort(), ['replaced', 'stays']);
  await same(hub, one, other);
});

onEachAdapter('leaves in conflict keep the blobs that each has', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await one.put({ _id: 'it' });
  await settle(hub, one, other);
  const blobs = { 'of one': blob(3_000, 8), 'of other': blob(3_000, 9) };
  for (const [replica, name] of [[one, 'of one'], [other, 'of other']]) {
    const { _rev } = await replica.get('it');
    await replica.putAttachment('it', name, _rev, blobs[name], 'image/png');
  }
  await settle(hub, one, other);
  const { it } = await same(hub, one, other);
  assert.deepEqual(it.leaves.flatMap(({ _attachments }) => Object.keys(_attachments)).sort(),
    ['of one', 'of other']);
});
