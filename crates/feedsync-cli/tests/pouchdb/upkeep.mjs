// Maintenance of a database of notes: checks, locking, replacement and cleanup.

import assert from 'node:assert/strict';

import { ORIGINS, preflight } from './origins.mjs';
import { bytes, until } from './replicas.mjs';
import { scenario } from './suite.mjs';
import {
  Device, MILESTONE, PARAMETERS, PASSWORD, VERSION, connected, hubWithUsers,
} from './vault.mjs';

// A6
scenario('whom a locked database does not accept stays outside', async (place) => {
  const one = await connected(place);
  await one.lock(true);
  const other = new Device(place);
  await other.connect();
  assert.equal(other.isLockedOut, true);
  const { locked, accepted_nodes } = (await other.ask('GET', `/${MILESTONE}`)).value;
  assert.deepEqual([locked, accepted_nodes], [true, [one.id]]);
  await one.connect();
  assert.equal(one.isLockedOut, false);
  await other.lock(true, [one.id, other.id]);
  await other.connect();
  assert.equal(other.isLockedOut, false);
  const third = new Device(place);
  await third.connect();
  assert.equal(third.isLockedOut, true);
  await one.lock(false);
  await third.connect();
  assert.equal(third.isLockedOut, false);
  // All concurrent writes are acknowledged; the last one is stored.
  const told = await Promise.all([one, other, third].map((it) =>
    it.ask('PUT', `/${PARAMETERS}`, { by: it.id })));
  assert.deepEqual(told.map(({ status, value }) => [status, value.rev]), Array(3).fill([201, '0-1']));
  const stale = await one.ask('PUT', `/${PARAMETERS}`, { _rev: '0-77', by: 'whoever' });
  assert.deepEqual([stale.status, stale.value.rev], [201, '0-78']);
});

// A7
scenario('a database is dropped and filled anew, and nothing of the first is left', async (place) => {
  const one = await connected(place);
  const other = new Device(place);
  await other.connect();
  for (let number = 0; number < 10; number += 1) await one.write(`${number}.md`, `note ${number}`);
  await one.sync();
  await other.sync();
  const feed = await one.fetch(`${place.url}/_changes?feed=longpoll&since=now&heartbeat=30000`);
  const ended = feed.text().catch(() => 'broken off');
  await one.lock(true);
  for (const [method, path, status] of [['DELETE', '/', 200], ['GET', '/', 404], ['PUT', '/', 201]]) {
    assert.equal((await one.ask(method, path)).status, status, method);
  }
  await ended;
  for (const path of [MILESTONE, PARAMETERS, VERSION]) {
    assert.equal((await one.ask('GET', `/${path}`)).status, 404, path);
  }
  assert.equal((await one.remote.info()).doc_count, 0);
  await one.connect();
  assert.ok((await one.push()).docs_written > 10);
  assert.equal((await one.push()).docs_written, 0);
  await one.lock(false);
  assert.equal((await one.remote.info()).doc_count, (await one.local.info()).doc_count);
  const fresh = new Device(place);
  await fresh.connect();
  await fresh.sync();
  for (let number = 0; number < 10; number += 1) assert.equal(await fresh.read(`${number}.md`), `note ${number}`);
});

// A8
scenario('compaction gives back what deleted chunks and old notes took', async (place) => {
  const one = await connected(place, { size: 100_000 });
  await one.write('picture.png', bytes(1_000_000));
  for (let edit = 0; edit < 10; edit += 1) await one.write('note.md', `${edit}`.repeat(20_000));
  await one.push();
  for (let edit = 0; edit < 10; edit += 1) {
    await one.write('note.md', `${edit}!`.repeat(20_000));
    await one.push();
  }
  const size = async () => {
    const { sizes, compact_running } = await one.remote.info();
    assert.equal(compact_running, false);
    return sizes.file;
  };
  // Chunks that no note names are deleted locally, and the deletions are pushed.
  await one.delete('picture.png');
  const kept = new Set((await one.note('note.md')).children);
  const { rows } = await one.local.allDocs({ startkey: 'h:', endkey: 'h;' });
  const unused = rows.filter(({ id }) => !kept.has(id));
  await one.local.bulkDocs(unused.map(({ id, value }) => ({ _id: id, _rev: value.rev, _deleted: true })));
  await one.push();
  const before = await size();
  const { status, text } = await one.ask('POST', '/_compact');
  assert.deepEqual([status, text.trim()], [202, '{"ok":true}']);
  await until('it is done', async () => (await one.remote.info()).compact_running === false);
  const after = await size();
  assert.ok(after < before / 5, `${before} became ${after}`);
  const { value } = await one.ask('POST', '/_all_docs?include_docs=true', { keys: [unused[0].id, 'h:none'] });
  assert.deepEqual(value.rows[1], { key: 'h:none', error: 'not_found' });
  assert.deepEqual([value.rows[0].value.deleted, value.rows[0].doc], [true, null]);
  assert.equal(await one.read('note.md'), '9!'.repeat(20_000));
});

// A10
scenario('the check of the server passes in each application', async (place) => {
  await hubWithUsers(place, { eve: [] });
  for (const origin of ORIGINS) {
    for (const user of ['ann', 'eve']) {
      const headers = { 'x-my-proxy': 'secret' };
      const device = new Device(place, { origin, user, url: place.hub.base, headers });
      for (const node of ['_local', 'nonode@nohost']) {
        const { status, text, value } = await device.ask('GET', `/_node/${node}/_config`);
        assert.equal(status, 200);
        assert.ok(!text.includes(PASSWORD), 'nothing that is secret');
        assert.equal(typeof value.admins[user], 'string');
        const told = (section, key) => value[section][key];
        for (const section of ['chttpd', 'chttpd_auth']) assert.equal(told(section, 'require_valid_user'), 'true');
        for (const section of ['chttpd', 'httpd']) assert.equal(told(section, 'enable_cors'), 'true');
        assert.ok(told('httpd', 'WWW-Authenticate'));
        assert.ok(Number(told('chttpd', 'max_http_request_size')) >= 4_294_967_296);
        assert.ok(Number(told('couchdb', 'max_document_size')) >= 50_000_000);
        assert.equal(told('cors', 'credentials'), 'true');
        assert.deepEqual(told('cors', 'origins').split(','), ORIGINS);
        for (const keys of Object.values(value)) {
          assert.ok(Object.values(keys).every((it) => typeof it === 'string'));
        }
      }
    }
    for (const path of ['/', '/none/none', '/_node/_local/_config']) {
      await preflight(`${place.hub.base}${path}`, origin, 'PUT', ['authorization', 'x-my-proxy']);
    }
  }
});

scenario('what sets a CouchDB up for notes is acknowledged, and the hub stays where it is', async (place) => {
  await hubWithUsers(place);
  // A program without a browser.
  const script = new Device(place, { origin: undefined, url: place.hub.base });
  const setup = {
    action: 'enable_single_node', username: 'ann', password: PASSWORD, bind_address: '0.0.0.0', port: 5_984,
    singlenode: true,
  };
  assert.equal((await script.ask('POST', '/_cluster_setup', setup)).status, 201);
  for (const [key, value] of [
    ['chttpd/require_valid_user', 'true'], ['chttpd_auth/require_valid_user', 'true'],
    ['httpd/WWW-Authenticate', 'Basic realm="couchdb"'], ['httpd/enable_cors', 'true'],
    ['chttpd/enable_cors', 'true'], ['chttpd/max_http_request_size', '4294967296'],
    ['couchdb/max_document_size', '50000000'], ['cors/credentials', 'true'],
    ['cors/origins', ORIGINS.join()], ['cors/origins', '*'], ['cors/origins', `,${ORIGINS.join()}`],
  ]) {
    const path = `/_node/nonode@nohost/_config/${key}`;
    const told = await script.ask('PUT', path, JSON.stringify(value));
    assert.deepEqual([told.status, typeof told.value], [200, 'string'], key);
  }
  const other = await script.ask('PUT', '/_node/_local/_config/couchdb/max_document_size', '"5000000000000"');
  assert.deepEqual([other.status, other.value.error], [403, 'forbidden']);
  for (const status of [201, 412]) assert.equal((await script.ask('PUT', `/${place.name}`)).status, status);
  assert.equal((await script.ask('GET', `/${place.name}/${VERSION}`)).status, 404);
  const version = { _id: VERSION, type: 'versioninfo', version: 12 };
  assert.equal((await script.ask('PUT', `/${place.name}/${VERSION}`, version)).status, 201);
  assert.match((await script.ask('GET', '/_session')).text, /ok/);
  assert.equal((await script.ask('GET', '/_up')).status, 200);
});

scenario('whatever goes wrong, the application may read it', async (place) => {
  await hubWithUsers(place, { eve: [] }, ['--limits-database-body-bytes', '100 KiB']);
  const device = new Device(place);
  await device.connect();
  const eve = new Device(place, { user: 'eve' });
  const as = (authorization) => new Device(place, { headers: { authorization } });
  const stranger = as('Basic bm86Ym9keQ==');
  // A token of another program does not authenticate.
  const bearer = as('Bearer eyJhbGciOiJIUzI1NiIsImtpZCI6ImsifQ.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl');
  const large = `{"docs":[{"_id":"x","data":"${'x'.repeat(150_000)}"}],"new_edits":false}`;
  for (const [who, method, path, body, status, error] of [
    [stranger, 'GET', '/', undefined, 401, 'unauthorized'],
    [bearer, 'GET', '/', undefined, 401, 'unauthorized'],
    [eve, 'GET', '/', undefined, 404, 'not_found'],
    [device, 'GET', '/none', undefined, 404, 'not_found'],
    [device, 'PUT', `/${VERSION}`, '{"type":"again"}', 409, 'conflict'],
    [device, 'PUT', '/', undefined, 412, 'file_exists'],
    [device, 'POST', '/_bulk_docs', large, 413, undefined],
    [device, 'POST', '/_bulk_docs', '{', 400, 'bad_request'],
    [device, 'GET', '/_design/chunks/_view/collectDangling', undefined, 404, 'not_found'],
    [device, 'DELETE', '/_bulk_docs', undefined, 405, 'method_not_allowed'],
  ]) {
    const told = await who.ask(method, path, body);
    const place = `${method} ${path}: ${told.text}`;
    assert.deepEqual([told.status, typeof told.value?.reason], [status, 'string'], place);
    if (error) assert.equal(told.value.error, error);
  }
  // A page of another site is refused.
  const headers = { ...device.headers, origin: 'https://elsewhere.example' };
  const elsewhere = await fetch(place.url, { headers });
  assert.equal(elsewhere.status, 403);
  assert.equal(elsewhere.headers.get('access-control-allow-origin'), null);
  // A client that is not a browser may declare an absent body as JSON.
  const internal = new Device(place, { origin: undefined });
  assert.equal((await internal.ask('GET', '/')).status, 200);
  assert.equal((await internal.ask('GET', `/${VERSION}`)).status, 200);
});

scenario('what all notes depend on outlives a power cut, and is in backups', async (place) => {
  const device = await connected(place, { passphrase: 'a passphrase' });
  const { hub } = place;
  const milestone = { ...(await device.ask('GET', `/${MILESTONE}`)).value, more: 'x'.repeat(50_000) };
  assert.equal((await device.ask('PUT', `/${MILESTONE}`, milestone)).status, 201);
  await device.write('note.md', 'text');
  await device.push();
  const told = () => Promise.all([MILESTONE, PARAMETERS, VERSION].map(async (path) =>
    (await device.ask('GET', `/${path}`)).text));
  const before = await told();
  await hub.kill();
  await hub.again();
  assert.deepEqual(await told(), before);
  const backup = `${hub.data}/backup`;
  hub.run(['store', 'backup', backup]);
  await hub.kill();
  const { data } = hub;
  hub.data = `${data}/restored`;
  hub.run(['store', 'restore', '--from', backup]);
  await hub.again();
  hub.data = data;
  assert.deepEqual(await told(), before);
});
