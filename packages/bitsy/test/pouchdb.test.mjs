// PouchDB in a page that the worker intercepts: its requests are its own.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { Browser, control, send } from "./browser.mjs";
import { Hub } from "./hub.mjs";
import { Origin, entry } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

const script = createRequire(import.meta.url).resolve("pouchdb/dist/pouchdb.min.js");

// An origin with the files of the worker, whose requests below /couch/ go to a hub.
async function withDatabases(hub) {
  const origin = await Origin.start();
  const carryOut = origin.carryOut.bind(origin);
  origin.requests = [];
  origin.carryOut = async (request, body, send) => {
    const { method, url, headers } = request;
    if (!url.startsWith("/couch/")) return carryOut(request, body, send);
    const sent = new Headers({ accept: "application/json" });
    for (const name of ["content-type", "if-match", "accept"]) if (headers[name]) sent.set(name, headers[name]);
    const isRead = method === "GET" || method === "HEAD";
    const response = await fetch(hub.url + url, { method, headers: sent, body: isRead ? undefined : body });
    origin.requests.push(`${method} ${url}`);
    const type = response.headers.get("content-type") ?? "application/json";
    return send(response.status, { "content-type": type }, Buffer.from(await response.arrayBuffer()));
  };
  return origin;
}

const documentsOf = async (hub) => {
  const { rows } = await (await fetch(`${hub.url}/couch/notes/_all_docs`, { headers: { accept: "application/json" } })).json();
  return rows.map(({ id }) => id).sort();
};

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    let hub;
    before(async () => {
      browser = await Browser.start(kind);
      hub = await Hub.start();
    });
    after(async () => {
      await browser.close();
      await hub.end();
    });

    test("PouchDB beside the worker syncs as without it, and the worker keeps only its own edits", async () => {
      const origin = await withDatabases(hub);
      origin.files.set("/pouchdb.js", ["text/javascript", await readFile(script)]);
      origin.entries.set("/entry/a", entry("a"));
      const world = await World.with(browser, origin);
      const { page } = world;
      await page.addScriptTag({ url: "/pouchdb.js" });
      const sync = (puts) => page.evaluate(async (puts) => {
        globalThis.notes ??= new PouchDB("notes");
        for (const _id of puts) await notes.put({ _id, text: `of ${_id}` });
        return PouchDB.sync("notes", new PouchDB(`${location.origin}/couch/notes`)).then(({ push, pull }) =>
          [push.docs_written, pull.docs_written, push.errors.length + pull.errors.length], ({ message }) => message);
      }, puts);
      assert.deepEqual(await sync(["one", "two"]), [2, 0, 0]);
      assert.deepEqual(await documentsOf(hub), ["one", "two"]);
      await world.offline();
      // PouchDB keeps the document and reports the failure, as it does without a worker.
      assert.equal(typeof await sync(["three"]), "string");
      assert.equal((await send(page, "PUT", world.at("/entry/a"), entry("mine"))).status, 200);
      assert.deepEqual((await control(page, "GET", "/outbox")).body.map(({ method, location }) => [method, location]),
        [["PUT", world.at("/entry/a")]]);
      await world.online();
      await world.delivered();
      assert.deepEqual(await sync(["four"]), [2, 0, 0]);
      assert.deepEqual(await documentsOf(hub), ["four", "one", "three", "two"]);
      assert.deepEqual(origin.log, ["PUT mine"]);
      assert.ok(origin.requests.some((line) => line.startsWith("POST /couch/notes/_bulk_docs")), `${origin.requests}`);
      const stored = await page.evaluate(async () => (await (await caches.open("bitsy-contents")).keys()).map(({ url }) => url));
      assert.ok(stored.every((url) => !url.includes("/couch/")));
      await world.end();
    });
  });
}
