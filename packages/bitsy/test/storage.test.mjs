// The browser refuses to store more, or deletes what is stored. No acknowledged edit is lost unnoticed, and requests go on.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Browser, pause, stopper, until } from "./browser.mjs";
import { Origin, entry } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

// The code of the worker and a few entries fit.
const QUOTA = 8_000_000;

// The browser compresses what it stores, so that the text is random.
const large = (title, size) => entry(title).replace("<content>", `<content>${randomBytes(size / 2).toString("hex")}`);

// Lets the page use the binding, and collects the problems that it hears of.
async function listen(world) {
  await world.page.addScriptTag({ url: "/bitsy.js" });
  await world.page.evaluate(async () => {
    globalThis.heard = [];
    bitsy.addProblemListener(({ kind, detail, edits }) => heard.push({ kind, detail, edits }));
    await bitsy.register("/bitsy-worker.js");
  });
}

const heard = (world) => world.page.evaluate(() => globalThis.heard);

// After everything was deleted: the page has heard of it, and works as at the beginning.
async function checkAfterLoss(world) {
  const [problem] = await until("the problem", async () => {
    const all = await heard(world);
    return all.length ? all : undefined;
  });
  assert.equal(problem.kind, "evicted");
  assert.deepEqual(problem.edits, [{ method: "PUT", location: world.at("/entry/a") }]);
  assert.ok(problem.detail.includes(world.feed) && problem.detail.includes("1 edits"), problem.detail);
  await world.origin.listen();
  assert.equal((await world.send("GET", "/entry/a")).status, 200);
  const { status } = await world.control("POST", "/subscriptions", { feed: world.feed, follows: ["edit"] });
  assert.equal(status, 201);
  await world.stored();
  await world.offline();
  assert.equal((await world.send("PUT", "/entry/a", entry("later"))).status, 200);
  await world.online();
  await world.delivered();
  assert.deepEqual(world.origin.log, ["PUT later"]);
}

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    test("a person deletes the database while the worker runs, and the page hears what is lost", async () => {
      const world = await World.start(browser, ["a"]);
      await listen(world);
      await world.offline();
      assert.equal((await world.send("PUT", "/entry/a", entry("lost"))).status, 200);
      await until("the list of edits", async () => (await world.outbox()).length === 1);
      await world.page.evaluate(() => new Promise((resolve, reject) => {
        const deleting = indexedDB.deleteDatabase("bitsy");
        deleting.onsuccess = resolve;
        deleting.onerror = () => reject(deleting.error);
      }));
      await checkAfterLoss(world);
      await world.end();
    });

    if (kind !== "chrome") return;

    for (const isStopped of [false, true]) {
      test(`the browser deletes everything while the worker ${isStopped ? "is stopped" : "runs"}, and the page hears what is lost`, async () => {
        const world = await World.start(browser, ["a"]);
        await listen(world);
        await world.offline();
        assert.equal((await world.send("PUT", "/entry/a", entry("lost"))).status, 200);
        await until("the list of edits", async () => (await world.outbox()).length === 1);
        if (isStopped) await (await stopper(world.page))();
        const session = await world.page.createCDPSession();
        await session.send("Storage.clearDataForOrigin", { origin: world.origin.url, storageTypes: "indexeddb,cache_storage" });
        // The code of the worker is deleted, too, and loaded again.
        await world.origin.listen();
        await world.send("GET", "/entry/a");
        await world.offline();
        await checkAfterLoss(world);
        await world.end();
      });
    }

    // Starts with little space. The browser looks at the quota seldom, so that it is set before anything is stored.
    async function small() {
      const origin = await Origin.start();
      for (const title of ["a", "b"]) origin.entries.set(`/entry/${title}`, entry(title));
      const page = await browser.page(origin.url);
      const session = await page.createCDPSession();
      await session.send("Storage.overrideQuotaForOrigin", { origin: origin.url, quotaSize: QUOTA });
      const world = await World.with(browser, origin);
      return { world, widen: () => session.send("Storage.overrideQuotaForOrigin", { origin: origin.url }) };
    }

    test("an edit that does not fit is refused, and acknowledged ones stay", async () => {
      const { world, widen } = await small();
      await world.offline();
      const acknowledged = [];
      let refused;
      for (let number = 0; !refused && number < 20; number += 1) {
        const response = await world.send("POST", "/feed", large(`n${number}`, 2_500_000));
        if (response.status === 201) acknowledged.push(`n${number}`);
        else refused = response;
      }
      assert.equal(refused?.status, 507, `${acknowledged.length} edits fit`);
      assert.match(refused.text, /cannot be stored in this browser, and was not sent/);
      assert.equal((await world.outbox()).length, acknowledged.length);
      await widen();
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, acknowledged.map((title) => `POST ${title}`));
      await world.end();
    });

    test("a refresh that does not fit keeps the edits that wait", async () => {
      const { world, widen } = await small();
      await world.offline();
      assert.equal((await world.send("PUT", "/entry/b", entry("mine"))).status, 200);
      let isRefused = true;
      let reads = 0;
      world.origin.interfere = (method, url) => {
        if (method === "GET" && url === "/feed") reads += 1;
        return method === "PUT" && isRefused ? 503 : undefined;
      };
      world.origin.entries.set("/entry/a", large("grown", QUOTA));
      await world.online();
      await world.control("POST", "/refresh").catch(() => {});
      await until("an attempt", () => reads > 0);
      await pause(1_000);
      assert.deepEqual((await world.outbox()).map(({ location }) => location), [world.at("/entry/b")]);
      await world.offline();
      const { status, text } = await world.send("GET", "/entry/a");
      assert.ok(status === 504 || (status === 200 && text.includes("<title>a</title>")), `${status} ${text.slice(0, 100)}`);
      await widen();
      isRefused = false;
      await world.online();
      await world.control("POST", "/outbox/retry");
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT mine"]);
      await world.end();
    });
  });
}
