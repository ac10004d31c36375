// Devices that synchronise a vault of notes through a hub: they perform the actions and requests of the note plugin.

import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

import { ORIGINS, preflight, readable } from './origins.mjs';
import { PouchDB } from './suite.mjs';

export const MILESTONE = '_local/obsydian_livesync_milestone';
export const PARAMETERS = '_local/obsidian_livesync_sync_parameters';
export const VERSION = 'obsydian_livesync_version';

/** Selector for replications that leave out chunks, which are fetched on demand. */
export const NOTES = { type: { $ne: 'leaf' } };

export const PASSWORD = 'correct horse battery';

/** Starts a separate hub with the user `ann` and the users of `users`, which maps names to options of `user add`. */
export function hubWithUsers(place, users = {}, settings = []) {
  return place.ownHub(settings, (hub) => {
    for (const [name, rights] of Object.entries({ ann: ['--administrator'], ...users })) {
      hub.run(['user', 'add', name, ...rights, '--password-stdin'], `${PASSWORD}\n`);
    }
  });
}

/** Peak memory of a hub process in MiB; 0 if the system does not report it. */
export function most(hub) {
  const status = `/proc/${hub.process.pid}/status`;
  const peak = existsSync(status) && readFileSync(status, 'utf8').match(/VmHWM:\s+(\d+) kB/);
  return peak ? peak[1] / 1_024 : 0;
}

const hash = (text) => createHash('sha256').update(text).digest('hex');

export class Device {
  requests = [];
  #asked = new Set();

  /** Encrypts if a `passphrase` is given. Without an `origin`, it sends requests as a native client. */
  constructor(place, options = {}) {
    const { origin = ORIGINS[0], user = 'ann', size = 500, url = place.url, headers } = options;
    const { password = PASSWORD } = options;
    Object.assign(this, { place, origin, size, url, passphrase: options.passphrase });
    const login = Buffer.from(`${user}:${password}`).toString('base64');
    this.headers = { authorization: `Basic ${login}`, ...headers };
    this.id = randomBytes(8).toString('hex');
    this.local = place.local();
    this.remote = new PouchDB(url, { fetch: (url, init) => this.fetch(url, init) });
  }

  /** Sends a request as the browser of the application does, after its preflight request. */
  async fetch(url, { headers = {}, ...init } = {}) {
    const { origin } = this;
    const method = init.method ?? 'GET';
    const own = Object.fromEntries(headers.entries?.() ?? Object.entries(headers));
    const sent = { ...own, ...this.headers };
    this.requests.push({ method, url: decodeURIComponent(url), body: init.body });
    if (!origin) return PouchDB.fetch(url, { ...init, headers: sent });
    const question = `${method} ${url}`;
    if (!this.#asked.has(question)) {
      await preflight(url, origin, method, Object.keys(sent));
      this.#asked.add(question);
    }
    const answer = await PouchDB.fetch(url, { ...init, headers: { ...sent, origin } });
    readable(answer, origin, question);
    return answer;
  }

  /** Sends a request of the plugin outside its replications. */
  async ask(method, path, value, headers = { 'content-type': 'application/json' }) {
    const body = value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
    const answer = await this.fetch(`${this.url}${path}`, { method, body, headers });
    const text = await answer.text();
    let said;
    try {
      said = JSON.parse(text);
    } catch {
      // The body is not JSON.
    }
    return { status: answer.status, headers: answer.headers, text, value: said };
  }

  /** Initial requests of the plugin: type of the data, permitted devices, and salt. */
  async connect() {
    await this.remote.info();
    const found = async (path) => {
      const { status, value } = await this.ask('GET', `/${path}`);
      assert.ok(status === 200 || status === 404, `${path}: ${status}`);
      return status === 200 ? value : undefined;
    };
    const write = async (path, value) => {
      const { status, text } = await this.ask('PUT', `/${path}`, value);
      assert.equal(status, 201, text);
    };
    if (!await found(VERSION)) {
      await write(VERSION, { _id: VERSION, type: 'versioninfo', version: 12 });
    }
    const nobody = { _id: MILESTONE, type: 'milestoneinfo', locked: false, accepted_nodes: [] };
    const milestone = await found(MILESTONE) ?? nobody;
    this.isLockedOut = milestone.locked && !milestone.accepted_nodes.includes(this.id);
    if (this.isLockedOut) return;
    const accepted = new Set([...milestone.accepted_nodes, this.id]);
    await write(MILESTONE, { ...milestone, accepted_nodes: [...accepted] });
    if (!await found(PARAMETERS)) {
      const salt = randomBytes(32).toString('base64');
      await write(PARAMETERS, { _id: PARAMETERS, type: 'sync-parameters', pbkdf2salt: salt });
    }
    const { pbkdf2salt } = await found(PARAMETERS);
    if (this.passphrase) this.key = scryptSync(this.passphrase, pbkdf2salt, 32, { N: 1_024 });
  }

  /** Locks the database for devices that are not accepted, or unlocks it. */
  async lock(locked, accepted_nodes = [this.id]) {
    const { value } = await this.ask('GET', `/${MILESTONE}`);
    const told = { ...value, locked, accepted_nodes };
    assert.equal((await this.ask('PUT', `/${MILESTONE}`, told)).status, 201);
  }

  encrypted(text) {
    if (!this.key) return text;
    const [start, cipher] = this.#cipher(createCipheriv, randomBytes(12));
    const parts = [cipher.update(JSON.stringify(text)), cipher.final(), cipher.getAuthTag()];
    return `%=${Buffer.concat([start, ...parts]).toString('base64')}`;
  }

  decrypted(text) {
    if (!this.key) return text;
    const all = Buffer.from(text.slice(2), 'base64');
    const [, cipher] = this.#cipher(createDecipheriv, all.subarray(0, 12));
    cipher.setAuthTag(all.subarray(-16));
    return JSON.parse(Buffer.concat([cipher.update(all.subarray(12, -16)), cipher.final()]));
  }

  #cipher(make, start) {
    return [start, make('aes-256-gcm', this.key, start)];
  }

  noteId(path) {
    return this.key ? `f:${hash(this.key.toString('hex') + path)}` : path.toLowerCase();
  }

  /** Writes a file: the chunks that the database lacks, and the note that names them. */
  async write(path, content) {
    const isText = typeof content === 'string';
    const text = isText ? content : content.toString('base64');
    const chunks = new Map();
    const children = [];
    for (let at = 0; at < text.length; at += this.size) {
      const piece = text.slice(at, at + this.size);
      const name = BigInt(`0x${hash(piece).slice(0, 20)}`).toString(36);
      const _id = this.key ? `h:+${name}` : `h:${name}`;
      children.push(_id);
      chunks.set(_id, piece);
    }
    const { rows } = await this.local.allDocs({ keys: [...chunks.keys()] });
    const lacking = rows.filter(({ error }) => error).map(({ key }) => key);
    await this.local.bulkDocs(lacking.map((_id) => {
      const data = this.encrypted(chunks.get(_id));
      return { _id, type: 'leaf', data };
    }));
    const named = this.key
      ? { path: this.encrypted(JSON.stringify({ path, children })), children: [] }
      : { path, children };
    await this.#edit(path, {
      ...named, ctime: 1_700_000_000_000, mtime: Date.now(), size: text.length, deleted: undefined,
      type: isText ? 'plain' : 'newnote', eden: {},
    });
  }

  /** Deletes a file: its note is marked and stays. */
  delete(path) {
    return this.#edit(path, { deleted: true, mtime: Date.now() });
  }

  async #edit(path, change) {
    const _id = this.noteId(path);
    const before = await this.local.get(_id).catch(() => ({ _id }));
    await this.local.put({ ...before, ...change });
  }

  /** The note of a file, or undefined. */
  note(path, options = {}) {
    return this.local.get(this.noteId(path), options).catch(() => undefined);
  }

  /** Content of a file at a revision of its note. Missing chunks are fetched from the hub. */
  async read(path, options = {}) {
    const note = await this.note(path, options);
    if (!note || note.deleted) return undefined;
    const children = this.key ? JSON.parse(this.decrypted(note.path)).children : note.children;
    const here = (await this.local.allDocs({ keys: children, include_docs: true })).rows;
    const data = new Map(here.filter(({ doc }) => doc).map(({ key, doc }) => [key, doc.data]));
    const lacking = [...new Set(children.filter((id) => !data.has(id)))];
    for (let at = 0; at < lacking.length; at += 100) {
      const keys = lacking.slice(at, at + 100);
      const { value } = await this.ask('POST', '/_all_docs?include_docs=true', { keys });
      assert.deepEqual(value.rows.map(({ key }) => key), keys);
      const docs = value.rows.map(({ doc }) => doc);
      await this.local.bulkDocs(docs, { new_edits: false });
      for (const { _id, data: piece } of docs) data.set(_id, piece);
    }
    const pieces = children.map((id) => this.decrypted(data.get(id)));
    // The plugin decodes each piece of a binary file by itself.
    const decoded = (piece) => Buffer.from(piece, 'base64');
    return note.type === 'plain' ? pieces.join('') : Buffer.concat(pieces.map(decoded));
  }

  /** Options of the plugin's replications, once or live. */
  options(more = {}) {
    return { batch_size: 25, batches_limit: 25, heartbeat: 30_000, ...more };
  }

  async push() {
    const done = await this.local.replicate.to(this.remote, this.options());
    assert.deepEqual([done.ok, done.doc_write_failures], [true, 0]);
    return done;
  }

  async pull(selector = NOTES) {
    const done = await this.local.replicate.from(this.remote, this.options({ selector }));
    assert.deepEqual([done.ok, done.doc_write_failures], [true, 0]);
    return done;
  }

  async sync() {
    await this.pull();
    await this.push();
  }

  live(more = {}) {
    const both = this.options({ live: true, retry: true, back_off_function: () => 100, ...more });
    return this.place.while(this.local.sync(this.remote, { ...both, pull: { selector: NOTES } }));
  }
}

/** Starts a hub with users, and connects a device to it. */
export async function connected(place, options = {}, users = {}, settings = []) {
  await hubWithUsers(place, users, settings);
  const device = new Device(place, options);
  await device.connect();
  return device;
}

/** First download of a new device: all changes with their documents in one response, read line by line. */
export async function fastFetch(device, limit = 10_000) {
  const common = 'style=all_docs&conflicts=true&revs=true';
  const count = async (since) => {
    const query = `feed=normal&since=${since}&limit=1&include_docs=false&${common}`;
    const { status, value } = await device.ask('GET', `/_changes?${query}`);
    assert.equal(status, 200);
    assert.ok(Array.isArray(value.results) && Number.isInteger(value.pending) && value.last_seq);
    return value.results.length + value.pending;
  };
  await count('now');
  const told = await count(0);
  const rest = `since=0&limit=${Math.min(limit, told)}&timeout=1000`;
  const query = `feed=continuous&include_docs=true&${common}&${rest}`;
  const answer = await device.fetch(`${device.url}/_changes?${query}`);
  assert.equal(answer.status, 200);
  const rows = [];
  let line = [];
  for await (let part of answer.body) {
    for (let end = part.indexOf(10); end >= 0; end = part.indexOf(10)) {
      const text = Buffer.concat([...line, part.subarray(0, end)]).toString();
      if (text) rows.push(JSON.parse(text));
      [line, part] = [[], part.subarray(end + 1)];
    }
    line.push(part);
  }
  assert.equal(Buffer.concat(line).length, 0, 'it ends with a line');
  return { told, rows, end: rows.pop() };
}
