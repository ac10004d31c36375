// The requests of CouchDB 3.5's replicator: which requests it sends to a source and to a target, in which order and
// form, and which responses make it fail.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';

const BATCH = 500;
const FLUSHED = 512 << 10;

/** Media types that CouchDB compresses when it stores and sends attachments. */
const PACKED = /^text\/|^application\/(json|javascript|xml)/;

/** A database, accessed as by the replicator. */
export class Side {
  constructor(url) {
    this.url = url;
  }

  async ask(method, path, { body, headers = {}, statuses = [200, 201, 202] } = {}) {
    const signed = this.cookie ? { ...headers, cookie: this.cookie } : headers;
    const answer = await fetch(this.url + path, { method, body, headers: signed });
    if (!statuses.includes(answer.status)) {
      throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    }
    return answer;
  }

  async json(method, path, value, statuses) {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const body = value && JSON.stringify(value);
    return (await this.ask(method, path, { body, headers, statuses })).json();
  }

  /** Checks that the database exists, and reads its start time. A session with a cookie is tried first. */
  async open() {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const session = await fetch(new URL('/couch/_session', this.url), {
      method: 'POST',
      headers: form,
      body: 'name=a&password=b',
    });
    // With a session, the cookie is sent from then on; otherwise Basic authentication is used.
    assert.ok([200, 401, 404, 405].includes(session.status), `${session.status}`);
    if (session.status === 200) this.cookie = session.headers.get('set-cookie').split(';')[0];
    const { instance_start_time, update_seq } = await this.json('GET', '/');
    assert.equal(typeof instance_start_time, 'string');
    assert.ok(update_seq !== undefined);
    this.started = instance_start_time;
  }

  /** Ensures that all writes are on the disk, and that the database is still the same. */
  async commit() {
    const { ok, instance_start_time } = await this.json('POST', '/_ensure_full_commit', {});
    assert.equal(ok, true);
    assert.equal(instance_start_time, this.started, 'otherwise it never notes how far it is');
  }

  async checkpoint(id) {
    const local = encodeURIComponent(id);
    const answer = await this.ask('GET', `/_local/${local}`, { statuses: [200, 404] });
    const found = await answer.json();
    return answer.status === 200 ? found : undefined;
  }
}

/** Replicates the revisions that a target lacks; returns counts of the work. */
export async function replicate(source, target, { continuous = 0 } = {}) {
  await source.open();
  await target.open();
  const versions = [4, 3, 2, 1].map((version) => id(source, target, version));
  const known = [];
  for (const side of [source, target]) {
    // Checkpoints of older versions are searched, too.
    const [newest] = await Promise.all(versions.map((version) => side.checkpoint(version)));
    known.push(newest);
  }
  const since = common(...known);
  const session = randomBytes(16).toString('hex');
  const did = { since, read: 0, written: 0, multipart: 0, missing: 0 };
  let last = since;
  for (;;) {
    const rows = await changes(source, last, continuous);
    if (rows.length === 0) break;
    for (let from = 0; from < rows.length; from += BATCH) {
      const batch = rows.slice(from, from + BATCH);
      await carry(source, target, batch, did);
      last = batch.at(-1).seq;
    }
    if (!continuous) break;
  }
  if (last !== since) {
    await source.commit();
    await target.commit();
    const entry = { session_id: session, recorded_seq: last, docs_read: did.read };
    for (const [at, side] of [target, source].entries()) {
      const before = known[1 - at];
      await side.json('PUT', `/_local/${versions[0]}`, {
        _id: `_local/${versions[0]}`,
        ...(before && { _rev: before._rev }),
        // CouchDB includes this member.
        _revisions: { start: 0, ids: ['1'] },
        session_id: session,
        source_last_seq: last,
        replication_id_version: 4,
        history: [entry, ...(before?.history ?? [])].slice(0, 50),
      });
    }
  }
  const { pending, last_seq } = await source.json('GET',
    `/_changes?since=${encodeURIComponent(JSON.stringify(last).replaceAll('"', ''))}&limit=0`);
  did.pending = pending;
  assert.equal(last_seq, last === 0 ? last_seq : last);
  return did;
}

function id(source, target, version) {
  return createHash('md5').update(`${version} ${source.url} ${target.url}`).digest('hex');
}

/** Last common position of both sides. */
function common(source, target) {
  if (source === undefined || target === undefined) return 0;
  if (source.session_id === target.session_id) return source.source_last_seq;
  const there = new Map(target.history.map((it) => [it.session_id, it.recorded_seq]));
  return source.history.find((it) => there.has(it.session_id))?.recorded_seq ?? 0;
}

/**
 * Reads all changes in one request. A continuous feed consists of lines, and ends after this many idle milliseconds.
 */
async function changes(source, since, continuous) {
  const feed = continuous ? 'continuous' : 'normal';
  const place = encodeURIComponent(since);
  const path = `/_changes?feed=${feed}&style=all_docs&since=${place}&timeout=${continuous || 10_000}`;
  const answer = await source.ask('GET', path);
  const text = await answer.text();
  if (!continuous) return JSON.parse(text).results;
  const lines = text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line));
  assert.ok('last_seq' in lines.at(-1), 'the last line says how far it came');
  return lines.slice(0, -1);
}

async function carry(source, target, rows, did) {
  const asked = Object.fromEntries(rows.map(({ id, changes }) => [id, changes.map(({ rev }) => rev)]));
  const missing = await target.json('POST', '/_revs_diff', asked);
  const wanted = [];
  for (const [id, { missing: revs, possible_ancestors }] of Object.entries(missing)) {
    for (const rev of revs) wanted.push({ id, rev, atts_since: possible_ancestors ?? [] });
  }
  if (wanted.length === 0) return;
  did.missing += wanted.length;
  const { results, ...others } = await source.json(
    'POST',
    '/_bulk_get?latest=true&revs=true&attachments=false',
    { docs: wanted, latest: true, revs: true, attachments: false },
  );
  // The replicator iterates over both lists in parallel, and discards any other response.
  assert.deepEqual(Object.keys(others), []);
  assert.equal(results.length, wanted.length);
  let bulk = [];
  let length = 0;
  const flush = async () => {
    if (bulk.length === 0) return;
    const failures = await target.json('POST', '/_bulk_docs', { docs: bulk, new_edits: false });
    assert.deepEqual(failures, [], 'only failures are told');
    did.written += bulk.length;
    [bulk, length] = [[], 0];
  };
  for (const [at, { id, docs }] of results.entries()) {
    assert.equal(id, wanted[at].id);
    for (const { ok } of docs) {
      assert.ok(ok, `${id} ${wanted[at].rev}`);
      did.read += 1;
      if (ok._attachments || id.startsWith('_design/')) {
        await carryWhole(source, target, wanted[at], did);
        continue;
      }
      bulk.push(ok);
      length += JSON.stringify(ok).length;
      if (length > FLUSHED) await flush();
    }
  }
  await flush();
}

/** Copies a document with the content of its attachments, part by part. */
async function carryWhole(source, target, { id, rev, atts_since }, did) {
  const query = new URLSearchParams({ revs: 'true', open_revs: JSON.stringify([rev]), latest: 'true' });
  if (atts_since.length > 0) query.set('atts_since', JSON.stringify(atts_since));
  const path = `/${address(id)}`;
  const answer = await source.ask('GET', `${path}?${query}`, { headers: { accept: 'multipart/mixed' } });
  const type = answer.headers.get('content-type');
  assert.match(type, /^multipart\/mixed/, 'it crashes on anything else');
  for (const part of parts(Buffer.from(await answer.arrayBuffer()), type)) {
    const kind = part.headers.get('content-type');
    assert.ok(!kind.includes('error='), part.body.toString());
    if (kind.startsWith('application/json')) {
      const document = JSON.parse(part.body);
      assert.deepEqual(await target.json('POST', '/_bulk_docs', { docs: [document], new_edits: false }), []);
    } else {
      await put(target, path, related(part.body, kind));
      did.multipart += 1;
    }
    did.written += 1;
  }
}

/** Parses a `multipart/related` body; returns the document and the attachments that follow it, by name. */
function related(body, type) {
  assert.match(type, /^multipart\/related/);
  const [first, ...rest] = parts(body, type);
  const document = JSON.parse(first.body);
  const following = Object.entries(document._attachments).filter(([, it]) => it.follows);
  assert.equal(rest.length, following.length, 'each that follows has a part, in their order');
  const files = following.map(([name, { length }], at) => {
    const { headers, body: bytes } = rest[at];
    assert.ok(headers.get('content-disposition').includes('filename='), headers.get('content-disposition'));
    assert.equal(bytes.length, Number(headers.get('content-length')));
    assert.equal(bytes.length, length);
    return { name, type: headers.get('content-type'), bytes };
  });
  return { document, files };
}

/** Sends a document as CouchDB does: compressed attachments stay compressed, and the total length is known. */
async function put(target, path, { document, files }) {
  const boundary = randomBytes(16).toString('hex');
  const all = [];
  for (const { name, type, bytes } of files) {
    const isPacked = PACKED.test(type);
    const sent = isPacked ? gzipSync(bytes) : bytes;
    Object.assign(document._attachments[name], {
      digest: `md5-${createHash('md5').update(sent).digest('base64')}`,
      ...(isPacked && { encoding: 'gzip', encoded_length: sent.length }),
    });
    const coding = isPacked ? 'Content-Encoding: gzip\r\n' : '';
    const quoted = name.replaceAll(/["\\]/g, '\\$&');
    all.push(`\r\n--${boundary}\r\nContent-Disposition: attachment; filename="${quoted}"\r\n`
      + `Content-Type: ${type}\r\nContent-Length: ${sent.length}\r\n${coding}\r\n`, sent);
  }
  const body = Buffer.concat([
    `--${boundary}\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(document)}`,
    ...all,
    `\r\n--${boundary}--`,
  ].map((it) => Buffer.from(it)));
  await target.ask('PUT', `${path}?new_edits=false`, {
    body,
    headers: { 'content-type': `multipart/related; boundary="${boundary}"` },
    statuses: [201],
  });
}

/** Parts of a multipart body, each with its headers. */
function parts(body, type) {
  const boundary = type.match(/boundary="?([^";]+)"?/)[1];
  const line = Buffer.from(`--${boundary}`);
  const found = [];
  let from = body.indexOf(line) + line.length;
  for (;;) {
    if (body.subarray(from, from + 2).toString() === '--') return found;
    const next = body.indexOf(`\r\n${line}`, from);
    assert.ok(next > 0, 'the last part has an end');
    const head = body.indexOf('\r\n\r\n', from);
    const headers = new Headers(body.subarray(from, head).toString().trim().split('\r\n')
      .map((header) => header.split(/: (.*)/s).slice(0, 2)));
    found.push({ headers, body: body.subarray(head + 4, next) });
    from = next + 2 + line.length;
  }
}

function address(id) {
  const [, before, rest] = id.match(/^(_design\/)?(.*)$/s);
  return (before ?? '') + encodeURIComponent(rest);
}
