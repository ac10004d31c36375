// Continuous replications.

import assert from 'node:assert/strict';

import {
  GOES_ON, SOON, documents, edit, event, found, remove, same, settle, store, until,
} from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

/** Starts a continuous replication of a client in both directions. */
function follow(place, client, hub) {
  return place.while(client.sync(hub, GOES_ON));
}

onEachAdapter('what the hub gets is soon at the client', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  const live = follow(place, client, hub);
  await event(live, 'paused');
  const began = Date.now();
  await hub.put({ _id: 'news' });
  await until('the news at the client', () => found(client, 'news'));
  assert.ok(Date.now() - began < SOON);
  await edit(hub, 'news', { edited: true });
  await until('the edit', async () => (await client.get('news')).edited);
  await remove(hub, 'news');
  await until('the deletion', async () => !(await found(client, 'news')));
});

onEachAdapter('what the client gets is soon at the hub', async (place) => {
  const [client, hub] = [place.local(), place.remote()];
  const live = follow(place, client, hub);
  await event(live, 'paused');
  await client.put({ _id: 'news' });
  await until('the news at the hub', () => found(hub, 'news'));
  await edit(client, 'news', { edited: true });
  await until('the edit', async () => (await hub.get('news')).edited);
  await remove(client, 'news');
  await until('the deletion', async () => !(await found(hub, 'news')));
});

onEachAdapter('two clients live at once, and a third reads', async (place) => {
  const [one, other, third, hub] = [place.local(), place.local(), place.local(), place.remote()];
  follow(place, one, hub);
  follow(place, other, place.remote());
  place.while(third.replicate.from(place.remote(), GOES_ON));
  await Promise.all([
    store(one, documents(40, () => ({ from: 'one' }))),
    store(other, documents(40).map((it) => ({ ...it, _id: `other-${it._id}` }))),
  ]);
  const has = (count) => async (it) => (await it.info()).doc_count === count;
  for (const it of [one, other, third, hub]) {
    await until('eighty documents', () => has(80)(it));
  }
  await same(hub, one, other, third);
});

onEachAdapter('two clients answer one another through the hub', async (place) => {
  const [one, other] = [place.local(), place.local()];
  await one.put({ _id: 'ball', count: 0 });
  await settle(place.remote(), one, other);
  follow(place, one, place.remote());
  follow(place, other, place.remote());
  for (let count = 1; count <= 10; count += 1) {
    const [from, to] = count % 2 ? [one, other] : [other, one];
    await edit(from, 'ball', { count });
    await until(`the ball back, ${count}`, async () => (await to.get('ball')).count === count);
  }
  const { _conflicts, _rev } = await place.remote().get('ball', { conflicts: true });
  assert.equal(_conflicts, undefined);
  assert.match(_rev, /^11-/);
});

scenario('live replications that have nothing to do ask for nothing', async (place) => {
  const client = place.local();
  const { remote, requests } = place.watched();
  await client.put({ _id: 'only' });
  const live = place.while(client.sync(remote, GOES_ON));
  await until('the document at the hub', () => found(place.remote(), 'only'));
  const waiting = () => requests.filter(({ query }) => query.get('feed') === 'longpoll').length;
  await until('a request that waits', () => waiting() >= 1);
  await edit(client, 'only', { edited: true });
  await until('the edit', async () => (await place.remote().get('only')).edited);
  let before;
  // The client is idle when the number of requests does not grow.
  await until('quiet', async () => {
    before = requests.length;
    await new Promise((later) => setTimeout(later, 500));
    return requests.length === before;
  });
  assert.ok(before < 60, requests.map((it) => `${it.method} ${it.path}?${it.query}`).join('\n'));
  live.cancel();
});

scenario('a live replication is cancelled, and its waiting request goes', async (place) => {
  const client = place.local();
  const live = follow(place, client, place.remote());
  await event(live, 'paused');
  live.cancel();
  await until('both sides to end', () => live.canceled && live.pull.state !== 'active');
  await place.remote().put({ _id: 'later' });
  const again = await client.sync(place.remote());
  assert.equal(again.pull.docs_written, 1);
});

scenario('forty live clients of one hub', async (place) => {
  const clients = Array.from({ length: 40 }, () => place.local());
  for (const client of clients) place.while(client.replicate.from(place.remote(), GOES_ON));
  await place.remote().put({ _id: 'for all' });
  for (const client of clients) await until('it at all', () => found(client, 'for all'), 15_000);
});

scenario('a live replication goes on in a database that was made again', async (place) => {
  const client = place.local();
  await place.remote().put({ _id: 'before' });
  follow(place, client, place.remote());
  await until('what was before', () => found(client, 'before'));
  // A client that deletes a database would end its other activities on it, so this is a plain request.
  await place.raw('DELETE', '');
  await place.remote().put({ _id: 'after' });
  await until('what came after', () => found(client, 'after'), 10_000);
  await client.put({ _id: 'mine' });
  await until('mine', () => found(place.remote(), 'mine'), 10_000);
});

onEachAdapter('replicas that are edited while they replicate come together', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const lives = [follow(place, one, hub), follow(place, other, place.remote())];
  for (let round = 0; round < 10; round += 1) {
    await Promise.all([one, other, hub].map((it, index) =>
      it.put({ _id: `shared-${round}`, of: index }).catch(({ status }) => {
        assert.equal(status, 409);
      })));
  }
  const rounds = async (it) => (await it.info()).doc_count === 10;
  for (const it of [one, other, hub]) await until('ten documents', () => rounds(it));
  for (const live of lives) live.cancel();
  await settle(place.remote(), one, other);
  await same(place.remote(), one, other);
});
