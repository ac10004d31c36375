// Pushes documents to each of two servers and pulls them again, in turn: node replicate.mjs COUNT ROUNDS URL URL
//
// Prints a line for each round but the first: microseconds of both pushes, then of both pulls.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.POUCHDB_MODULES, 'package.json'));
const PouchDB = require('pouchdb');
PouchDB.plugin(require('pouchdb-adapter-memory'));

const [count, rounds] = process.argv.slice(2, 4).map(Number);
const servers = process.argv.slice(4);
const local = (name) => new PouchDB(name, { adapter: 'memory' });

const source = local('source');
const number = (at) => String(at).padStart(6, '0');
const documents = Array.from({ length: count }, (_, at) => ({
  _id: `document-${number(at)}`,
  type: 'note',
  title: `The news of the day, part ${number(at)}`,
  text: 'Nothing of note happened. More about it tomorrow. '.repeat(3).trim(),
}));
for (const made of await source.bulkDocs(documents)) assert(made.ok, made.reason);

/** Replicates once, in so many microseconds. */
async function replicated(from, to) {
  const began = performance.now();
  const done = await PouchDB.replicate(from, to, { batch_size: 1000 });
  const took = performance.now() - began;
  assert.equal(done.docs_written, count);
  assert.equal(done.doc_write_failures, 0);
  return Math.round(took * 1000);
}

for (let round = 0; round <= rounds; round++) {
  const remotes = servers.map((server) => new PouchDB(`${server}/replicated-${round}`));
  const took = [];
  for (const remote of remotes) {
    await remote.info();
    took.push(await replicated(source, remote));
    assert.equal((await remote.info()).doc_count, count);
  }
  for (const [at, remote] of remotes.entries()) {
    const target = local(`target-${round}-${at}`);
    took.push(await replicated(remote, target));
    assert.equal((await target.info()).doc_count, count);
    await target.destroy();
  }
  for (const remote of remotes) await remote.destroy();
  if (round > 0) console.log(took.join(' '));
}
