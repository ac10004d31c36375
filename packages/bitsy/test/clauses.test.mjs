// Clauses of BITSY that no other test in a browser shows.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, fetched, until } from "./browser.mjs";
import { entry } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    test("a page sets the network policy, which survives a reload, and edits wait until it is changed back", async () => {
      const world = await World.start(browser);
      const policy = (method, ...values) => world.page.evaluate(async (method, values) => {
        await bitsy.register("/bitsy-worker.js");
        return bitsy[method](...values);
      }, method, values);
      await world.page.addScriptTag({ url: "/bitsy.js" });
      assert.equal(await policy("setNetworkPolicy", "offline"), "offline");
      let requests = 0;
      world.origin.interfere = () => { requests += 1; };
      assert.equal((await world.send("GET", "/entry/a")).status, 200);
      assert.equal((await world.send("PUT", "/entry/a", entry("mine"))).status, 200);
      assert.equal(requests, 0);
      await world.page.reload();
      assert.deepEqual((await world.control("GET", "/network")).body, { policy: "offline" });
      assert.deepEqual(world.origin.log, []);
      assert.equal((await world.control("PUT", "/network", { policy: "auto" })).status, 200);
      await world.page.addScriptTag({ url: "/bitsy.js" });
      assert.equal(await policy("networkPolicy"), "auto");
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT mine"]);
      await assert.rejects(policy("setNetworkPolicy", "sometimes"), /one of auto, offline and online/);
      await world.end();
    });

    test("without the server HEAD has no body, responses carry a warning, and an unknown resource is 504", async () => {
      const world = await World.start(browser);
      await world.offline();
      const whole = await fetched(world.page, "GET", world.at("/entry/a"));
      const head = await fetched(world.page, "HEAD", world.at("/entry/a"));
      assert.deepEqual([head.status, head.text, head.headers.etag], [200, "", whole.headers.etag]);
      assert.equal((await world.send("PUT", "/entry/b", entry("b2"))).status, 200);
      assert.match((await fetched(world.page, "GET", world.at("/entry/a"))).headers.warning, /^11[012] /);
      await assert.rejects(fetched(world.page, "GET", world.at("/elsewhere")));
      assert.equal((await fetched(world.page, "GET", world.at("/entry/a"), { "if-match": "\"other\"" })).status, 412);
      assert.equal((await fetched(world.page, "GET", world.at("/entry/a"), { range: "bytes=0-3", "if-range": whole.headers.etag })).status, 206);
      assert.equal((await world.send("DELETE", "/entry/b")).status < 300, true);
      assert.ok([404, 410].includes((await fetched(world.page, "GET", world.at("/entry/b"))).status));
      await world.end();
    });

    test("a private feed is shown without its server only with the registered credentials", async () => {
      const world = await World.start(browser);
      const authorization = "Basic YW5uYTpzZWNyZXQ=";
      world.origin.entries.set("/entry/p", entry("private"));
      world.origin.interfere = (method, url, body, response, request) =>
        (url.startsWith("/feed?private") && request.headers.authorization !== authorization ? 401 : undefined);
      const carryOut = world.origin.carryOut.bind(world.origin);
      world.origin.carryOut = (request, body, send) =>
        carryOut({ method: request.method, url: request.url.replace("?private", ""), headers: request.headers }, body, send);
      const feed = world.at("/feed?private");
      const { status } = await world.control("POST", "/subscriptions", { feed, headers: [{ name: "Authorization", value: authorization }] });
      assert.equal(status, 201);
      await world.stored();
      await world.offline();
      await until("the private feed", async () => (await fetched(world.page, "GET", feed, { authorization })).status === 200);
      assert.match((await fetched(world.page, "GET", feed, { authorization })).text, /private/);
      for (const headers of [{}, { authorization: "Basic b3RoZXI=" }]) {
        const refused = await fetched(world.page, "GET", feed, headers);
        assert.equal(refused.status, 401, JSON.stringify(headers));
        assert.ok(refused.headers["www-authenticate"], "the challenge");
        assert.ok(!refused.text.includes("private"));
      }
      await world.end();
    });
  });
}
