// Concurrent edits.

import assert from 'node:assert/strict';

import { edit, found, pull, push, remove, same, settle } from './replicas.mjs';
import { onEachAdapter } from './suite.mjs';

/** Creates three replicas of a document, and applies one change to each. */
async function diverged(place, ...changes) {
  const replicas = [place.remote(), place.local(), place.local()];
  const [hub, one, other] = replicas;
  await hub.put({ _id: 'shared', text: 'at first' });
  await settle(hub, one, other);
  for (const [index, change] of changes.entries()) await change(replicas[index]);
  return replicas;
}

/** Checks that all replicas report the same winner and the same conflicts. */
async function agreed(id, ...replicas) {
  const told = [];
  for (const replica of replicas) {
    const { _rev, _conflicts } = await replica.get(id, { conflicts: true });
    // PouchDB lists conflicts of the same depth in the order of their arrival.
    told.push({ _rev, _conflicts: _conflicts?.sort().reverse() });
  }
  for (const it of told) assert.deepEqual(it, told[0]);
  return told[0];
}

const says = (text) => (replica) => edit(replica, 'shared', { text });
const deletes = (replica) => remove(replica, 'shared');

onEachAdapter('edits on two sides are a conflict with the same winner', async (place) => {
  const [hub, one, other] = await diverged(place, says('hub'), says('one'));
  await settle(hub, one, other);
  const { _conflicts } = await agreed('shared', hub, one, other);
  assert.equal(_conflicts.length, 1);
  await same(hub, one, other);
});

onEachAdapter('edits on three sides are two conflicts in the same order', async (place) => {
  const replicas = await diverged(place, says('hub'), says('one'), says('other'));
  await settle(...replicas);
  await agreed('shared', ...replicas);
  const { _rev, _conflicts } = await replicas[0].get('shared', { conflicts: true });
  assert.equal(_conflicts.length, 2);
  assert.deepEqual([_rev, ..._conflicts].sort().reverse(), [_rev, ..._conflicts]);
  await same(...replicas);
});

onEachAdapter('the longer history wins', async (place) => {
  const [hub, one, other] = await diverged(place, says('hub'), async (replica) => {
    await says('first')(replica);
    await says('second')(replica);
  });
  await settle(hub, one, other);
  const { _rev } = await agreed('shared', hub, one, other);
  assert.match(_rev, /^3-/);
  assert.equal((await hub.get('shared')).text, 'second');
});

onEachAdapter('a conflict that one side resolves is resolved everywhere', async (place) => {
  const [hub, one, other] = await diverged(place, says('hub'), says('one'));
  await settle(hub, one, other);
  const { _rev, _conflicts } = await one.get('shared', { conflicts: true });
  await one.put({ _id: 'shared', _rev, text: 'both' });
  await one.remove('shared', _conflicts[0]);
  await settle(hub, one, other);
  const agreement = await agreed('shared', hub, one, other);
  assert.equal(agreement._conflicts, undefined);
  assert.equal((await other.get('shared')).text, 'both');
  await same(hub, one, other);
});

onEachAdapter('a conflict that the hub resolves is resolved everywhere', async (place) => {
  const [hub, one, other] = await diverged(place, says('hub'), says('one'));
  await settle(hub, one, other);
  const { _rev, _conflicts } = await hub.get('shared', { conflicts: true });
  const results = await hub.bulkDocs([
    { _id: 'shared', _rev, text: 'both' },
    { _id: 'shared', _rev: _conflicts[0], _deleted: true },
  ]);
  // The request edits two leaves of one document. CouchDB accepts only the first of them.
  if (results[1].error) await hub.remove('shared', _conflicts[0]);
  await settle(hub, one, other);
  assert.equal((await agreed('shared', hub, one, other))._conflicts, undefined);
  await same(hub, one, other);
});

onEachAdapter('a conflict whose winner is deleted shows the other leaf', async (place) => {
  const [hub, one, other] = await diverged(place, says('hub'), says('one'));
  await settle(hub, one, other);
  const { _conflicts } = await agreed('shared', hub, one, other);
  await deletes(other);
  await settle(hub, one, other);
  const { _rev, _conflicts: left } = await agreed('shared', hub, one, other);
  assert.deepEqual([_rev, left], [_conflicts[0], undefined]);
  await same(hub, one, other);
});

onEachAdapter('an edit wins over a deletion, however deep that is', async (place) => {
  const [hub, one, other] = await diverged(place, says('hub'), async (replica) => {
    await says('more')(replica);
    await says('and more')(replica);
    await deletes(replica);
  });
  await settle(hub, one, other);
  const { _rev, _conflicts } = await agreed('shared', hub, one, other);
  assert.match(_rev, /^2-/);
  assert.equal(_conflicts, undefined);
  assert.equal((await one.get('shared')).text, 'hub');
  const all = await same(hub, one, other);
  assert.equal(all.shared.leaves.length, 2);
});

onEachAdapter('what both sides delete is deleted', async (place) => {
  const [hub, one, other] = await diverged(place, deletes, async (replica) => {
    await says('once more')(replica);
    await deletes(replica);
  });
  await settle(hub, one, other);
  for (const replica of [hub, one, other]) {
    assert.equal(await found(replica, 'shared'), undefined);
  }
  const all = await same(hub, one, other);
  assert.equal(all.shared.isDeleted, true);
});

onEachAdapter('what one side deletes and the other makes again stays', async (place) => {
  const [hub, one, other] = await diverged(place, deletes, async (replica) => {
    await deletes(replica);
    await replica.put({ _id: 'shared', text: 'again' });
  });
  await settle(hub, one, other);
  assert.equal((await hub.get('shared')).text, 'again');
  await agreed('shared', hub, one, other);
  await same(hub, one, other);
});

onEachAdapter('documents that were made on both sides are a conflict', async (place) => {
  const [hub, one, other] = [place.remote(), place.local(), place.local()];
  await one.put({ _id: 'met', by: 'one' });
  await other.put({ _id: 'met', by: 'other' });
  await settle(hub, one, other);
  const { _rev, _conflicts } = await agreed('met', hub, one, other);
  assert.match(_rev, /^1-/);
  assert.equal(_conflicts.length, 1);
  await same(hub, one, other);
});

onEachAdapter('the same made by two databases of the hub is no conflict', async (place) => {
  const hub = place.remote();
  const one = { _id: 'met', text: 'the same', list: [1, { two: 2 }] };
  const { rev } = await hub.put(one);
  place.name += '-other';
  const other = place.remote();
  const made = await other.put({ list: [1, { two: 2 }], text: 'the same', _id: 'met' });
  assert.equal(made.rev, rev);
  await pull(other, hub);
  assert.equal((await other.get('met', { conflicts: true }))._conflicts, undefined);
});

onEachAdapter('a losing leaf can be edited, and win', async (place) => {
  const [hub, one, other] = await diverged(place, says('hub'), says('one'));
  await settle(hub, one, other);
  const { _conflicts } = await agreed('shared', hub, one, other);
  const { rev } = await hub.put({ _id: 'shared', _rev: _conflicts[0], text: 'now it wins' });
  await settle(hub, one, other);
  assert.equal((await agreed('shared', hub, one, other))._rev, rev);
  await same(hub, one, other);
});

onEachAdapter('a leaf that came late finds its place below what is known', async (place) => {
  const [hub, one, other] = await diverged(place, async () => {}, says('one'), says('other'));
  await push(one, hub);
  await says('one again')(one);
  await push(other, hub);
  await push(one, hub);
  await settle(hub, one, other);
  const all = await same(hub, one, other);
  assert.deepEqual(all.shared.leaves.map(({ _rev }) => _rev.split('-')[0]), ['2', '3']);
});

onEachAdapter('twenty conflicts of one document', async (place) => {
  const [hub, reader] = [place.remote(), place.local()];
  await hub.put({ _id: 'shared', text: 'at first' });
  for (let count = 0; count < 20; count += 1) {
    const writer = place.local({ adapter: 'memory' });
    await pull(writer, hub, { checkpoint: false, since: 0 });
    const [{ ok }] = await writer.get('shared', { open_revs: 'all' });
    await writer.put({ ...ok, text: `of ${count}` });
    await writer.bulkDocs([{
      _id: 'shared', _rev: `2-${String(count).padStart(32, '0')}`, text: `beside ${count}`,
      _revisions: { start: 2, ids: [String(count).padStart(32, '0'), ok._rev.split('-')[1]] },
    }], { new_edits: false });
    await push(writer, hub, { checkpoint: false, since: 0 });
  }
  await settle(hub, reader);
  const { _conflicts } = await agreed('shared', hub, reader);
  assert.ok(_conflicts.length >= 19, `${_conflicts.length}`);
  await same(hub, reader);
});
