// Two devices that know nothing but a Setup URI and its passphrase. The library of the note plugin opens the URI.
//
// The environment has both of them (SETUP_URI, SETUP_PASSPHRASE), and a command that ends in a line of the test.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { bytes, until } from './replicas.mjs';
import { Place, modules } from './suite.mjs';
import { Device } from './vault.mjs';

const library = pathToFileURL(join(modules, 'node_modules/octagonal-wheels/dist/encryption/index.js'));
const { hkdf: { decryptWithEphemeralSalt } } = await import(library);

const { SETUP_URI, SETUP_PASSPHRASE } = process.env;
const BASE = 'obsidian://setuplivesync?settings=';

/** Opens a Setup URI as the plugin does. */
async function opened(uri, passphrase) {
  assert.ok(uri.startsWith(BASE), uri);
  const encrypted = decodeURIComponent(uri.slice(BASE.length));
  return JSON.parse(await decryptWithEphemeralSalt(encrypted, passphrase));
}

const settings = await opened(SETUP_URI, SETUP_PASSPHRASE);
await assert.rejects(opened(SETUP_URI, `${SETUP_PASSPHRASE}x`), 'another passphrase opens it');
const { couchDB_URI, couchDB_DBNAME, couchDB_USER, couchDB_PASSWORD, passphrase } = settings;
assert.equal(settings.isConfigured, true);
assert.equal(settings.encrypt, passphrase !== undefined);

const place = new Place();
const device = () => new Device(place, {
  url: `${couchDB_URI}/${couchDB_DBNAME}`,
  user: couchDB_USER,
  password: couchDB_PASSWORD,
  passphrase,
});

const files = {
  'Welcome.md': '# Welcome\n',
  'Grüße/Tag 1.md': 'gleich\r\n',
  'long.md': 'a line of a long note\n'.repeat(2_000),
  'picture.png': bytes(200_000, 7),
};
const [computer, telephone] = [device(), device()];
await computer.connect();
for (const [path, content] of Object.entries(files)) await computer.write(path, content);
await computer.sync();

await telephone.connect();
await telephone.sync();
for (const [path, content] of Object.entries(files)) {
  const found = await telephone.read(path);
  assert.ok(typeof content === 'string' ? found === content : found?.equals(content), path);
}
process.stdout.write('ok the second device has all notes\n');

computer.live();
telephone.live();
await telephone.write('from the telephone.md', 'hello');
await until('the note of the telephone', async () =>
  await computer.read('from the telephone.md') === 'hello');
process.stdout.write('ok an edit arrives at the other device\n');

// The hub reads no note of an encrypted vault.
const { text } = await computer.ask('GET', '/_all_docs?include_docs=true');
assert.equal(/Welcome|gleich|from the telephone/.test(text), !passphrase);
process.stdout.write('ok the hub knows what it should\n');

// What the plugin asks when it checks the server, and what "Overwrite server data" needs.
const server = (path) => place.PouchDB.fetch(`${couchDB_URI}${path}`, { headers: computer.headers });
assert.equal((await server('/_node/_local/_config')).status, 200);
assert.equal((await server('/_session')).status, 200);
await place.close();
const again = device();
assert.equal((await again.ask('DELETE', '')).status, 200);
assert.equal((await again.ask('PUT', '')).status, 201);
await again.connect();
await again.write('only.md', 'after the rebuild');
await again.sync();
process.stdout.write('ok a device can rebuild the vault\n');
await place.close();
