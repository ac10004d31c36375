// A page reads and edits a collection without its server, and the edits arrive later.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, ask, control, register, send, until } from "./browser.mjs";
import { Origin, entry, titlesOf } from "./origin.mjs";

for (const kind of (process.env.BITSY_BROWSERS ?? "chrome,firefox").split(",")) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    // A page whose collection has two entries, all of which are stored.
    async function subscribed() {
      const origin = await Origin.start();
      origin.entries.set("/entry/a", entry("a"));
      origin.entries.set("/entry/b", entry("b"));
      const page = await browser.page(`${origin.url}/`);
      await register(page);
      await ask(page, { bitsy: "shell", urls: [`${origin.url}/`] });
      const { status, body } = await control(page, "POST", "/subscriptions", { feed: `${origin.url}/feed`, follows: ["edit"] });
      assert.equal(status, 201, JSON.stringify(body));
      await until("the first round", async () => {
        const { body: [subscription] } = await control(page, "GET", "/subscriptions");
        return subscription.state === "WAITING";
      });
      return { origin, page };
    }

    test("edits made without the server are shown, survive a reload, and arrive in order", async () => {
      const { origin, page } = await subscribed();
      await origin.stop();
      const read = await send(page, "GET", `${origin.url}/feed`);
      assert.deepEqual([read.status, titlesOf(read.text)], [200, ["a", "b"]]);
      const put = await send(page, "PUT", `${origin.url}/entry/a`, entry("a2"));
      assert.equal(put.status, 200, put.text);
      const posted = await send(page, "POST", `${origin.url}/feed`, entry("c"));
      assert.equal(posted.status, 201, posted.text);
      const removed = await send(page, "DELETE", `${origin.url}/entry/b`);
      assert.equal(removed.status, 204, removed.text);
      const shown = async () => titlesOf((await send(page, "GET", `${origin.url}/feed`)).text).sort();
      assert.deepEqual(await shown(), ["a2", "c"]);
      await page.reload();
      assert.equal(await page.title(), "test");
      assert.deepEqual(await shown(), ["a2", "c"]);
      const { body: waiting } = await control(page, "GET", "/outbox");
      assert.deepEqual(waiting.map(({ method }) => method), ["PUT", "POST", "DELETE"]);
      await origin.listen();
      await ask(page, { bitsy: "online" });
      await until("the empty outbox", async () => (await control(page, "GET", "/outbox")).body.length === 0);
      assert.deepEqual(origin.log, ["PUT a2", "POST c", "DELETE /entry/b"]);
      assert.deepEqual((await control(page, "GET", "/errors")).body, []);
      await until("the fresh feed", async () => (await shown()).join() === "a2,c");
      await page.close();
      await origin.stop();
    });
  });
}
