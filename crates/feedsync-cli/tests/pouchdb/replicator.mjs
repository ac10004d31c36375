// Requests of CouchDB's replicator, with a hub as source and target.

import assert from 'node:assert/strict';

import { Side, replicate } from './couchdb.mjs';
import { filled } from './filled.mjs';
import { bytes, edit, same } from './replicas.mjs';
import { PouchDB, scenario } from './suite.mjs';

/** Creates a second database on the same hub. */
async function another(place) {
  const url = `${place.url}-copy`;
  const copy = new PouchDB(url);
  await copy.info();
  return [copy, new Side(place.url), new Side(url)];
}

scenario('CouchDB replicates all of it, and notes how far it is', async (place) => {
  const hub = await filled(place, 1_200);
  const [copy, source, target] = await another(place);
  const first = await replicate(source, target);
  assert.equal(first.missing, 1_205);
  assert.deepEqual([first.read, first.written, first.pending], [1_205, 1_205, 0]);
  assert.equal(first.multipart, 1);
  await same(hub, copy);
  assert.ok((await copy.getAttachment('with', 'data.bin')).equals(bytes(70_000)));
  const text = await copy.getAttachment('with', 'Grüße "1".txt');
  assert.equal(text.toString(), 'text '.repeat(500), 'it came packed');
  const second = await replicate(source, target);
  assert.notEqual(second.since, 0);
  assert.deepEqual([second.missing, second.pending], [0, 0]);
});

scenario('CouchDB replicates what is new, without attachments that are there', async (place) => {
  const hub = await filled(place, 1_200);
  const [copy, source, target] = await another(place);
  await replicate(source, target);
  await edit(hub, 'with', { text: 'more' });
  await hub.putAttachment('with', 'new.bin', (await hub.get('with'))._rev, bytes(10), 'image/png');
  const { missing, multipart } = await replicate(source, target);
  assert.deepEqual([missing, multipart], [1, 1]);
  await same(hub, copy);
  assert.ok((await copy.getAttachment('with', 'data.bin')).equals(bytes(70_000)));
});

scenario('CouchDB replicates without end, until nothing comes for a while', async (place) => {
  const hub = await filled(place, 1_200);
  const [copy, source, target] = await another(place);
  const live = replicate(source, target, { continuous: 1_000 });
  for (let number = 0; number < 10; number += 1) await hub.put({ _id: `late-${number}` });
  const { pending } = await live;
  assert.equal(pending, 0);
  await same(hub, copy);
});

scenario('CouchDB begins anew where a database was made again', async (place) => {
  const hub = await filled(place, 1_200);
  const [copy, source, target] = await another(place);
  await replicate(source, target);
  await copy.destroy();
  const [again] = await another(place);
  const { since, missing } = await replicate(source, target);
  assert.deepEqual([since, missing], [0, 1_205]);
  await same(hub, again);
});
