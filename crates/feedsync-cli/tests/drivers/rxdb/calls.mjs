// RxDB's replication with CouchDB: applications with databases in memory that sync through a database of the hub.
//
//   MODULES=DIRECTORY node calls.mjs ADDRESS ADMINISTRATOR USER PASSWORD
//
// The test restarts the hub when this program prints `# restart`, and answers with a line.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import { change, end, until, works } from '../calls.mjs';

const require = createRequire(join(process.env.MODULES, 'package.json'));
const { createRxDatabase } = require('rxdb');
const { getRxStorageMemory } = require('rxdb/plugins/storage-memory');
const { getFetchWithCouchDBAuthorization, replicateCouchDB } = require('rxdb/plugins/replication-couchdb');

const [address, , bert, password] = process.argv.slice(2);
const url = `${address}/heroes/`;
const authorized = getFetchWithCouchDBAuthorization(bert, password);

/** Sends a request without RxDB; returns the JSON of the response. */
async function ask(method, path = '', body = undefined) {
  const headers = { 'content-type': 'application/json' };
  const answer = await authorized(url + path, { method, headers, body: body && JSON.stringify(body) });
  return answer.json();
}

const schema = {
  title: 'hero',
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: {
    id: { type: 'string', maxLength: 100 },
    name: { type: 'string' },
    powers: { type: 'array', items: { type: 'string' } },
  },
  required: ['id', 'name'],
};

/** Keeps the powers of both sides. */
const conflictHandler = {
  isEqual: (one, other) => (
    one._deleted === other._deleted && one.name === other.name
    && JSON.stringify(one.powers) === JSON.stringify(other.powers)
  ),
  resolve({ newDocumentState: mine, realMasterState: theirs }) {
    const powers = [...new Set([...mine.powers ?? [], ...theirs.powers ?? []])].sort();
    return Promise.resolve({ ...theirs, powers });
  },
};

/** An application with a collection and its replication. */
class Application {
  static async open(name, options) {
    const application = new Application();
    const database = { name, storage: getRxStorageMemory(), multiInstance: false };
    application.database = await createRxDatabase(database);
    const { heroes } = await application.database.addCollections({ heroes: { schema, ...options } });
    application.heroes = heroes;
    return application;
  }

  /** Starts to sync; the checkpoint belongs to `identifier`. */
  sync(options = {}) {
    this.requests = [];
    this.errors = [];
    this.replication = replicateCouchDB({
      replicationIdentifier: 'heroes',
      collection: this.heroes,
      url,
      fetch: (address, init) => {
        this.requests.push(new URL(address));
        return authorized(address, init);
      },
      live: true,
      waitForLeadership: false,
      retryTime: 200,
      pull: { batchSize: 20 },
      push: { batchSize: 20 },
      ...options,
    });
    this.replication.error$.subscribe((error) => this.errors.push(error));
    return this.replication;
  }

  hero(id) {
    return this.heroes.findOne(id).exec();
  }

  async has(id, check = (hero) => hero !== null) {
    await until(`${id} at ${this.database.name}`, async () => check(await this.hero(id)));
  }
}

/**
 * Waits until applications got a change by a long poll. RxDB begins with `since=now`, and repeats that after an error, so
 * that it would miss changes between the two.
 */
async function live(...applications) {
  let count = 0;
  await until('live changes', async () => {
    const { _rev } = await ask('GET', 'beacon');
    const name = `Beacon ${count += 1}`;
    await ask('PUT', 'beacon', { _rev, name, powers: [] });
    await new Promise((later) => setTimeout(later, 100));
    const heroes = await Promise.all(applications.map((application) => application.hero('beacon')));
    return heroes.every((hero) => hero?.name === name);
  });
}

const powers = (...wanted) => (hero) => JSON.stringify(hero?.toJSON().powers) === JSON.stringify(wanted);

const one = await Application.open('one', { conflictHandler });
const two = await Application.open('two', { conflictHandler });
await ask('PUT');

await works('the first replication pushes what exists, in batches', async () => {
  const heroes = Array.from({ length: 50 }, (_, at) => ({ id: `hero-${at}`, name: `Hero ${at}`, powers: [] }));
  await one.heroes.bulkInsert(heroes);
  await one.sync().awaitInitialReplication();
  assert.equal((await ask('GET')).doc_count, 50);
});
await works('the first replication pulls what exists, in batches', async () => {
  await two.sync().awaitInitialReplication();
  assert.equal((await two.heroes.find().exec()).length, 50);
  assert.equal((await two.hero('hero-7')).name, 'Hero 7');
});
await works('an inserted document appears in the other application', async () => {
  await live(one, two);
  await one.heroes.insert({ id: 'anna', name: 'Anna', powers: ['flying'] });
  await two.has('anna');
});
await works('an update appears in the other application', async () => {
  await (await two.hero('anna')).patch({ powers: ['flying', 'singing'] });
  await one.has('anna', powers('flying', 'singing'));
});
await works('updates of one document in a row arrive', async () => {
  for (const power of ['a', 'b', 'c', 'd']) await (await one.hero('hero-1')).incrementalPatch({ powers: [power] });
  await two.has('hero-1', powers('d'));
});
await works('a deleted document disappears from the other application', async () => {
  await (await one.hero('hero-2')).remove();
  await two.has('hero-2', (hero) => hero === null);
  assert.equal((await ask('GET', 'hero-2')).reason, 'deleted');
});
await works('a deleted document can be inserted again', async () => {
  await two.heroes.insert({ id: 'hero-2', name: 'Again', powers: [] });
  await one.has('hero-2', (hero) => hero?.name === 'Again');
});
await works('a document that another client writes appears in both applications', async () => {
  assert.equal((await ask('PUT', 'bert', { name: 'Bert', powers: [] })).ok, true);
  await one.has('bert');
  await two.has('bert');
  const { _rev: rev } = await ask('GET', 'bert');
  await ask('DELETE', `bert?rev=${rev}`);
  await one.has('bert', (hero) => hero === null);
  await two.has('bert', (hero) => hero === null);
});
await works('an application reads long polls', () => {
  assert.ok(one.requests.some(({ searchParams }) => searchParams.get('feed') === 'longpoll'));
  assert.deepEqual([one.errors, two.errors], [[], []]);
});
await works('the conflict handler merges concurrent updates', async () => {
  await one.replication.cancel();
  await two.replication.cancel();
  await (await one.hero('anna')).patch({ powers: ['diving'] });
  await (await two.hero('anna')).patch({ powers: ['climbing'] });
  await one.sync().awaitInSync();
  await live(one);
  await two.sync().awaitInSync();
  for (const application of [one, two]) await application.has('anna', powers('climbing', 'diving'));
  await until('the hub', async () => (await ask('GET', 'anna')).powers.join() === 'climbing,diving');
  assert.equal((await ask('GET', 'anna?conflicts=true'))._conflicts, undefined);
});
await works('an update wins against a deletion that it does not know', async () => {
  await one.replication.cancel();
  await two.replication.cancel();
  await (await one.hero('hero-3')).remove();
  await (await two.hero('hero-3')).patch({ powers: ['digging'] });
  await one.sync().awaitInSync();
  await live(one);
  await two.sync().awaitInSync();
  // RxDB looks for conflicts with documents, and the server shows none for a deleted one.
  for (const application of [one, two]) await application.has('hero-3', powers('digging'));
});
await works('a replication continues at its checkpoint', async () => {
  await one.replication.cancel();
  await one.sync().awaitInSync();
  const { searchParams: first } = one.requests.find((request) => request.searchParams.get('feed') === 'normal');
  assert.match(first.get('since'), /^\d+-/);
});
await works('edits during a restart of the hub arrive afterwards', async () => {
  await live(one, two);
  await change('stop');
  await one.heroes.insert({ id: 'offline', name: 'Offline', powers: [] });
  await until('an error', () => one.errors.length > 0);
  assert.equal(await two.hero('offline'), null);
  await change('start');
  await two.has('offline');
  await (await two.hero('offline')).patch({ name: 'Online' });
  await one.has('offline', (hero) => hero.name === 'Online');
});
await works('a replication that only pulls', async () => {
  const reader = await Application.open('reader');
  await reader.sync({ push: undefined, live: false }).awaitInitialReplication();
  await reader.heroes.insert({ id: 'mine', name: 'Mine', powers: [] });
  await reader.sync({ push: undefined, live: false }).awaitInitialReplication();
  assert.equal((await reader.hero('offline')).name, 'Online');
  assert.equal((await ask('GET', 'mine')).error, 'not_found');
  await reader.database.close();
});
await works('a replication that only pushes, with a modifier', async () => {
  const writer = await Application.open('writer');
  await writer.heroes.insert({ id: 'written', name: 'Written', powers: [] });
  const modifier = (hero) => ({ ...hero, name: hero.name.toUpperCase() });
  await writer.sync({ pull: undefined, push: { modifier }, live: false }).awaitInitialReplication();
  assert.equal((await writer.heroes.find().exec()).length, 1);
  assert.equal((await ask('GET', 'written')).name, 'WRITTEN');
  await writer.database.close();
});
await works('an application without a login gets errors and no documents', async () => {
  const stranger = await Application.open('stranger');
  // With `live`, RxDB ends the program when a long poll is refused, whatever the server.
  stranger.sync({ fetch, push: undefined, live: false });
  await until('an error', () => stranger.errors.length > 0);
  assert.match(JSON.stringify(stranger.errors[0].parameters), /unauthorized/);
  assert.equal((await stranger.heroes.find().exec()).length, 0);
  // It would wait for the end of the replication, which is tried again until this program ends.
  stranger.database.close().catch(() => {});
});
await works('both applications have the same documents', async () => {
  const documents = async ({ heroes }) => (await heroes.find().exec()).map((hero) => hero.toJSON());
  await until('the same', async () => isDeepStrictEqual(await documents(one), await documents(two)));
  assert.equal((await ask('GET')).doc_count, (await documents(one)).length);
});

for (const { database } of [one, two]) await database.close();
end();
