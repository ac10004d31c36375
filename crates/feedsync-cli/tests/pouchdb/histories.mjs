// Documents with long histories.

import assert from 'node:assert/strict';

import { bytes, edit, pull, push, same, settle } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

/** Edits a document `count` times. */
async function often(database, id, count, by) {
  let { _rev } = await database.get(id).catch(() => ({}));
  for (let edits = 0; edits < count; edits += 1) {
    ({ rev: _rev } = await database.put({ _id: id, _rev, edits, by }));
  }
  return _rev;
}

onEachAdapter('twelve hundred edits by a client', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const rev = await often(one, 'deep', 1_200);
  await settle(hub, one, other);
  const told = await hub.get('deep', { revs: true });
  assert.equal(told._rev, rev);
  assert.equal(told._revisions.start, 1_200);
  assert.equal(told._revisions.ids.length, 1_000);
  await edit(other, 'deep', { by: 'other' });
  await edit(other, 'deep', { by: 'other again' });
  await settle(hub, one, other);
  const { _rev, _conflicts } = await one.get('deep', { conflicts: true });
  assert.match(_rev, /^1202-/);
  assert.equal(_conflicts, undefined);
  await same(hub, one, other);
});

scenario('twelve hundred edits through the hub', async (place) => {
  const [hub, client] = [place.remote(), place.local()];
  await often(hub, 'deep', 20);
  await pull(client, hub);
  const rev = await often(hub, 'deep', 1_180);
  const { _revisions } = await hub.get('deep', { revs: true });
  assert.deepEqual([_revisions.start, _revisions.ids.length], [1_200, 1_000]);
  await pull(client, hub);
  assert.equal((await client.get('deep'))._rev, rev);
  assert.equal((await client.get('deep', { conflicts: true }))._conflicts?.length, 1,
    'what a client has that is older than what is kept of the history stands beside it');
});

scenario('a hub that keeps little of histories tells as much', async (place) => {
  const [hub, client] = [place.remote(), place.local()];
  await hub.put({ _id: 'short' });
  assert.deepEqual((await place.raw('PUT', '/_revs_limit', '5')).value, { ok: true });
  assert.equal((await place.raw('GET', '/_revs_limit')).text.trim(), '5');
  await often(hub, 'short', 20);
  const { _revisions } = await hub.get('short', { revs: true });
  assert.deepEqual([_revisions.start, _revisions.ids.length], [21, 5]);
  await pull(client, hub);
  await often(client, 'short', 3);
  await push(client, hub);
  const there = await hub.get('short', { conflicts: true, revs: true });
  assert.equal(there._conflicts, undefined);
  assert.deepEqual([there._revisions.start, there._revisions.ids.length], [24, 5]);
  assert.equal(there._rev, (await client.get('short'))._rev);
});

onEachAdapter('a client that keeps little of histories', async (place) => {
  const [little, much, hub] = [place.local({ revs_limit: 3 }), place.local(), place.remote()];
  await often(little, 'short', 3);
  await settle(hub, little, much);
  for (let round = 0; round < 5; round += 1) {
    await often(little, 'short', 2);
    await settle(hub, little, much);
  }
  const { _revisions, _conflicts } = await hub.get('short', { revs: true, conflicts: true });
  assert.equal(_conflicts, undefined);
  assert.deepEqual([_revisions.start, _revisions.ids.length], [13, 13]);
  assert.equal((await little.get('short'))._rev, (await much.get('short'))._rev);
});

scenario('stemmed histories that have nothing in common stand side by side', async (place) => {
  const [hub, client] = [place.remote(), place.local()];
  await place.raw('PUT', '');
  await place.raw('PUT', '/_revs_limit', '2');
  await often(hub, 'apart', 2);
  await pull(client, hub);
  await often(hub, 'apart', 10);
  await often(client, 'apart', 4);
  await settle(hub, client);
  const [there, here] = [await hub.get('apart', { conflicts: true }),
    await client.get('apart', { conflicts: true })];
  assert.equal(there._rev, here._rev);
  assert.deepEqual(there._conflicts, here._conflicts);
  assert.match(there._rev, /^12-/);
});

onEachAdapter('branches of a deep history are told apart', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  await often(hub, 'forked', 50);
  await settle(hub, one, other);
  await often(one, 'forked', 30, 'one');
  await often(other, 'forked', 31, 'other');
  await settle(hub, one, other);
  const all = await same(hub, one, other);
  const [first, second] = all.forked.leaves;
  assert.deepEqual([first._revisions.start, second._revisions.start], [80, 81]);
  const common = first._revisions.ids.filter((id) => second._revisions.ids.includes(id));
  assert.equal(common.length, 50);
});

onEachAdapter('compaction of both sides leaves what is known', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  const rev = await often(client, 'edited', 30);
  await push(client, hub);
  await often(hub, 'edited', 30);
  assert.deepEqual(await hub.compact(), { ok: true });
  await client.compact();
  await settle(hub, client);
  assert.equal((await client.get('edited')).edits, 29);
  const { _revs_info } = await hub.get('edited', { revs_info: true });
  assert.equal(_revs_info.length, 60);
  assert.equal(_revs_info[0].status, 'available');
  assert.ok(_revs_info.some((info) => info.rev === rev));
  await same(hub, client);
});

scenario('compaction gives back the space of what was edited away and deleted', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  for (let round = 0; round < 40; round += 1) {
    const text = bytes(50_000, round).toString('base64');
    const { _rev } = await hub.get('edited').catch(() => ({}));
    await hub.put({ _id: 'edited', _rev, text });
  }
  const { id, rev } = await hub.putAttachment('gone', 'data', bytes(1 << 20), 'image/png');
  await hub.remove(id, rev);
  const before = (await hub.info()).sizes.file;
  await hub.compact();
  const after = (await hub.info()).sizes.file;
  assert.ok(after < before / 2, `${before} bytes, then ${after}`);
  await pull(client, hub);
  await same(client, hub);
});
