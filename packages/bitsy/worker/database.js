// The stored data: rows of text by key, and contents by digest. Large contents are in the Cache API, because a page
// can stream them from there.

const DATABASE = "bitsy";
// Version of the layout. A worker with a newer one brings all rows to it; a worker with an older one changes nothing.
const VERSION = 2;
const LARGE = 64 * 1024;
// Names the instance of the worker that owns the data. A transaction of an earlier instance fails.
const OWNER = "m/owner";
// Names the database. It has another name after the browser has deleted it.
const INCARNATION = "m/incarnation";
// First characters of the keys of rows with the name of the person that a page works for.
const NAMES = "n/";

class Retired extends Error {
  constructor() {
    super("another instance of the worker has taken over");
  }
}

// The store was written by a newer worker. This one touches nothing.
class Outdated extends Error {
  constructor(version) {
    super(`the data of this site were stored by a newer version of the worker (version ${version ?? "unknown"}; this one has ` +
      `${VERSION}). Requests go to the server, edits are not stored, and waiting edits stay where they are. Reload the ` +
      "page to get the newer worker. If the site has gone back to an older one, it must serve the newer one again.");
  }
}

function finished(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new DOMException("aborted", "AbortError"));
  });
}

function answer(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

const beginning = (prefix) => IDBKeyRange.bound(prefix, `${prefix}\uffff`);

class Database {
  // Opens the store. `format` is the class of the decision core, which knows the texts and keys of rows.
  static async open(format) {
    const opening = indexedDB.open(DATABASE, VERSION);
    opening.onupgradeneeded = ({ oldVersion }) => {
      if (oldVersion === 0) {
        opening.result.createObjectStore("rows");
        opening.result.createObjectStore("contents");
      } else {
        migrate(opening.transaction, oldVersion, format);
      }
      opening.transaction.objectStore("rows").put(crypto.randomUUID(), INCARNATION);
    };
    let idb;
    try {
      idb = await answer(opening);
    } catch (error) {
      if (error?.name !== "VersionError") throw error;
      const all = await indexedDB.databases?.() ?? [];
      throw new Outdated(all.find(({ name }) => name === DATABASE)?.version);
    }
    const database = new Database(idb, crypto.randomUUID(), format);
    const transaction = database.idb.transaction("rows", "readwrite");
    const rows = transaction.objectStore("rows");
    const incarnation = answer(rows.get(INCARNATION));
    rows.put(database.instance, OWNER);
    await finished(transaction);
    database.incarnation = await incarnation;
    return database;
  }

  constructor(idb, instance, format) {
    this.idb = idb;
    this.instance = instance;
    this.format = format;
    this.prefixes = JSON.parse(format.keyPrefixes());
    // A newer worker may change the layout of the database, and a person may delete it.
    idb.onversionchange = () => this.close();
    idb.onclose = () => this.close();
    this.isClosed = false;
  }

  close() {
    this.isClosed = true;
    this.idb.close();
  }

  // The rows of the state.
  state() {
    return this.rowsBeginning(this.prefixes.state);
  }

  async rowsBeginning(prefix) {
    const rows = this.idb.transaction("rows").objectStore("rows");
    const range = beginning(prefix);
    const [keys, texts] = await Promise.all([answer(rows.getAllKeys(range)), answer(rows.getAll(range))]);
    return keys.map((key, index) => [key, texts[index]]);
  }

  async row(key) {
    const text = await answer(this.idb.transaction("rows").objectStore("rows").get(key));
    return text === undefined ? [] : [[key, text]];
  }

  // Begins to read a content that is probably needed next.
  readAhead(digest) {
    if (this.ahead?.digest === digest) return;
    const bytes = this.content(digest);
    bytes.catch(() => {});
    this.ahead = { digest, bytes };
  }

  // The bytes of a content, or undefined if they are gone or are not those that were stored.
  async content(digest) {
    if (this.ahead?.digest === digest) {
      const { bytes } = this.ahead;
      this.ahead = undefined;
      return bytes;
    }
    const bytes = await this.stored(digest);
    return bytes && (await received(bytes)).digest === digest ? bytes : undefined;
  }

  async stored(digest) {
    try {
      const found = await answer(this.idb.transaction("contents").objectStore("contents").get(digest));
      if (found !== undefined) return found instanceof Uint8Array ? found : undefined;
      const large = await (await caches.open(LARGE_CONTENTS)).match(contentUrl(digest));
      return large && new Uint8Array(await large.arrayBuffer());
    } catch (error) {
      if (this.isClosed) throw error;
      // The browser cannot read the bytes from its disk.
      complain(error);
      return undefined;
    }
  }

  // Commits rows and received contents in one transaction. Received contents become candidates of the next sweep,
  // which leaves them alone if a row refers to them.
  async commit({ rows, isDurable }, received, deleted = []) {
    for (const { digest, bytes, isEdit } of received) {
      if (bytes.byteLength > LARGE && !isEdit) {
        await (await caches.open(LARGE_CONTENTS)).put(contentUrl(digest), new Response(bytes));
      }
    }
    const durability = isDurable ? "strict" : "relaxed";
    const transaction = this.idb.transaction(["rows", "contents"], "readwrite", { durability });
    const stored = transaction.objectStore("rows");
    const contents = transaction.objectStore("contents");
    let owner;
    stored.get(OWNER).onsuccess = ({ target }) => {
      owner = target.result;
      if (owner !== this.instance) return transaction.abort();
      for (const [key, text] of rows) text === null ? stored.delete(key) : stored.put(text, key);
      for (const { digest, bytes, isEdit } of received) {
        // The body of an edit is in the same transaction as the edit, however large it is.
        if (bytes.byteLength <= LARGE || isEdit) contents.put(bytes, digest);
        stored.put("", this.prefixes.candidates + digest);
      }
      for (const digest of deleted) contents.delete(digest);
    };
    try {
      await finished(transaction);
    } catch (error) {
      throw owner !== undefined && owner !== this.instance ? new Retired() : error;
    }
    if (deleted.length) {
      const large = await caches.open(LARGE_CONTENTS);
      await Promise.all(deleted.map((digest) => large.delete(contentUrl(digest))));
    }
  }

  // Candidates of a sweep: keys, and whether a row refers to the content.
  async candidates(limit) {
    const rows = this.idb.transaction("rows").objectStore("rows");
    const { candidates } = this.prefixes;
    const keys = await answer(rows.getAllKeys(beginning(candidates), limit));
    const uses = keys.map((key) => answer(rows.count(this.usesOf(key.slice(candidates.length)))));
    return Promise.all(uses).then((counts) => keys.map((key, index) => [key, counts[index] > 0]));
  }

  // Deletes the names of persons of pages that do not exist any more.
  async forgetPages(open) {
    const names = await this.rowsBeginning(NAMES);
    const rows = names.filter(([key]) => !open.has(key.slice(NAMES.length))).map(([key]) => [key, null]);
    if (rows.length) await this.commit({ rows, isDurable: false }, []);
  }

  // Keys of the rows that refer to a content.
  async uses(digest) {
    const rows = this.idb.transaction("rows").objectStore("rows");
    return answer(rows.getAllKeys(this.usesOf(digest)));
  }

  usesOf(digest) {
    return beginning(`${this.prefixes.uses}${digest} `);
  }

  // Keys of the rows by which these rows refer to contents.
  async usesBy(keys) {
    const rows = this.idb.transaction("rows").objectStore("rows");
    const uses = await answer(rows.getAllKeys(beginning(this.prefixes.uses)));
    return uses.filter((use) => keys.some((key) => use.endsWith(` ${key}`)));
  }

  // The name of the person that a page works for; undefined if it has none, or if the row is damaged.
  async nameOf(page) {
    const [row] = await this.row(NAMES + page);
    return row && this.format.unsealRow(...row);
  }

  async setName(page, name) {
    const key = NAMES + page;
    const rows = [[key, name === undefined ? null : this.format.sealRow(key, name)]];
    await this.commit({ rows, isDurable: false }, []);
  }
}

// Brings all rows from an older version to the present one, in the transaction that changes the version.
function migrate(transaction, version, format) {
  transaction.objectStore("rows").openCursor().onsuccess = ({ target: { result: cursor } }) => {
    if (!cursor) return;
    const text = format.migratedRow(version, cursor.key, cursor.value);
    if (text === undefined) cursor.delete();
    else if (text !== cursor.value) cursor.update(text);
    cursor.continue();
  };
}

const LARGE_CONTENTS = "bitsy-contents";
const contentUrl = (digest) => new URL(`bitsy-content/${digest}`, self.location.href).href;

// The digest in the name of a content.
const digestOf = (name) => name.split(" ", 1)[0];

// A received content: its digest, its name in commands, and its bytes.
async function received(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const digest = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { digest, name: `${digest} ${bytes.byteLength}`, bytes };
}
