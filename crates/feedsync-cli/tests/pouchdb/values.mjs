// Values in documents stay exactly as they were written.

import assert from 'node:assert/strict';

import { edit, pull, settle } from './replicas.mjs';
import { onEachAdapter, scenario } from './suite.mjs';

/** Values that many parsers would write differently. */
const VALUES = ['1.0', '1.50', '1e5', '1E+2', '-0', '-0.0', '0.1', '12345678901234567890123',
  '9007199254740993', '1e400', '0.30000000000000004', '1.7976931348623157e308', '5e-324',
  '"\\ud83d"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\u00e9"', '"e\u0301"', '"\\/"', '"\u2028"',
  '"\u{1f600}"', '[]', '{}', '{"b":1,"a":2}', '{"2":1,"1":2}', '{"a":{"b":[1.0,{"c":1e2}]}}',
  '{"__proto__":{"x":1}}', 'null', 'true', '" "', '""'];

const text = `{${VALUES.map((value, index) => `"v${index}":${value}`).join(',')}}`;

/** Removes optional white space between JSON tokens. */
const dense = (text) => text.replaceAll(/,\s+"/g, ',"').replaceAll('": ', '":');

function intact(answer, what) {
  for (const [index, value] of VALUES.entries()) {
    assert.ok(dense(answer).includes(`"v${index}":${value}`),
      `${what} tells ${value} otherwise: ${answer.slice(answer.indexOf(`"v${index}"`)).slice(0, 80)}`);
  }
}

scenario('numbers and strings come as they went', async (place) => {
  await place.raw('PUT', '');
  assert.equal((await place.raw('PUT', '/one', text)).status, 201);
  const many = `{"docs":[{"_id":"two",${text.slice(1)}]}`;
  assert.equal((await place.raw('POST', '/_bulk_docs', many)).status, 201);
  const replicated = `{"new_edits":false,"docs":[{"_id":"three","_rev":"1-a",${text.slice(1)}]}`;
  assert.equal((await place.raw('POST', '/_bulk_docs', replicated)).status, 201);
  for (const id of ['one', 'two', 'three']) {
    const key = encodeURIComponent(JSON.stringify(id));
    for (const [method, path, body] of [
      ['GET', `/${id}`],
      ['GET', `/${id}?open_revs=all`],
      ['GET', `/_all_docs?include_docs=true&key=${key}`],
      ['GET', `/_changes?include_docs=true&filter=_doc_ids&doc_ids=[${key}]`],
      ['POST', '/_bulk_get?revs=true&latest=true', `{"docs":[{"id":"${id}"}]}`],
      ['POST', '/_find', `{"selector":{"_id":"${id}"}}`],
    ]) {
      const answer = await place.raw(method, path, body);
      assert.equal(answer.status, 200, path);
      intact(answer.text, `${method} ${path}`);
    }
  }
});

scenario('they still do once something is attached, and in local documents', async (place) => {
  await place.raw('PUT', '');
  const { value } = await place.raw('PUT', '/it', text);
  await place.remote().putAttachment('it', 'note', value.rev, Buffer.from('x'), 'text/plain');
  intact((await place.raw('GET', '/it')).text, 'GET /it');
  assert.equal((await place.raw('PUT', '/_local/it', text)).status, 201);
  intact((await place.raw('GET', '/_local/it')).text, 'GET /_local/it');
});

scenario('what means the same has the same revision', async (place) => {
  await place.raw('PUT', '');
  const revision = async (id, text) => (await place.raw('PUT', `/${id}`, text)).value.rev;
  const first = await revision('a', '{"x":1,"y":[1,2]}');
  assert.equal(await revision('b', '{ "y" : [1, 2], "x" : 1 }'), first);
  assert.notEqual(await revision('c', '{"x":1,"y":[2,1]}'), first);
  assert.notEqual(await revision('d', '{"x":"1","y":[1,2]}'), first);
});

onEachAdapter('strings of every kind go through a client and back', async (place) => {
  const [one, other, hub] = [place.local(), place.local(), place.remote()];
  const strings = ['\ud83d', '\ude00', '\ud83d\ude00', '\u0000', '\u0001', '\ufeff', '\uffff', 'e\u0301',
    '\u00e9', '\u2028', '\\', '"', '\\u0041', '\r\n', ' \t ', 'x'.repeat(100_000), '\u{10ffff}'];
  const numbers = [0, -0, 1.5, 1e21, 5e-324, Number.MAX_SAFE_INTEGER, -1e308];
  await one.put({ _id: 'it', strings, numbers });
  await settle(hub, one, other);
  assert.deepEqual((await hub.get('it')).strings, strings);
  assert.deepEqual((await other.get('it')).strings, strings);
  assert.deepEqual((await other.get('it')).numbers.map(String), numbers.map(String));
  await edit(other, 'it', { edited: true });
  await settle(hub, one, other);
  assert.deepEqual((await one.get('it')).strings, strings);
});

scenario('deep documents go through, bottomless ones are refused', async (place) => {
  const [hub, client] = [place.remote(), place.local()];
  const nested = (depth) => `{"deep":${'['.repeat(depth)}1${']'.repeat(depth)}}`;
  await hub.info();
  assert.equal((await place.raw('PUT', '/deep', nested(90))).status, 201);
  await pull(client, hub);
  assert.ok(await client.get('deep'));
  const { status } = await place.raw('PUT', '/bottomless', nested(200_000));
  assert.ok(status === 400 || status === 201, `${status}`);
  assert.equal((await place.raw('GET', '/deep')).status, 200);
});

scenario('what is no document is refused', async (place) => {
  await place.raw('PUT', '');
  for (const body of ['[]', '1', '"x"', 'null', '{', '', '{"a":1}x', '{"_rev":7}', '{"_deleted":"x"}',
    '{"_attachments":[]}', '{"_attachments":{"a":{"data":"%"}}}', '{"_other":1}']) {
    const { status, value } = await place.raw('PUT', '/it', body);
    assert.equal(status, 400, `${body}: ${JSON.stringify(value)}`);
    assert.equal(typeof value.error, 'string');
    assert.equal(typeof value.reason, 'string');
  }
  assert.equal((await place.raw('GET', '/it')).status, 404);
});

scenario('members that the hub makes are not kept', async (place) => {
  await place.raw('PUT', '');
  const sent = '{"_id":"other","_conflicts":["1-x"],"_revs_info":[],"_local_seq":7,"text":"it"}';
  assert.equal((await place.raw('PUT', '/it', sent)).status, 201);
  const { value } = await place.raw('GET', '/it');
  assert.deepEqual(value, { _id: 'it', _rev: value._rev, text: 'it' });
});
