// Damaged rows and bodies are noticed, reported and set aside, and everything else continues.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "./browser.mjs";
import { entry } from "./origin.mjs";
import { inStore } from "./store.mjs";
import { KINDS, World } from "./world.mjs";

// Changes one character of the first row whose key begins so.
const spoilRow = (page, prefix) => inStore(page, async (store, prefix) => {
  const key = (await store.keys("rows")).find((key) => key.startsWith(prefix));
  const text = await store.get("rows", key);
  const at = Math.floor(text.length / 2);
  await store.put("rows", key, text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1));
  return key;
}, prefix);

// Flips a bit of all stored bytes that contain this text.
const spoilContents = (page, text) => inStore(page, async (store, text) => {
  let spoiled = 0;
  for (const digest of await store.keys("contents")) {
    const bytes = await store.get("contents", digest);
    if (!new TextDecoder().decode(bytes).includes(text)) continue;
    bytes[bytes.length >> 1] ^= 4;
    await store.put("contents", digest, bytes);
    spoiled += 1;
  }
  return spoiled;
}, text);

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    // Ends the worker: the browser is killed, and another page is opened.
    async function restart(world) {
      await browser.kill();
      await world.open();
    }

    const problems = async (world) => (await world.control("GET", "/problems")).body;

    test("a damaged edit is an error, and the others leave", async () => {
      const world = await World.start(browser);
      await world.offline();
      await world.send("PUT", "/entry/a", entry("first"));
      await world.send("PUT", "/entry/b", entry("second"));
      await spoilRow(world.page, "s/edit ");
      await restart(world);
      const [problem, ...others] = await until("the problem", () => problems(world));
      assert.deepEqual([others, problem.kind], [[], "damaged"]);
      assert.match(problem.detail, /the stored edit was damaged and is not sent/);
      const [error] = await world.errors();
      assert.deepEqual([error.status, error.method, error.location], [500, "PUT", world.at("/entry/a")]);
      assert.equal((await world.control("POST", `/errors/${error.id}/retry`)).status, 409);
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT second"]);
      assert.equal((await world.control("DELETE", `/problems/${problem.id}`)).status, 204);
      assert.deepEqual(await problems(world), []);
      await world.end();
    });

    test("an edit with a damaged body is an error with its address, and is not sent", async () => {
      const world = await World.start(browser);
      await world.offline();
      await world.send("PUT", "/entry/a", entry("first"));
      await world.send("PUT", "/entry/b", entry("second"));
      assert.ok(await spoilContents(world.page, "<title>first") > 0);
      await restart(world);
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT second"]);
      const [error] = await until("the error", async () => (await world.errors()).length ? world.errors() : undefined);
      assert.deepEqual([error.status, error.method, error.location], [500, "PUT", world.at("/entry/a")]);
      assert.equal((await world.control("POST", `/errors/${error.id}/retry`)).status, 409);
      await world.end();
    });

    test("a damaged representation is fetched again, and is never served", async () => {
      const world = await World.start(browser);
      assert.ok(await spoilContents(world.page, "<title>a</title>") > 0);
      await restart(world);
      await world.offline();
      const { status, text } = await world.send("GET", "/entry/a");
      assert.deepEqual([status, text.includes("<title>")], [504, false]);
      await world.online();
      await world.control("POST", "/refresh");
      await until("the entry", async () => {
        await world.stored();
        await world.offline();
        const again = await world.send("GET", "/entry/a");
        if (again.status === 200) return true;
        await world.online();
        return false;
      });
      await world.end();
    });

    test("every other damaged row is reported to the page, and reads and edits go on", async () => {
      for (const prefix of ["s/subscription ", "s/counters", "s/hold ", "a/", "f/"]) {
        const world = await World.start(browser, ["a"]);
        await world.offline();
        await world.send("PUT", "/entry/a", entry("mine"));
        const key = await spoilRow(world.page, prefix);
        await restart(world);
        await world.online();
        await world.page.addScriptTag({ url: "/bitsy.js" });
        const feed = world.feed;
        const told = await world.page.evaluate(async (feed) => {
          const heard = new Promise((resolve) => bitsy.addProblemListener(resolve));
          await bitsy.register("/bitsy-worker.js");
          const subscription = bitsy.subscriptionBuilder().setFeed(feed).addFollow("edit").build();
          await subscription.ready;
          for (const path of ["/feed", "/entry/a"]) await fetch(path);
          const late = new Promise((resolve) => setTimeout(() => resolve({ kind: "none" }), 10_000));
          const { kind, detail } = await Promise.race([heard, late]);
          return { kind, detail };
        }, feed);
        assert.equal(told.kind, "damaged", `${key}: ${JSON.stringify(told)}`);
        await world.delivered();
        assert.deepEqual(world.origin.log, ["PUT mine"], key);
        await world.offline();
        assert.equal((await world.send("PUT", "/entry/a", entry("later"))).status, 200, key);
        await world.online();
        await world.delivered();
        assert.deepEqual(world.origin.log, ["PUT mine", "PUT later"], key);
        await world.end();
      }
    });
  });
}
