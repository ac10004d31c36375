// A hub that is killed repeatedly while clients use it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import { Reader, Writer } from './direct.mjs';
import {
  GOES_ON, anything, dice, documents, isAway, listed, pull, push, same, until,
} from './replicas.mjs';
import { ADAPTERS, scenario } from './suite.mjs';

const KILLS = process.env.FEEDSYNC_LONG === undefined ? 20 : 100;
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));

/** Maximum time in milliseconds until idle replicas are equal. */
const LULL = 10_000;

/** Ids of the documents that all clients edit, so that conflicts arise. */
const IDS = documents(40).map(({ _id }) => _id);

const NAME = `nothing is lost while a hub is killed ${KILLS} times, SEED=${SEED}`;

scenario(NAME, async (place) => {
  const hub = await place.ownHub();
  await place.remote().info();
  const clients = ADAPTERS.map((adapter) => place.local({ adapter }));
  const lives = clients.map((client) => place.while(client.sync(place.remote(), GOES_ON)));
  const readers = ['longpoll', 'continuous'].map((feed) => place.while(new Reader(place, feed)));
  const seeds = dice(SEED);
  const roll = () => dice(seeds(2 ** 32));
  const replicas = [...clients, place.remote({ skip_setup: true })];
  const editors = replicas.map((replica, number) => new Editor(replica, number, roll()));
  const writers = ['one', 'other'].map((name) => new Writer(place, name, roll()));
  const working = place.while({ cancel() { this.isOver = true; } });
  await Promise.all([
    // The last kill comes after all clients have stopped.
    kill(place, KILLS - 1, roll(), working).finally(() => working.cancel()),
    ...[...editors, ...writers].map((it) => it.work(working)),
  ]);

  const leaves = await quiet(place, clients);
  await hub.kill();
  await hub.again();
  assert.equal(await leavesOf(place.remote()), leaves);
  for (const live of lives) live.cancel();
  const made = [...editors, ...writers].map((it) => it.made);
  console.log(`# acknowledged by clients and hub: ${made.map(({ length }) => length).join(', ')}`);
  for (const { length } of made) assert.ok(length > KILLS / 2, 'somebody wrote too little');
  await has(place.remote(), made.flat());
  for (const client of clients) await isComplete(place, client);
  const all = await same(place.remote(), ...clients);
  for (const replica of [place.remote(), ...clients]) await attachmentsAreWhole(replica, all);
  const { doc_count, doc_del_count } = await place.remote().info();
  assert.equal(doc_count + doc_del_count, Object.keys(all).length);
  for (const reader of readers) {
    await until(`all leaves at the reader, ${reader.feed}`, () => reader.leaves === leaves);
    console.log(`# told anew, ${reader.feed}: ${reader.timesAnew()} times`);
  }
}, 60_000 + KILLS * 3_000);

/** A client that edits shared documents. */
class Editor {
  made = [];

  constructor(replica, number, roll) {
    Object.assign(this, { replica, number, roll });
  }

  async work(working) {
    for (let count = 0; !working.isOver; count += 1) {
      const text = `${this.number}.${count}`;
      try {
        this.made.push(...(await anything(this.replica, IDS, this.roll, text)));
      } catch (error) {
        // Another client has edited or deleted the document first.
        if (![404, 409].includes(error.status) && !isAway(error)) throw error;
      }
      await pause(this.roll(30));
    }
  }
}

/** Kills and restarts the hub `count` times, sometimes while it starts. */
async function kill(place, count, roll, working) {
  const { hub } = place;
  let coming = Promise.resolve();
  for (let killed = 0; killed < count && !working.isOver; killed += 1) {
    if (roll(5) > 0) await coming;
    await pause(roll(800));
    // The kill does not wait for the compaction.
    if (roll(3) === 0) place.raw('POST', '/_compact', '{}').catch(() => {});
    await pause(roll(10));
    await hub.kill();
    assert.doesNotMatch(hub.told, /panicked| ERROR /);
    await coming.catch(() => {});
    coming = hub.again();
    coming.catch(() => {});
  }
  await coming;
}

/** Waits until all replicas have the same leaves, and returns them. */
async function quiet(place, clients) {
  const theSame = () => until('the same leaves everywhere', async () => {
    const [there, ...here] = await Promise.all([place.remote(), ...clients].map(leavesOf));
    return here.every((it) => it === there) && there;
  }, LULL);
  try {
    return await theSame();
  } catch {
    // PouchDB 9 may continue an interrupted replication beside the new one, and record a checkpoint for changes that
    // it then dropped. Readers and acknowledged revisions show whether the hub lacks the changes instead.
    console.log('# a client has to begin anew');
    for (const client of clients) {
      await client.sync(place.remote(), { since: 0, checkpoint: false });
    }
    return theSame();
  }
}

async function leavesOf(database) {
  return listed((await database.changes({ since: 0, style: 'all_docs' })).results);
}

/** Checks that the hub has all these revisions, as leaves or as their ancestors. */
async function has(remote, made) {
  const asked = Object.fromEntries(made.map(({ id }) => [id, new Set()]));
  for (const { id, rev } of made) asked[id].add(rev);
  const all = Object.entries(asked).map(([id, revs]) => [id, [...revs]]);
  assert.deepEqual(await remote.revsDiff(Object.fromEntries(all)), {}, 'the hub lacks some');
}

/** Checks that replications have nothing to move, and that their checkpoints record this. */
async function isComplete(place, client) {
  // Continuous replications may still be writing their checkpoints.
  await until('a replication that asks for nothing', async () => {
    const { remote, requests } = place.watched();
    assert.equal((await push(client, remote)).docs_written, 0);
    const { docs_read, docs_written } = await pull(client, remote);
    assert.deepEqual([docs_read, docs_written], [0, 0]);
    return requests.every(({ path, query }) => path === '/_changes'
      ? query.get('since') !== '0'
      : !['/_bulk_docs', '/_bulk_get', '/_revs_diff'].includes(path));
  });
}

/** Checks that the attachments of all leaves exist and are intact. */
async function attachmentsAreWhole(replica, all) {
  for (const [id, { leaves }] of Object.entries(all)) {
    for (const { _rev, _attachments } of leaves) {
      for (const [name, { digest }] of Object.entries(_attachments)) {
        const data = await replica.getAttachment(id, name, { rev: _rev });
        assert.equal(`md5-${createHash('md5').update(data).digest('base64')}`, digest, `${id} ${name}`);
      }
    }
  }
}
