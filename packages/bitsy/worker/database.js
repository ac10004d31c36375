// The stored data: rows of text by key, and contents by digest. Large contents are in the Cache API, because a page
// can stream them from there.

const DATABASE = "bitsy";
const VERSION = 1;
const LARGE = 64 * 1024;
// Names the instance of the worker that owns the data. A transaction of an earlier instance fails.
const OWNER = "s/owner";
const STATE = "s/";

class Retired extends Error {
  constructor() {
    super("another instance of the worker has taken over");
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
  static async open() {
    const opening = indexedDB.open(DATABASE, VERSION);
    opening.onupgradeneeded = () => {
      opening.result.createObjectStore("rows");
      opening.result.createObjectStore("contents");
    };
    const database = new Database(await answer(opening), crypto.randomUUID());
    const transaction = database.idb.transaction("rows", "readwrite");
    transaction.objectStore("rows").put(database.instance, OWNER);
    await finished(transaction);
    return database;
  }

  constructor(idb, instance) {
    this.idb = idb;
    this.instance = instance;
    // A newer worker may change the layout of the database, and a person may delete it.
    idb.onversionchange = () => this.close();
    idb.onclose = () => this.close();
    this.isClosed = false;
  }

  close() {
    this.isClosed = true;
    this.idb.close();
  }

  // The rows of the state, without the name of the owner.
  async state() {
    const rows = await this.rowsBeginning(STATE);
    return rows.filter(([key]) => key !== OWNER);
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

  // The bytes of a content, or undefined if they are gone.
  async content(digest) {
    const found = await answer(this.idb.transaction("contents").objectStore("contents").get(digest));
    if (found !== undefined) return found;
    const large = await (await caches.open(LARGE_CONTENTS)).match(contentUrl(digest));
    return large && new Uint8Array(await large.arrayBuffer());
  }

  // The bytes of a content as the body of a response.
  async body(digest) {
    const large = await (await caches.open(LARGE_CONTENTS)).match(contentUrl(digest));
    return large?.body ?? this.content(digest);
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
        stored.put("", `c/${digest}`);
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
    const keys = await answer(rows.getAllKeys(beginning("c/"), limit));
    const uses = keys.map((key) => answer(rows.count(beginning(`u/${key.slice(2)} `))));
    return Promise.all(uses).then((counts) => keys.map((key, index) => [key, counts[index] > 0]));
  }

  // Deletes the names of persons of pages that do not exist any more.
  async forgetPages(open) {
    const names = await this.rowsBeginning("n/");
    const rows = names.filter(([key]) => !open.has(key.slice(2))).map(([key]) => [key, null]);
    if (rows.length) await this.commit({ rows, isDurable: false }, []);
  }

  // Keys of the rows that refer to a content.
  async uses(digest) {
    const rows = this.idb.transaction("rows").objectStore("rows");
    return answer(rows.getAllKeys(beginning(`u/${digest} `)));
  }
}

const LARGE_CONTENTS = "bitsy-contents";
const contentUrl = (digest) => new URL(`bitsy-content/${digest}`, self.location.href).href;

// A received content: its digest, its name in commands, and its bytes.
async function received(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const digest = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { digest, name: `${digest} ${bytes.byteLength}`, bytes };
}
