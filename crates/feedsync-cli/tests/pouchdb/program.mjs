// The command `feedsync database replicate` with servers of the protocol: a hub, and pouchdb-server from npm.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { filled } from './filled.mjs';
import { edit, push, same, until } from './replicas.mjs';
import { PouchDB, modules, scenario } from './suite.mjs';

/** Runs `feedsync database replicate` on the data of the hub; returns its report and its exit code. */
function replicate(place, ...rest) {
  const options = ['--data', place.hub.data, '--json', 'database', 'replicate', ...rest];
  return new Promise((done) => {
    execFile(place.hub.feedsync, options, (error, stdout, stderr) => {
      done({ code: error?.code ?? 0, said: stderr, ...(stdout && JSON.parse(stdout)) });
    });
  });
}

/** Returns a free port. */
function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

/** Starts `pouchdb-server` with all data in memory. */
async function pouchdbServer(place) {
  const directory = mkdtempSync(join(tmpdir(), 'pouchdb-server-'));
  writeFileSync(join(directory, 'config.json'), '{"log":{"level":"none"}}');
  const port = await freePort();
  const program = join(modules, 'node_modules/pouchdb-server/bin/pouchdb-server');
  const server = spawn(process.execPath, [program, '--in-memory', '--port', `${port}`], {
    cwd: directory,
    stdio: 'ignore',
  });
  place.while({
    cancel() {
      server.kill('SIGKILL');
      rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
    },
  });
  const url = `http://127.0.0.1:${port}`;
  await until('pouchdb-server listens', () => fetch(url).then(({ ok }) => ok, () => false), 15_000);
  return url;
}

scenario('the program replicates to pouchdb-server and back', async (place) => {
  const hub = await filled(place, 300);
  const server = await pouchdbServer(place);
  const there = `${server}/there`;
  const first = await replicate(place, place.url, there, '--create');
  assert.deepEqual([first.code, first.written, first.refused], [0, 305, 0], first.said);
  const peer = new PouchDB(there);
  await same(hub, peer);
  assert.deepEqual((await replicate(place, place.url, there)).checked, 0);
  await edit(peer, 'with', { by: 'there' });
  await edit(peer, 'document-00003', { by: 'there' });
  const back = await replicate(place, there, place.url);
  assert.deepEqual([back.code, back.written], [0, 2], back.said);
  await same(hub, peer);
});

scenario('the program replicates from pouchdb-server into the store, and on to a hub', async (place) => {
  const hub = await filled(place, 300);
  const server = await pouchdbServer(place);
  await push(hub, new PouchDB(`${server}/there`));
  const name = `${place.name}-store`;
  const into = await replicate(place, `${server}/there`, name, '--create');
  assert.deepEqual([into.code, into.refused, into.checkpoints], [0, 0, true], into.said);
  // The store of the command is that of the hub.
  await same(hub, new PouchDB(`${place.hub.base}/${name}`));
});

scenario('the program goes on until it is stopped, also while its hub is away', async (place) => {
  await place.ownHub();
  const hub = place.remote();
  const copy = `${place.url}-copy`;
  await hub.put({ _id: 'first' });
  const options = ['--data', place.hub.data, 'database', 'replicate', place.url, copy, '--create', '--continuous'];
  const live = spawn(place.hub.feedsync, options, { stdio: 'ignore' });
  place.while({ cancel: () => live.kill('SIGKILL') });
  const has = (id) => until(`${id} is there`, async () => (await fetch(`${copy}/${id}`)).ok, 10_000);
  await has('first');
  await hub.put({ _id: 'second' });
  await has('second');
  await place.hub.kill();
  await place.hub.again();
  await hub.put({ _id: 'third' });
  await has('third');
  const ended = new Promise((done) => live.once('exit', done));
  live.kill('SIGTERM');
  assert.equal(await ended, 0);
  const rest = await replicate(place, place.url, copy);
  assert.deepEqual([rest.code, rest.checked], [0, 0], 'it was noted how far it was');
});

scenario('the program says what is wrong', async (place) => {
  await place.remote().info();
  const nowhere = await replicate(place, place.url, `${place.url}-none`);
  assert.equal(nowhere.code, 3);
  assert.match(nowhere.said, /there is no such database/);
  assert.match(nowhere.said, /--create/);
  const wrong = await replicate(place, place.url, `${place.url}-none`, '--selector', '{"a":{"$x":1}}');
  assert.equal(wrong.code, 2);
  assert.match(wrong.said, /\$x/);
  assert.equal((await replicate(place, place.url, 'No Name')).code, 2);
});
