// Clients on other machines, which sign in.

import assert from 'node:assert/strict';

import { bytes, documents, pull, push, refused, same, store, until } from './replicas.mjs';
import { PouchDB, scenario } from './suite.mjs';

const PASSWORD = 'correct horse battery';

/** Starts a hub behind a proxy, with a user; returns the credentials and headers of a client. */
async function behind(place, ...settings) {
  const user = ['user', 'add', 'ann', '--administrator', '--password-stdin'];
  const addUser = (hub) => hub.run(user, `${PASSWORD}\n`);
  await place.ownHub(['--trusted-proxies', '127.0.0.1', ...settings], addUser);
  const auth = { username: 'ann', password: PASSWORD };
  const headers = { 'X-Forwarded-For': '203.0.113.7' };
  return { auth, headers };
}

/** Creates four hundred documents, each with an attachment. */
function illustrated() {
  return documents(400, (number) => {
    const data = bytes(200, number).toString('base64');
    return { _attachments: { data: { content_type: 'image/png', data } } };
  });
}

scenario('who signs in may replicate, others may not', async (place) => {
  const options = await behind(place);
  const [client, hub] = [place.local(), place.remote(options)];
  await store(client, documents(10));
  await push(client, hub);
  await same(client, hub);
  const stranger = place.remote({ headers: options.headers });
  await refused(stranger.info().then((info) => {
    if (info.error) throw { status: info.error === 'unauthorized' ? 401 : 0, ...info };
  }), 401);
  const auth = { username: 'ann', password: 'wrong' };
  await refused(place.remote({ ...options, auth }).get('document-00001'), 401);
});

scenario('a client elsewhere pulls and pushes four hundred attachments', async (place) => {
  const options = await behind(place);
  const [one, other] = [place.local(), place.local()];
  await store(one, illustrated());
  await push(one, place.remote(options));
  await pull(other, place.remote(options));
  assert.equal((await other.info()).doc_count, 400);
  const data = await other.getAttachment('document-00399', 'data');
  assert.equal(Buffer.compare(data, bytes(200, 399)), 0);
});

scenario('a client elsewhere that tries again gets all attachments at last', async (place) => {
  const options = await behind(place);
  const [near, client] = [place.remote({ auth: options.auth }), place.local()];
  await store(near, illustrated());
  place.while(client.replicate.from(place.remote(options), {
    live: true, retry: true, back_off_function: () => 500,
  }));
  const all = async () => (await client.info()).doc_count === 400;
  await until('all documents', all, 18_000);
});

scenario('who asks too often is told so as of anything else', async (place) => {
  const slow = ['--limits-client-requests', '1', '--limits-client-burst', '3'];
  const { headers } = await behind(place, ...slow);
  const origin = 'app://obsidian.md';
  // Requests with credentials are not counted by the limit.
  const ask = () => place.raw('GET', '', undefined, { ...headers, origin });
  const refusal = await until('a refusal', async () => {
    const answer = await ask();
    return answer.status === 429 && answer;
  });
  for (const { headers, value, text } of [refusal, await ask(), await ask(), await ask()]) {
    assert.equal(headers.get('access-control-allow-origin'), origin);
    assert.equal(headers.get('content-type'), 'application/json');
    assert.deepEqual([typeof value.error, typeof value.reason], ['string', 'string'], text);
  }
});

scenario('a client elsewhere makes three hundred edits in a row', async (place) => {
  const hub = place.remote(await behind(place));
  for (const document of documents(300)) await hub.put(document);
  assert.equal((await hub.info()).doc_count, 300);
});

scenario('a page of another origin replicates, and refusals tell it so', async (place) => {
  const { auth } = await behind(place);
  const Origin = 'app://obsidian.md';
  const fetch = (url, init) => {
    init.headers.set('Origin', Origin);
    return PouchDB.fetch(url, init).then((answer) => {
      assert.equal(answer.headers.get('access-control-allow-origin'), Origin, url);
      assert.equal(answer.headers.get('access-control-allow-credentials'), 'true', url);
      return answer;
    });
  };
  const [client, hub] = [place.local(), place.remote({ auth, fetch })];
  await store(client, documents(5));
  await push(client, hub);
  await refused(hub.get('nothing'), 404);
  await refused(hub.put({ _id: 'document-00001' }), 409);
  await refused(hub.put({ _id: 'x', _rev: 'bad' }), 400);
});
