// A store of an older version is brought to the present one, and a store of a newer version is left alone.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, control, register, send, until } from "./browser.mjs";
import { Origin, entry, titlesOf } from "./origin.mjs";
import { fillVersion1, rowsOf, versionOf } from "./store.mjs";
import { KINDS, World } from "./world.mjs";

const WORKER = "/bitsy-worker.js";

// Fetches a newer worker, and waits until it responds to the page. It reloads the page, because a page of
// Firefox may keep the replaced worker, which never answers.
async function update(page) {
  await page.evaluate(async () => (await navigator.serviceWorker.getRegistration()).update());
  await until("the newer worker", async () => {
    await page.reload();
    return control(page, "GET", "/outbox");
  }, 60_000);
}

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    test("a store of version 1 keeps its subscription, its entries and its edits", async () => {
      const origin = await Origin.start();
      for (const title of ["a", "b"]) origin.entries.set(`/entry/${title}`, entry(title));
      const page = await browser.page(`${origin.url}/`);
      await fillVersion1(page, origin.url);
      await register(page);
      const { body } = await control(page, "GET", "/subscriptions");
      assert.deepEqual(body.map(({ feed }) => feed), [`${origin.url}/feed`]);
      assert.equal(await versionOf(page), 2);
      await until("the edits of version 1", async () => (await control(page, "GET", "/outbox")).body.length === 0);
      assert.deepEqual(origin.log, ["PUT a2", "POST c"]);
      assert.deepEqual((await control(page, "GET", "/problems")).body, []);
      await origin.stop();
      const { status, text } = await send(page, "GET", `${origin.url}/feed`);
      assert.deepEqual([status, titlesOf(text).sort()], [200, ["a2", "b", "c"]]);
      await page.close();
    });

    test("a migration that fails changes nothing, and the next one succeeds", async () => {
      const origin = await Origin.start();
      const page = await browser.page(`${origin.url}/`);
      const dump = await fillVersion1(page, origin.url);
      const [type, whole] = origin.files.get(WORKER);
      origin.change("if (text === undefined) cursor.delete();", "if (cursor.key.startsWith(\"s/edit\")) throw new Error(\"power cut\");");
      await register(page);
      await assert.rejects(control(page, "GET", "/outbox"));
      assert.equal(await versionOf(page), 1);
      assert.deepEqual(await rowsOf(page), dump.rows.filter(([key]) => key !== "s/owner").sort());
      origin.files.set(WORKER, [type, whole]);
      await update(page);
      assert.equal(await versionOf(page), 2);
      await until("the edits", async () => origin.log.includes("POST c"));
      await page.close();
      await origin.stop();
    });

    test("an open page reaches each worker that replaces the present one", async () => {
      const world = await World.start(browser, ["a"]);
      const { origin, page } = world;
      await page.addScriptTag({ url: "/bitsy.js" });
      await page.evaluate(() => bitsy.register("/bitsy-worker.js"));
      for (let version = 1; version <= 8; version += 1) {
        origin.change("self.BITSY_VERSION = \"", `self.BITSY_VERSION = "${version}`);
        const policy = version % 2 ? "offline" : "auto";
        const answer = await page.evaluate(async (policy) => {
          const registration = await navigator.serviceWorker.getRegistration();
          const { active } = registration;
          await registration.update();
          while (active.state !== "redundant") await new Promise((resolve) => setTimeout(resolve, 20));
          const late = new Promise((_, reject) => setTimeout(reject, 10_000, new Error("no answer")));
          return Promise.race([bitsy.setNetworkPolicy(policy), late]);
        }, policy);
        assert.equal(answer, policy);
      }
      await world.end();
    });

    test("a worker that is older than the store passes requests to the network, changes nothing, and says why", async () => {
      const world = await World.start(browser, ["a"]);
      const { origin, page } = world;
      await world.offline();
      await world.send("PUT", "/entry/a", entry("mine"));
      await origin.listen();
      origin.interfere = (method) => (method === "PUT" ? 503 : undefined);
      // The store is that of a newer worker from now on.
      await page.evaluate(() => new Promise((resolve, reject) => {
        const opening = indexedDB.open("bitsy", 3);
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          opening.result.close();
          resolve();
        };
      }));
      const stored = await rowsOf(page);
      await assert.rejects(world.control("GET", "/outbox"), /newer version of the worker \(version 3; this one has 2\).*Reload/);
      assert.deepEqual([(await world.send("GET", "/entry/a")).status, (await world.send("GET", "/none")).status], [200, 404]);
      origin.interfere = () => undefined;
      assert.equal((await world.send("POST", "/feed", entry("through"))).status, 201);
      assert.deepEqual(origin.log, ["POST through"]);
      await page.addScriptTag({ url: "/bitsy.js" });
      const heard = await page.evaluate(async () => {
        const heard = new Promise((resolve) => bitsy.addProblemListener(resolve));
        const why = await bitsy.register("/bitsy-worker.js").then(() => "", (error) => error.message);
        return { why, kind: (await heard).kind };
      });
      assert.match(heard.why, /newer version of the worker/);
      assert.equal(heard.kind, "version");
      assert.deepEqual(await rowsOf(page), stored);
      // The newer worker finds everything.
      origin.change("const VERSION = 2;", "const VERSION = 3;");
      await update(page);
      await world.online();
      await world.delivered();
      assert.deepEqual(origin.log, ["POST through", "PUT mine"]);
      await world.end();
    });
  });
}
