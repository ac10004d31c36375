// Devices with a note plugin: folders, live changes, conflicts, a first download, and a restarted hub.

import assert from 'node:assert/strict';

import { bytes, until } from './replicas.mjs';
import { scenario } from './suite.mjs';
import { Device, fastFetch, hubWithUsers, most } from './vault.mjs';

/** Maximum time in milliseconds until one device has the changes of another. */
const AT_ONCE = 2_000;

/** Creates a folder of notes and a picture. */
function folder(of) {
  const files = {
    [`${of}.md`]: `# ${of}\n`,
    'Grüße/Ordner + %2F &#/Tag 1.md': 'gleich\r\n\ufeff\u0000',
    [`${of}/empty.md`]: '',
    [`${of}/\u{1f600}.md`]: '\ud83d lone, e\u0301 and \u00e9'.repeat(400),
    [`${of}/picture.png`]: bytes(60_000, of.length),
  };
  for (let number = 0; number < 20; number += 1) {
    files[`${of}/${number}.md`] = `${of} ${number}\n`.repeat(300);
  }
  return files;
}

async function write(device, files) {
  for (const [path, content] of Object.entries(files)) await device.write(path, content);
}

async function holds(device, files) {
  for (const [path, content] of Object.entries(files)) {
    const found = await device.read(path);
    assert.ok(typeof content === 'string' ? found === content : found?.equals(content), path);
  }
}

/** Creates two devices with different folders, and synchronises them. */
async function joined(place, passphrase) {
  await hubWithUsers(place);
  const [one, other] = [new Device(place, { passphrase }), new Device(place, { passphrase })];
  const [here, there] = [folder('one'), folder('other-other')];
  for (const [device, files] of [[one, here], [other, there]]) {
    await device.connect();
    await write(device, files);
    await device.sync();
  }
  await one.sync();
  for (const device of [one, other]) await holds(device, { ...here, ...there });
  return one;
}

// A1
scenario('two vaults come to the same bytes', (place) => joined(place));

// A2
scenario('two encrypted vaults come to the same bytes, and the hub reads neither', async (place) => {
  const device = await joined(place, 'a passphrase');
  const { text, value } = await device.ask('GET', '/_all_docs?include_docs=true');
  assert.ok(!/Grüße|other-other|gleich/.test(text), 'nothing is readable');
  const kinds = value.rows.map(({ id }) =>
    id.match(/^(f:)[0-9a-f]{64}$|^(h:\+)[0-9a-z]+$|^(obsydian_livesync_version)$/)?.slice(1).join(''));
  assert.deepEqual([...new Set(kinds)].sort(), ['f:', 'h:+', 'obsydian_livesync_version']);
});

/** Creates, edits and deletes on one side, and checks that each change reaches the other side at once. */
async function followed(one, other, name) {
  const seen = (what, holds) => until(what, holds, AT_ONCE);
  const path = `${name}.md`;
  await one.write(path, 'made');
  await seen('what was made', async () => await other.read(path) === 'made');
  await other.write(path, 'edited');
  await seen('the edit', async () => await one.read(path) === 'edited');
  const picture = bytes(2 << 20, name.length);
  await one.write(`${name}.png`, picture);
  await seen('the picture', async () => {
    const note = await other.note(`${name}.png`);
    // Some chunks may not have arrived yet.
    return note && other.read(`${name}.png`).then((it) => it.equals(picture), () => false);
  });
  await one.delete(path);
  await seen('the deletion', async () => (await other.note(path))?.deleted);
  assert.equal(await other.read(path), undefined);
}

// A3
scenario('whatever one device does is on the other at once, also after a rest', async (place) => {
  await hubWithUsers(place);
  const size = 300_000;
  const [one, other] = [new Device(place, { size }), new Device(place, { size })];
  for (const device of [one, other]) {
    await device.connect();
    device.live({ heartbeat: 300 });
  }
  await followed(one, other, 'first');
  // There are no changes during several heartbeats.
  await new Promise((rested) => setTimeout(rested, 1_500));
  await followed(other, one, 'after a rest');
});

// A4
scenario('a conflict is on both devices, and resolved on one it is on neither', async (place) => {
  await hubWithUsers(place);
  const [one, other] = [new Device(place), new Device(place)];
  for (const device of [one, other]) await device.connect();
  await one.write('note.md', 'before');
  await one.sync();
  await other.sync();
  await one.write('note.md', 'by one');
  await other.write('note.md', 'by other');
  for (const device of [one, other, one]) await device.sync();
  const both = ['by one', 'by other'];
  const leaves = async (device) => {
    const { _rev, _conflicts } = await device.note('note.md', { conflicts: true });
    return [_rev, ...(_conflicts ?? [])];
  };
  const revs = await leaves(one);
  assert.equal(revs.length, 2);
  for (const device of [one, other]) {
    assert.deepEqual(await leaves(device), revs);
    const read = await Promise.all(revs.map((rev) => device.read('note.md', { rev })));
    assert.deepEqual([...read].sort(), both);
  }
  const told = await one.ask('GET', `/note.md?conflicts=true`);
  assert.deepEqual([told.value._rev, told.value._conflicts], [revs[0], [revs[1]]]);
  // The hub still has the common ancestor of both edits.
  const { value: { _revisions: { ids } } } = await one.ask('GET', '/note.md?revs=true');
  for (const rev of [revs[1], `1-${ids.at(-1)}`]) {
    assert.equal((await one.ask('GET', `/note.md?rev=${rev}`)).value._rev, rev);
  }
  await one.write('note.md', 'by both');
  await one.local.remove('note.md', revs[1]);
  for (const device of [one, other]) await device.sync();
  for (const device of [one, other]) {
    assert.equal((await leaves(device)).length, 1);
    assert.equal(await device.read('note.md'), 'by both');
  }
  const { value } = await other.ask('GET', '/note.md?conflicts=true');
  assert.equal(value._conflicts, undefined);
});

// A5
scenario('a new device downloads all at once, and the hub does not hold it in memory', async (place) => {
  const hub = await hubWithUsers(place);
  const passphrase = 'a passphrase';
  const device = new Device(place, { passphrase });
  await device.connect();
  const data = device.encrypted(bytes(300_000).toString('base64').repeat(8)).slice(0, 4 << 20);
  const chunks = Array.from({ length: 24 }, (_, number) =>
    ({ _id: `h:+${number}`, _rev: '1-a', type: 'leaf', data }));
  for (let at = 0; at < chunks.length; at += 8) {
    const docs = chunks.slice(at, at + 8);
    const { status, text } = await device.ask('POST', '/_bulk_docs', { docs, new_edits: false });
    assert.deepEqual([status, text.trim()], [201, '[]']);
  }
  await device.write('note.md', 'text'.repeat(1_000));
  await device.push();
  const gone = { _id: 'h:+0', _rev: '2-b', _revisions: { start: 2, ids: ['b', 'a'] }, _deleted: true };
  await device.ask('POST', '/_bulk_docs', { docs: [gone], new_edits: false });
  await hub.kill();
  await hub.again();
  const { told, rows, end } = await fastFetch(device);
  const { doc_count, doc_del_count, update_seq } = await device.remote.info();
  assert.deepEqual([told, rows.length], [doc_count + doc_del_count, told]);
  assert.deepEqual(end, { last_seq: update_seq, pending: 0 });
  assert.ok(rows.every(({ seq, id, doc }) => seq && doc._id === id && doc._rev && !doc._revisions));
  assert.equal(rows.filter(({ doc }) => doc.data === data).length, chunks.length - 1);
  const tombstones = rows.filter(({ deleted }) => deleted).map(({ doc }) => [doc._id, doc._deleted]);
  assert.deepEqual(tombstones, [['h:+0', true]]);
  assert.ok(most(hub) < 110, `92 MiB came through ${most(hub)} MiB`);
  const empty = new Device(place, { passphrase });
  await empty.connect();
  await empty.local.bulkDocs(rows.map(({ doc }) => doc), { new_edits: false });
  assert.equal(await empty.read('note.md'), 'text'.repeat(1_000));
});

// A9
scenario('devices go on where they were when the hub is back, and read nothing twice', async (place) => {
  const hub = await hubWithUsers(place);
  const [one, other] = [new Device(place), new Device(place)];
  for (const device of [one, other]) await device.connect();
  await write(one, folder('one'));
  await one.sync();
  for (const device of [one, other]) device.live();
  await until('the last note', () => other.note('one/19.md'));
  const waits = (device) => device.requests.some(({ url }) => /feed=longpoll/.test(url));
  for (const device of [one, other]) await until('a request that waits', () => waits(device));
  await hub.kill();
  const before = other.requests.length;
  await one.write('while it was away.md', 'written');
  await hub.again();
  await until('what was written', async () => other.note('while it was away.md'), 10_000);
  assert.equal(await other.read('while it was away.md'), 'written');
  const later = other.requests.slice(before);
  assert.ok(later.every(({ url }) => !/_changes.*since=0(&|$)/.test(url)));
  const read = later.filter(({ url }) => /_bulk_get/.test(url))
    .flatMap(({ body }) => JSON.parse(body).docs);
  assert.deepEqual([...new Set(read.map(({ id }) => id))], ['while it was away.md']);
});
