// The database of the worker, as a test reads and changes it from a page.

import { readFile } from "node:fs/promises";

// Runs a function over the object stores `rows` and `contents`, and returns its result. The functions that it can use are
// `get`, `put`, `remove` and `keys`, each with the name of an object store.
export function inStore(page, act, ...values) {
  return page.evaluate(async (text, values) => {
    const answered = (request) => new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    const opened = await answered(indexedDB.open("bitsy"));
    const transaction = opened.transaction(["rows", "contents"], "readwrite", { durability: "strict" });
    const done = new Promise((resolve) => { transaction.oncomplete = resolve; });
    const store = {
      get: (name, key) => answered(transaction.objectStore(name).get(key)),
      put: (name, key, value) => answered(transaction.objectStore(name).put(value, key)),
      remove: (name, key) => answered(transaction.objectStore(name).delete(key)),
      keys: (name) => answered(transaction.objectStore(name).getAllKeys()),
    };
    const result = await new Function(`return (${text})`)()(store, ...values);
    await done;
    opened.close();
    return result;
  }, act.toString(), values);
}

// All rows, without the names of instances.
export async function rowsOf(page) {
  const rows = await inStore(page, async (store) => {
    const all = [];
    for (const key of await store.keys("rows")) all.push([key, await store.get("rows", key)]);
    return all;
  });
  return rows.filter(([key]) => !key.startsWith("m/") && key !== "s/owner");
}

export const versionOf = (page) => page.evaluate(async () =>
  (await indexedDB.databases()).find(({ name }) => name === "bitsy")?.version);

// Creates the store as a worker of version 1 left it: a subscription, an edit of an entry, and a new entry.
export async function fillVersion1(page, origin) {
  const fixture = new URL("../../../crates/feedsync-web/tests/fixtures/store-version-1.json", import.meta.url);
  const dump = JSON.parse((await readFile(fixture, "utf8")).replaceAll("https://notes.example", origin));
  await page.evaluate((dump) => new Promise((resolve, reject) => {
    const opening = indexedDB.open("bitsy", 1);
    opening.onerror = () => reject(opening.error);
    opening.onupgradeneeded = () => {
      const [rows, contents] = ["rows", "contents"].map((name) => opening.result.createObjectStore(name));
      for (const [key, text] of dump.rows) rows.put(text, key);
      for (const [digest, text] of dump.contents) contents.put(new TextEncoder().encode(text), digest);
    };
    opening.onsuccess = () => {
      opening.result.close();
      resolve();
    };
  }), dump);
  return dump;
}
