// Every call of the plugin `pouchdb-authentication` of PouchDB, by strangers, users and an administrator.
//
//   MODULES=DIRECTORY node calls.mjs ADDRESS ADMINISTRATOR USER PASSWORD

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { end, refused, works } from '../calls.mjs';

const require = createRequire(join(process.env.MODULES, 'package.json'));
const PouchDB = require('pouchdb').plugin(require('pouchdb-authentication'));

const [address, anna, , password] = process.argv.slice(2);

/** The database `notes` with a login, which each request contains; without one, requests contain the cookie. */
const as = (username, secret = password) => (
  new PouchDB(`${address}/notes`, { skip_setup: true, auth: { username, password: secret } })
);
const notes = new PouchDB(`${address}/notes`, { skip_setup: true });
const administrator = as(anna);
const headers = { authorization: `Basic ${btoa(`${anna}:${password}`)}`, 'content-type': 'application/json' };

/** Sends a request as the administrator, for which the plugin has no call. */
async function ask(method, path, body) {
  const answer = await fetch(`${address}/${path}`, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${answer.status}`);
}

// Each user may use this database.
await ask('PUT', 'notes');
await ask('PUT', 'notes/_security', { admins: { names: [anna] }, members: {} });

await works('getUsersDatabaseUrl', () => assert.equal(notes.getUsersDatabaseUrl(), `${address}/_users`));
await works('getMembership', async () => {
  assert.equal((await administrator.getMembership()).all_nodes.length, 1);
});
await works('getSession without a login', async () => {
  const { ok, userCtx } = await notes.getSession();
  assert.deepEqual([ok, userCtx], [true, { name: null, roles: [] }]);
});
await works('signUp', async () => {
  const answer = await notes.signUp('batman', 'brucewayne');
  assert.deepEqual([answer.ok, answer.id], [true, 'org.couchdb.user:batman']);
});
await refused('signUp with a name that exists', 409, /conflict/, () => notes.signUp('batman', 'another-one'));
await refused('signUp with a role', 403, /forbidden/, () => (
  notes.signUp('joker', 'arthurfleck', { roles: ['villains'] })
));
await works('signUp with metadata', async () => {
  const metadata = { email: 'robin@example.org', birthday: '1932-03-27T00:00:00.000Z', likes: ['acrobatics'] };
  assert.equal((await notes.signUp('robin', 'dickgrayson', { metadata })).ok, true);
});
await refused('signUp without a password', 400, /password/, () => notes.signUp('nobody', ''));
await refused('logIn with a wrong password', 401, /unauthorized/, () => notes.logIn('robin', 'wrong'));
await works('logIn', async () => {
  const answer = await notes.logIn('robin', 'dickgrayson');
  assert.deepEqual([answer.ok, answer.name, answer.roles], [true, 'robin', []]);
});
await works('getSession', async () => assert.equal((await notes.getSession()).userCtx.name, 'robin'));
await works('getUser', async () => {
  const robin = await notes.getUser('robin');
  assert.deepEqual([robin.name, robin.type, robin.email], ['robin', 'user', 'robin@example.org']);
  assert.equal(robin.password, undefined);
});
await refused('getUser of another user', 404, /not_found/, () => notes.getUser('batman'));
await works('putUser with metadata', async () => {
  const { likes } = await notes.getUser('robin');
  await notes.putUser('robin', { metadata: { likes: [...likes, 'acting'] } });
  const robin = await notes.getUser('robin');
  assert.deepEqual([robin.likes, robin.email], [['acrobatics', 'acting'], 'robin@example.org']);
});
await refused('putUser with a reserved word', 400, /reserved word/, () => (
  notes.putUser('robin', { metadata: { salt: 'x' } })
));
await refused('putUser with a role by the user', 403, /forbidden/, () => notes.putUser('robin', { roles: ['heroes'] }));
await refused('deleteUser of another user', 404, /not_found/, () => notes.deleteUser('batman'));
await works('changePassword', async () => {
  assert.equal((await notes.changePassword('robin', 'will-i-am-robin')).ok, true);
  await notes.logOut();
  await assert.rejects(notes.logIn('robin', 'dickgrayson'), { status: 401 });
  assert.equal((await notes.logIn('robin', 'will-i-am-robin')).ok, true);
});
await works('logOut', async () => {
  assert.deepEqual(await notes.logOut(), { ok: true });
  assert.equal((await notes.getSession()).userCtx.name, null);
});
await works('logOut without a session', async () => assert.deepEqual(await notes.logOut(), { ok: true }));
await refused('getUser after logOut', 401, /unauthorized/, () => notes.getUser('robin'));

// A login in each request, which PouchDB itself sends, too.
const robin = as('robin', 'will-i-am-robin');
await works('getSession with Basic authentication', async () => {
  assert.equal((await robin.getSession()).userCtx.name, 'robin');
});
await works('a user that signed up writes to a database without members', async () => {
  assert.equal((await robin.put({ _id: 'of-robin' })).ok, true);
});

// Roles, which only an administrator gives.
await works('putUser with roles by an administrator', async () => {
  await administrator.putUser('robin', { roles: ['heroes'] });
  assert.deepEqual((await administrator.getUser('robin')).roles, ['heroes']);
  assert.deepEqual((await robin.getSession()).userCtx.roles, ['heroes']);
});
await works('a database for a role', async () => {
  await ask('PUT', 'notes/_security', { admins: { names: [anna] }, members: { roles: ['heroes'] } });
  assert.equal((await robin.get('of-robin'))._id, 'of-robin');
  await assert.rejects(as('batman', 'brucewayne').get('of-robin'));
});
await works('changePassword by an administrator', async () => {
  await administrator.changePassword('batman', 'the-dark-knight');
  assert.equal((await as('batman', 'the-dark-knight').getSession()).userCtx.name, 'batman');
});
// The hub stores no password in the document that the plugin copies, so the copy is refused and the user stays.
await refused('changeUsername by an administrator', 400, /needs a password/, () => (
  administrator.changeUsername('batman', 'bruce')
));
await works('getUser after a refused changeUsername', async () => {
  assert.equal((await as('batman', 'the-dark-knight').getSession()).userCtx.name, 'batman');
});
await refused('changeUsername to a name that exists', 400, /already exists/, () => (
  administrator.changeUsername('batman', 'robin')
));
await works('deleteUser by the user', async () => {
  assert.equal((await robin.deleteUser('robin')).ok, true);
  await assert.rejects(notes.logIn('robin', 'will-i-am-robin'), { status: 401 });
});
await works('deleteUser by an administrator', async () => {
  assert.equal((await administrator.deleteUser('batman')).ok, true);
  await assert.rejects(administrator.getUser('batman'), { status: 404 });
});

// The plugin creates administrators in the configuration, which the hub does not change.
await refused('signUpAdmin', 403, /forbidden/, () => administrator.signUpAdmin('alfred', 'pennyworth'));
await refused('deleteAdmin', 403, /forbidden/, () => administrator.deleteAdmin(anna));

end();
