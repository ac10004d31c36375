// Requests and responses as HTTP defines them: parts, conditions, redirections, cookies, large documents.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "./browser.mjs";
import { entry, titlesOf } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    const get = (page, url, headers) => page.evaluate(async (url, headers) => {
      const response = await fetch(url, { headers, cache: "no-store" });
      const { status } = response;
      return { status, range: response.headers.get("content-range"), etag: response.headers.get("etag"), text: await response.text() };
    }, url, headers);

    test("a stored response is given in part, and not at all to a page that has it", async () => {
      const world = await World.start(browser);
      await world.offline();
      const url = world.at("/entry/a");
      const whole = await get(world.page, url, {});
      assert.equal(whole.status, 200);
      const part = await get(world.page, url, { range: "bytes=2-5" });
      assert.deepEqual(part, { ...part, status: 206, text: whole.text.slice(2, 6), range: `bytes 2-5/${whole.text.length}` });
      const end = await get(world.page, url, { range: "bytes=-4" });
      assert.deepEqual([end.status, end.text], [206, whole.text.slice(-4)]);
      const beyond = await get(world.page, url, { range: "bytes=100000-" });
      assert.deepEqual([beyond.status, beyond.range], [416, `bytes */${whole.text.length}`]);
      const same = await get(world.page, url, { "if-none-match": whole.etag });
      assert.deepEqual([same.status, same.text], [304, ""]);
      assert.equal((await get(world.page, url, { "if-none-match": "\"other\"" })).status, 200);
      await world.end();
    });

    test("a feed of two megabytes is stored and read without the server", async () => {
      const world = await World.start(browser, ["a"]);
      const { origin } = world;
      const long = "x".repeat(2 * 1024 * 1024);
      origin.entries.set("/entry/a", entry("a").replace("<content>", `<content>${long}`));
      await world.control("POST", "/refresh");
      await until("the large feed", async () => {
        const [subscription] = (await world.control("GET", "/subscriptions")).body;
        const { text } = await world.send("GET", "/feed");
        return subscription.state === "WAITING" && text.length > long.length;
      });
      await world.offline();
      const { status, text } = await world.send("GET", "/feed");
      assert.deepEqual([status, titlesOf(text)], [200, ["a"]]);
      await world.end();
    });

    test("a server that redirects a POST has not carried it out, and the edit is not lost", async () => {
      const world = await World.start(browser);
      world.origin.interfere = (method, url, body, response) => {
        if (method !== "POST") return undefined;
        response.writeHead(301, { location: "/feed" }).end();
        return "answered";
      };
      await world.offline();
      assert.equal((await world.send("POST", "/feed", entry("c"))).status, 201);
      await world.online();
      const kept = () => Promise.all([world.outbox(), world.errors()]);
      await until("an attempt", async () => {
        const [edits, errors] = await kept();
        return errors.length > 0 || edits.some(({ tries }) => tries > 0);
      });
      const [edits, errors] = await kept();
      assert.equal(edits.length + errors.filter(({ method }) => method === "POST").length, 1);
      assert.deepEqual(world.origin.log, []);
      await world.end();
    });

    test("an edit made without the server is sent with the cookies of the browser", async () => {
      const world = await World.start(browser);
      await world.page.evaluate(() => { document.cookie = "session=anna; path=/"; });
      const cookies = [];
      world.origin.interfere = (method, url, body, response, request) => {
        if (method === "PUT") cookies.push(request.headers.cookie);
      };
      await world.offline();
      assert.equal((await world.send("PUT", "/entry/a", entry("a2"))).status, 200);
      await world.online();
      await world.delivered();
      assert.deepEqual([world.origin.log, cookies], [["PUT a2"], ["session=anna"]]);
      await world.end();
    });
  });
}
