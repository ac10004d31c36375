// The core as functions: requests and responses are JSON.

import init, { Batch, incorporate as incorporated, run } from "./core.mjs";
import { failure } from "./errors.mjs";

let loading;

/** Loads the core, once. In Node it is read from its file. */
export function load() {
  loading ??= (async () => {
    const address = new URL("core_bg.wasm", import.meta.url);
    if (address.protocol !== "file:" || globalThis.process?.versions?.node === undefined) {
      await init({ module_or_path: address });
      return;
    }
    const { readFile } = await import("node:fs/promises");
    await init({ module_or_path: await readFile(address) });
  })();
  loading.catch(() => { loading = undefined; });
  return loading;
}

// Texts of stored items and of content are inserted as they are: parsing and writing them again would change them.
const RAW = ["item", "base", "seen", "content"];

function written(request) {
  const members = [];
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined) continue;
    members.push(`${JSON.stringify(name)}:${RAW.includes(name) ? value : JSON.stringify(value)}`);
  }
  return `{${members.join(",")}}`;
}

function checked(text) {
  const response = JSON.parse(text);
  if (response.error !== undefined) throw failure(response);
  return response;
}

/** Carries out a request about one item. The response has the `item` as a text, with its exact bytes. */
export function decide(request) {
  return checked(run(written(request)));
}

/** Incorporates a document of a hub. `stored` has a record, or undefined, for each id. */
export function incorporate({ by, fresh, stored }, document) {
  const parts = [];
  for (const [id, record] of stored) {
    if (!record) continue;
    parts.push(`${JSON.stringify(id)}:${written({ item: record.text, issued: sequences(record.issued) })}`);
  }
  const request = `{"by":${JSON.stringify(by)},"fresh":${JSON.stringify(fresh)},"stored":{${parts.join(",")}}}`;
  return checked(incorporated(request, document));
}

/** Issued sequences without what was shown. */
export function sequences(issued) {
  return Object.fromEntries(Object.entries(issued).map(([by, { sequence }]) => [by, sequence]));
}

export { Batch };
