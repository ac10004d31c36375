// Requests that the worker answers or sends: methods, headers, encodings, and edits in every state of a subscription.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, fetched, send, until } from "./browser.mjs";
import { Origin, entry } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    test("OPTIONS names the methods of a stored resource without its server", async () => {
      const world = await World.start(browser);
      await world.offline();
      const { status, headers } = await fetched(world.page, "OPTIONS", world.at("/feed"));
      assert.equal(status, 204);
      for (const method of ["GET", "POST"]) assert.match(headers.allow, new RegExp(`\\b${method}\\b`));
      await world.end();
    });

    test("a resource that a subscription knows and did not store is 504 without the server, and never 404", async () => {
      const origin = await Origin.start();
      origin.entries.set("/entry/b", entry("b"));
      const world = Object.assign(new World(), { browser, origin });
      await world.open();
      await world.control("POST", "/subscriptions", { feed: world.feed });
      await world.stored();
      await world.offline();
      assert.equal((await fetched(world.page, "GET", world.at("/entry/b"))).status, 504);
      await world.end();
    });

    test("a response that a page does not accept is 406 without the server", async () => {
      const world = await World.start(browser);
      await world.offline();
      const accepting = async (accept) => (await fetched(world.page, "GET", world.at("/entry/a"), { accept })).status;
      assert.equal(await accepting("image/png"), 406);
      assert.equal(await accepting("application/atom+xml"), 200);
      assert.equal(await accepting("image/png, */*;q=0.1"), 200);
      await world.end();
    });

    test("registered headers go to the server of the feed, and not to another origin", async () => {
      const origin = await Origin.start();
      const elsewhere = await Origin.start();
      const heard = [];
      const hears = (name) => (method, url, body, response, request) => {
        if (/entry|feed/.test(url)) heard.push([name, url, request.headers["x-api-key"], request.headers["x-language"]]);
        return undefined;
      };
      origin.interfere = hears("own");
      elsewhere.entries.set("/entry/far", entry("far"));
      elsewhere.described = (type) => ({ "content-type": type, "access-control-allow-origin": "*" });
      elsewhere.interfere = hears("other");
      origin.entries.set("/entry/a", entry("a"));
      const feed = origin.feed.bind(origin);
      origin.feed = () => feed().replace("</feed>",
        `<entry><id>urn:far</id><title>far</title><link rel="edit" href="${elsewhere.url}/entry/far"/></entry></feed>`);
      const world = Object.assign(new World(), { browser, origin });
      await world.open();
      const headers = [{ name: "X-Api-Key", value: "secret" }, { name: "X-Language", value: "de" }];
      const { status } = await world.control("POST", "/subscriptions", { feed: world.feed, follows: ["edit"], headers });
      assert.equal(status, 201);
      await until("the entry of the other origin", async () => heard.some(([name]) => name === "other"));
      await world.stored();
      const own = heard.filter(([name]) => name === "own");
      assert.ok(own.length >= 2, JSON.stringify(heard));
      for (const line of own) assert.deepEqual(line.slice(2), ["secret", "de"], line[1]);
      for (const line of heard.filter(([name]) => name === "other")) assert.equal(line[2], undefined, "the other origin gets no key");
      await elsewhere.stop();
      await world.end();
    });

    test("an edit leaves while its subscription is paused, and while a response of the server is awaited", async () => {
      const world = await World.start(browser);
      const { origin } = world;
      const [{ id }] = (await world.control("GET", "/subscriptions")).body;
      await world.offline();
      await world.send("PUT", "/entry/a", entry("paused"));
      assert.equal((await world.control("POST", `/subscriptions/${id}/pause`)).status, 200);
      await world.online();
      await world.delivered();
      assert.deepEqual(origin.log, ["PUT paused"]);
      assert.equal((await world.control("POST", `/subscriptions/${id}/resume`)).status, 200);
      await world.stored();
      // The server never answers the requests of this round.
      let release;
      const held = new Promise((resolve) => { release = resolve; });
      let isHeld = false;
      origin.interfere = async (method, url) => {
        if (method === "GET" && url === "/feed") {
          isHeld = true;
          await held;
        }
        return undefined;
      };
      await world.control("POST", "/refresh", {});
      await until("the request that is not answered", () => isHeld);
      assert.equal((await send(world.page, "PUT", world.at("/entry/b"), entry("meanwhile"))).status, 200);
      await until("the edit", () => origin.log.includes("PUT meanwhile"));
      release();
      await world.stored();
      await world.end();
    });

    test("a feed in an old encoding shows an edit in the same encoding", async () => {
      const origin = await Origin.start();
      origin.entries.set("/entry/a", entry("a"));
      const bytes = (text) => Buffer.from([...text].map((one) => {
        const code = one.codePointAt(0);
        return code < 0x80 ? code : code - 0x410 + 0xc0;
      }));
      const isFeed = (method, url) => method === "GET" && url === "/feed";
      origin.interfere = (method, url, body, response) => {
        if (!isFeed(method, url)) return undefined;
        const text = origin.feed().replace("<title>notes", "<title>\u0416").replace("?>", " encoding=\"windows-1251\"?>");
        response.writeHead(200, { "content-type": "application/atom+xml;charset=windows-1251" }).end(bytes(text));
        return "answered";
      };
      const world = await World.with(browser, origin);
      await world.offline();
      assert.equal((await world.send("PUT", "/entry/a", entry("\u0418\u6587"))).status, 200);
      const { type, text, parsed } = await world.page.evaluate(async (url) => {
        const response = await fetch(url, { cache: "no-store" });
        const type = response.headers.get("content-type");
        const text = new TextDecoder("windows-1251").decode(await response.arrayBuffer());
        const titles = [...new DOMParser().parseFromString(text, "text/xml").querySelectorAll("title")];
        return { type, text, parsed: titles.map((title) => title.textContent) };
      }, world.feed);
      assert.match(type, /windows-1251/);
      // Other characters than those of ASCII are references, which each encoding can have.
      assert.match(text, /^[\0-\x7f]*$/);
      assert.deepEqual(parsed, ["\u0416", "notes", "\u0418\u6587"]);
      await world.end();
    });
  });
}
