// Pages use the interface of BITSY (appendix C) over the worker.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "./browser.mjs";
import { Origin, entry } from "./origin.mjs";
import { KINDS } from "./world.mjs";

const PAGE = `<!doctype html><title>binding</title><script type="module">
  import { register } from "/bitsy.mjs";
  window.seen = [];
  window.started = register("/bitsy-worker.js", { shell: ["/", "/bitsy.mjs", "/bitsy.js"], partition: new URL(location).searchParams.get("person") ?? undefined })
    .then((bitsy) => { window.usable = true; return bitsy; }, (failure) => { window.failed = failure.message; });
</script>`;

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    async function opened(origin, query = "") {
      origin.files.set(`/${query}`, origin.files.get("/"));
      const page = await browser.page(`${origin.url}/${query}`);
      await until("the binding", () => page.evaluate(() => window.usable ?? window.failed));
      assert.equal(await page.evaluate(() => window.failed), undefined);
      return page;
    }

    const subscribe = (page, feed) => page.evaluate(async (feed) => {
      const subscription = bitsy.subscriptionBuilder().setFeed(feed).addFollow("edit").setInterval(60).build();
      subscription.addStateChangeEventListener((event) => window.seen.push(`state ${event.status}`));
      subscription.addSyncEventListener((event) => window.seen.push(`${event.method} ${event.status}`));
      window.subscription = await subscription.ready;
      return subscription.feed;
    }, feed);

    const put = (page, url, body) => page.evaluate(async (url, body) => {
      await fetch(url, { method: "PUT", body, headers: { "content-type": "application/atom+xml;type=entry" } });
    }, url, body);

    test("a page subscribes, sees states and events, and lists its subscriptions after a reload", async () => {
      const origin = await Origin.start(PAGE);
      origin.entries.set("/entry/a", entry("a"));
      const page = await opened(origin);
      assert.equal(await subscribe(page, `${origin.url}/feed`), `${origin.url}/feed`);
      await until("the state", () => page.evaluate(() => subscription.state === bitsy.Subscription.WAITING));
      assert.equal(await page.evaluate(() => subscription.interval), 60);
      assert.ok(await page.evaluate(() => subscription.lastUpdated > 0));
      assert.deepEqual(await page.evaluate(() => [...subscription.follows]), ["edit"]);
      assert.ok((await page.evaluate(() => window.seen)).includes("state 2"));
      await origin.stop();
      await put(page, `${origin.url}/entry/a`, entry("a2"));
      await origin.listen();
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await until("the event", () => page.evaluate(() => window.seen.includes("PUT 200")));
      await page.reload();
      await until("the list", () => page.evaluate(() => window.usable && bitsy.subscriptions.length === 1));
      assert.equal(await page.evaluate(() => bitsy.subscriptions[0].feed), `${origin.url}/feed`);
      await page.close();
      await origin.stop();
    });

    test("a refused edit is an error of the subscription, with its bytes, until it is cleared", async () => {
      const origin = await Origin.start(PAGE);
      origin.entries.set("/entry/a", entry("a"));
      const page = await opened(origin);
      await subscribe(page, `${origin.url}/feed`);
      await until("the state", () => page.evaluate(() => subscription.state === bitsy.Subscription.WAITING));
      await origin.stop();
      await put(page, `${origin.url}/entry/a`, entry("mine"));
      origin.entries.set("/entry/a", entry("theirs"));
      await origin.listen();
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await until("the error", () => page.evaluate(() => subscription.errors.length === 1));
      const [status, method, text] = await page.evaluate(() => {
        const [error] = subscription.errors;
        return [error.status, error.method, error.requestText];
      });
      assert.deepEqual([status, method], [412, "PUT"]);
      assert.match(text, /mine/);
      await page.evaluate(() => subscription.errors[0].clear());
      await until("no error", () => page.evaluate(() => subscription.errors.length === 0));
      await page.reload();
      await until("the list", () => page.evaluate(() => window.usable && bitsy.subscriptions.length === 1));
      assert.equal(await page.evaluate(() => bitsy.subscriptions[0].errors.length), 0);
      await page.close();
      await origin.stop();
    });

    test("pages of two persons have subscriptions of their own, and cookies cannot be registered", async () => {
      const origin = await Origin.start(PAGE);
      const anna = await opened(origin, "?person=anna");
      const ben = await opened(origin, "?person=ben");
      await subscribe(anna, `${origin.url}/feed`);
      await until("the list of anna", () => anna.evaluate(() => bitsy.subscriptions.length === 1));
      assert.equal(await ben.evaluate(() => bitsy.subscriptions.length), 0);
      const refusal = await ben.evaluate(async (feed) => {
        const builder = bitsy.subscriptionBuilder().setFeed(feed).setRequestHeader("Cookie", "a=b");
        return builder.build().ready.then(() => "none", (failure) => failure.message);
      }, `${origin.url}/feed`);
      assert.match(refusal, /cookies/);
      await anna.close();
      await ben.close();
      await origin.stop();
    });
  });
}
