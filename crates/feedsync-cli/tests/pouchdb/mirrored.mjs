// A device of a vault that is mirrored as plain files: what it writes becomes files, and edits of files reach it.
//
// The environment has the address of the vault (VAULT_URL), a token of its user (VAULT_TOKEN), and the directory of the files
// (VAULT_FILES). Each step prints a line of the test.

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { bytes, until } from './replicas.mjs';
import { Place } from './suite.mjs';
import { Device } from './vault.mjs';

const { VAULT_URL: url, VAULT_TOKEN: password, VAULT_FILES: directory } = process.env;
const PATIENCE = 30_000;

const place = new Place();
const device = new Device(place, { url, user: 'notes', password });
await device.connect();

const at = (path) => join(directory, path);
const onDisk = (path) => existsSync(at(path)) ? readFileSync(at(path)) : undefined;
const same = (found, content) => found !== undefined && Buffer.from(found).equals(Buffer.from(content));

async function arrivesOnDisk(files) {
  for (const [path, content] of Object.entries(files)) {
    await until(`the file ${path}`, () => same(onDisk(path), content), PATIENCE);
  }
}

async function arrivesOnDevice(files) {
  for (const [path, content] of Object.entries(files)) {
    await until(`the note ${path}`, async () => {
      await device.sync();
      return same(await device.read(path), content);
    }, PATIENCE);
  }
}

function write(files) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), content);
  }
}

const done = (what) => process.stdout.write(`ok ${what}\n`);

// The pieces of the device end within characters.
const notes = {
  'Welcome.md': '# Welcome\n',
  'Grüße/Tag 1.md': 'gleich\r\nohne Ende',
  'Ordner & mehr/日本語 🎉 #1.md': `x${'🎉'.repeat(2_000)}`,
  'empty.md': '',
  'picture.png': bytes(200_000, 7),
};
for (const [path, content] of Object.entries(notes)) await device.write(path, content);
await device.sync();
await arrivesOnDisk(notes);
const { mtime } = await device.note('Welcome.md');
assert.equal(Math.floor(statSync(at('Welcome.md')).mtimeMs), mtime);
done('notes of the device are files');

const files = {
  'Neu/Übung 🎈.md': 'aus dem Verzeichnis\n'.repeat(500),
  'Neu/sound.wav': bytes(900_000, 3),
  'Neu/Ünicode.PNG': bytes(1_000, 5),
  'crlf.txt': 'one\r\ntwo\r\n\ufeffthree',
};
write(files);
await arrivesOnDevice(files);
const { type, size, path, children } = await device.note('Neu/sound.wav');
assert.deepEqual([type, size, path], ['newnote', 900_000, 'Neu/sound.wav']);
assert.ok(children.every((id) => /^h:[0-9a-z]+$/.test(id)), children);
assert.equal((await device.note('crlf.txt')).type, 'plain');
done('files are notes of the device');

const byDevice = { 'Neu/Übung 🎈.md': 'edited by the device', 'picture.png': bytes(200_001, 9) };
for (const [path, content] of Object.entries(byDevice)) await device.write(path, content);
await device.sync();
await arrivesOnDisk(byDevice);
const byHand = { 'Welcome.md': '# Welcome back\n', 'Neu/sound.wav': bytes(900_000, 4) };
write(byHand);
await arrivesOnDevice(byHand);
done('edits arrive on the other side');

await device.delete('picture.png');
await device.sync();
await until('the deletion of the file', () => !existsSync(at('picture.png')), PATIENCE);
rmSync(at('Neu/Ünicode.PNG'));
await until('the deletion of the note', async () => {
  await device.sync();
  return (await device.note('Neu/Ünicode.PNG')).deleted;
}, PATIENCE);
done('deletions arrive on the other side');

await place.close();
