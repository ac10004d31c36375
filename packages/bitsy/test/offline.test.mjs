// A page reads and edits a collection without its server, and the edits arrive later.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "./browser.mjs";
import { entry } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    test("edits made without the server are shown, survive a reload, and arrive in order", async () => {
      const world = await World.start(browser);
      await world.offline();
      assert.deepEqual(await world.titles(), ["a", "b"]);
      assert.equal((await world.send("PUT", "/entry/a", entry("a2"))).status, 200);
      assert.equal((await world.send("POST", "/feed", entry("c"))).status, 201);
      assert.equal((await world.send("DELETE", "/entry/b")).status, 204);
      assert.deepEqual(await world.titles(), ["a2", "c"]);
      await world.page.reload();
      assert.equal(await world.page.title(), "test");
      assert.deepEqual(await world.titles(), ["a2", "c"]);
      assert.deepEqual((await world.outbox()).map(({ method }) => method), ["PUT", "POST", "DELETE"]);
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT a2", "POST c", "DELETE /entry/b"]);
      assert.deepEqual(await world.errors(), []);
      await until("the fresh feed", async () => (await world.titles()).join() === "a2,c");
      await world.end();
    });

    test("an edit of a version that changed meanwhile becomes an error with both versions, and can be sent again", async () => {
      const world = await World.start(browser);
      await world.offline();
      assert.equal((await world.send("PUT", "/entry/a", entry("mine"))).status, 200);
      world.origin.entries.set("/entry/a", entry("theirs"));
      await world.online();
      await world.delivered();
      const [error] = await until("the error", async () => (await world.errors()).length && world.errors());
      assert.deepEqual([error.status, error.method, error.isEdit], [412, "PUT", true]);
      assert.deepEqual(world.origin.log, []);
      const mine = await world.control("GET", `/errors/${error.id}/mine`);
      assert.match(mine.body.text, /mine/);
      const base = await world.control("GET", `/errors/${error.id}/base`);
      assert.match(base.body.text, /<title>a</);
      await until("their version", async () => (await world.send("GET", "/entry/a")).text.includes("theirs"));
      assert.equal((await world.control("POST", `/errors/${error.id}/retry`)).status, 204);
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT mine"]);
      assert.deepEqual(await world.errors(), []);
      await world.end();
    });

    test("an edit with the server is answered by the server, and seen at once", async () => {
      const world = await World.start(browser);
      const posted = await world.send("POST", "/feed", entry("c"));
      assert.deepEqual([posted.status, posted.headers.location], [201, world.at("/entry/1")]);
      assert.deepEqual(world.origin.log, ["POST c"]);
      assert.deepEqual(await world.titles(), ["a", "b", "c"]);
      const changed = await world.send("PUT", "/entry/1", entry("c2"));
      assert.equal(changed.status, 200);
      assert.deepEqual(await world.titles(), ["a", "b", "c2"]);
      assert.deepEqual(await world.outbox(), []);
      await world.end();
    });

    test("an edit is discarded before it leaves", async () => {
      const world = await World.start(browser);
      await world.offline();
      await world.send("PUT", "/entry/a", entry("no"));
      const [edit] = await world.outbox();
      assert.equal((await world.control("DELETE", `/outbox/${edit.id}`)).status, 204);
      assert.deepEqual(await world.titles(), ["a", "b"]);
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, []);
      await world.end();
    });

    test("requests outside of subscriptions are the browser's, with a network and without", async () => {
      const world = await World.start(browser);
      world.origin.files.set("/data.json", ["application/json", "{\"a\":1}"]);
      assert.equal((await world.send("GET", "/data.json")).text, "{\"a\":1}");
      assert.equal((await world.send("GET", "/none")).status, 404);
      await world.offline();
      await assert.rejects(world.send("GET", "/data.json"), /fetch/i);
      await world.end();
    });

    test("a body that is too large is refused and changes nothing", async () => {
      const world = await World.start(browser);
      await world.offline();
      const sent = await world.page.evaluate(async (url) => {
        const body = new Uint8Array(8 * 1024 * 1024 + 1);
        return (await fetch(url, { method: "PUT", body })).status;
      }, world.at("/entry/a"));
      assert.equal(sent, 413);
      assert.deepEqual(await world.outbox(), []);
      await world.end();
    });

    test("edits of two pages are in one outbox, and each page sees those of the other", async () => {
      const world = await World.start(browser);
      const first = world.page;
      await world.open();
      await world.offline();
      await world.send("PUT", "/entry/a", entry("second"));
      const second = world.page;
      world.page = first;
      await world.send("PUT", "/entry/b", entry("first"));
      assert.deepEqual(await world.titles(), ["first", "second"]);
      assert.equal((await world.outbox()).length, 2);
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT second", "PUT first"]);
      await second.close();
      await world.end();
    });
  });
}
