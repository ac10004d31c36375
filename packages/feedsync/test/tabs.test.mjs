// IndexedDB in Chromium and Firefox: durability, several tabs, workers, a browser that is killed, two profiles and one hub.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "../../bitsy/test/browser.mjs";
import { HubProgram } from "./hub.mjs";
import { WebServer } from "./server.mjs";

const PAGE = `<!doctype html><title>test</title><link rel="icon" href="data:,"><script type="module">
  import * as feedsync from "/feedsync.mjs";
  window.replica = await feedsync.Replica.open("test");
  window.todo = await replica.collection("todo");
  window.seen = [];
  window.ready = true;
  for await (const change of todo.watch()) seen.push(change.item?.content.title ?? change.kind);
</script>`;

const WORKER = `import { Replica } from "/feedsync.mjs";
const todo = await (await Replica.open("test")).collection("todo");
onmessage = async ({ data }) => postMessage(await todo.add({ title: data }));
postMessage("ready");`;

for (const kind of process.env.FEEDSYNC_BROWSER?.split(",") ?? ["chrome", "firefox"]) {
  describe(kind, () => {
    let browser, hub, server;
    before(async () => {
      hub = await HubProgram.start();
      server = await WebServer.start({ hub, index: PAGE, pages: { "/worker.mjs": WORKER } });
      browser = await Browser.start(kind);
    });
    after(async () => {
      await browser?.close();
      await server?.stop();
      await hub?.remove();
    });

    const opened = async (from = browser) => {
      const page = await from.page(`${server.url}/`);
      await until("the replica", () => page.evaluate(() => window.ready));
      return page;
    };
    const titles = (page) => page.evaluate(async () => (await todo.items()).map(({ content }) => content.title).sort());

    test("tabs see each other's edits, and concurrent changes of two tabs are all made", async () => {
      const [one, other] = [await opened(), await opened()];
      const id = await one.evaluate(() => todo.add({ title: "0" }));
      await until("the edit", () => other.evaluate(() => seen.includes("0")));
      const count = (page) => page.evaluate(async (id) => {
        const change = ({ title }) => ({ title: String(Number(title) + 1) });
        await Promise.all(Array.from({ length: 25 }, () => todo.change(id, change)));
      }, id);
      await Promise.all([count(one), count(other)]);
      assert.deepEqual(await titles(one), ["50"]);
      assert.equal(await one.evaluate(async () => (await todo.conflicts()).length), 0);
      await one.evaluate((id) => todo.deleteLatest(id), id);
      await until("the deletion", () => other.evaluate(() => seen.includes("deleted")));
      await one.close();
      await other.close();
    });

    test("an edit of a tab on what another tab has changed is kept as a conflict", async () => {
      const [one, other] = [await opened(), await opened()];
      const id = await one.evaluate(() => todo.add({ title: "Milk" }));
      await other.evaluate(async (id) => { window.item = await todo.get(id); }, id);
      await one.evaluate((id) => todo.change(id, () => ({ title: "Oat milk" })), id);
      const outcome = await other.evaluate(async () => {
        item.content.title = "Two milks";
        return (await todo.update(item)).outcome;
      });
      assert.match(outcome, /^conflict/);
      await one.evaluate(async () => {
        const [conflict] = await todo.conflicts();
        await todo.resolve(conflict.remove());
      });
      assert.deepEqual(await titles(other), []);
      await one.close();
      await other.close();
    });

    test("a worker edits the same collection", async () => {
      const page = await opened();
      await page.evaluate(() => new Promise((resolve) => {
        const worker = new Worker("/worker.mjs", { type: "module" });
        worker.onmessage = ({ data }) => data === "ready" ? worker.postMessage("of a worker") : resolve();
      }));
      assert.deepEqual(await titles(page), ["of a worker"]);
      await page.evaluate(async () => { for (const { id } of await todo.items()) await todo.deleteLatest(id); });
      await page.close();
    });

    test("acknowledged edits survive a browser that is killed", async () => {
      let page = await opened();
      for (let number = 0; number < 10; number += 1) await page.evaluate((title) => todo.add({ title }), `edit ${number}`);
      await browser.kill();
      page = await opened();
      assert.equal((await titles(page)).length, 10);
      await page.evaluate(async () => { for (const { id } of await todo.items()) await todo.deleteLatest(id); });
      await page.close();
    });

    test("two profiles edit one item offline, and a resolution of one reaches the other", async () => {
      const second = await Browser.start(kind);
      const [anna, ben] = [await opened(), await opened(second)];
      const sync = (page) => page.evaluate(() => todo.sync("/collections/todo").then(() => "done", (error) => error.name));
      const id = await anna.evaluate(() => todo.add({ title: "Milk" }));
      assert.deepEqual([await sync(anna), await sync(ben)], ["done", "done"]);
      await hub.stop();
      await anna.evaluate((id) => todo.change(id, () => ({ title: "Oat milk" })), id);
      await ben.evaluate((id) => todo.change(id, () => ({ title: "Two milks" })), id);
      assert.deepEqual([await sync(anna), await sync(ben)], ["Offline", "Offline"]);
      await hub.listen();
      for (const page of [anna, ben, anna]) assert.equal(await sync(page), "done");
      const shown = await titles(anna);
      assert.deepEqual(await titles(ben), shown);
      await ben.evaluate(async () => {
        const [conflict] = await todo.conflicts();
        const titles = conflict.versions.map(({ content }) => content.title).sort();
        await todo.resolve(conflict.replace({ title: titles.join(" and ") }));
      });
      for (const page of [ben, anna]) assert.equal(await sync(page), "done");
      assert.deepEqual(await titles(anna), ["Oat milk and Two milks"]);
      await second.close();
      await anna.close();
    });
  });
}
