// Servers, pages and storage that do what they should not.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, ask, control, pause, register, until } from "./browser.mjs";
import { Origin, entry } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    test("a server that answers an edit with another page has not carried it out", async () => {
      const world = await World.start(browser);
      let redirects = true;
      world.origin.files.set("/login", ["text/html", "<title>Sign in</title>"]);
      world.origin.interfere = (method, url, body, response) => {
        if (method !== "PUT" || !redirects) return undefined;
        response.writeHead(303, { location: "/login" }).end();
        return "answered";
      };
      await world.offline();
      await world.send("PUT", "/entry/a", entry("mine"));
      await world.online();
      await until("an attempt", async () => {
        const [edits, errors] = [await world.outbox(), await world.errors()];
        return errors.length > 0 || edits.some(({ tries }) => tries > 0);
      });
      const [edits, errors] = [await world.outbox(), await world.errors()];
      assert.equal(edits.length + errors.length, 1, "the edit is not lost");
      assert.deepEqual(world.origin.log, []);
      redirects = false;
      await world.online();
      if (errors.length) await world.control("POST", `/errors/${errors[0].id}/retry`);
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT mine"]);
      await world.end();
    });

    test("a large edit survives a page that deletes all caches", async () => {
      const world = await World.start(browser);
      await world.offline();
      const long = "y".repeat(300_000);
      const body = entry("large").replace("<content>", `<content>${long}`);
      assert.equal((await world.send("PUT", "/entry/a", body)).status, 200);
      await world.page.evaluate(async () => {
        for (const name of await caches.keys()) if (name === "bitsy-contents") await caches.delete(name);
      });
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT large"]);
      assert.ok(world.origin.entries.get("/entry/a").includes(long));
      await world.end();
    });

    test("a page of another person neither sees nor discards an edit", async () => {
      const world = await World.start(browser, ["a"]);
      const other = await browser.page(`${world.origin.url}/`);
      await register(other);
      await ask(other, { bitsy: "connect", partition: "ben" });
      await world.offline();
      await world.send("PUT", "/entry/a", entry("mine"));
      const [edit] = await world.outbox();
      assert.deepEqual((await control(other, "GET", "/outbox")).body, []);
      assert.equal((await control(other, "DELETE", `/outbox/${edit.id}`)).status, 404);
      assert.deepEqual((await control(other, "POST", "/outbox/retry")).body, { tried: 0 });
      assert.equal((await world.outbox()).length, 1);
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT mine"]);
      await other.close();
      await world.end();
    });

    test("a form of another site is no message to the worker", async () => {
      const world = await World.start(browser);
      await world.offline();
      await world.send("PUT", "/entry/a", entry("mine"));
      const message = JSON.stringify({ bitsy: "ask", method: "DELETE", path: `/outbox/${(await world.outbox())[0].id}` });
      const [name, value] = message.split(/(?<=:"ask",)/);
      const other = await Origin.start(`<!doctype html><form method="post" enctype="text/plain" action="${world.at("/bitsy-message")}"></form>`);
      const page = await browser.page(`${other.url}/`);
      await page.evaluate((name, value) => {
        // The body of this form is the message and a line break: name=value, with the sign within a member that is ignored.
        const field = document.createElement("input");
        [field.name, field.value] = [`${name}"ignored":"`, `",${value}`];
        document.forms[0].append(field);
        document.forms[0].submit();
      }, name, value).catch(() => {});
      await pause(1_000);
      assert.equal((await world.outbox()).length, 1, "the edit is still there");
      // The same request of a page is a message.
      const { status } = await world.send("POST", "/bitsy-message", message);
      assert.equal(status, 200);
      assert.deepEqual(await world.outbox(), []);
      await page.close();
      await other.stop();
      await world.end();
    });

    test("messages that cannot be read are refused, and disturb nothing", async () => {
      const world = await World.start(browser);
      await world.offline();
      await world.send("PUT", "/entry/a", entry("mine"));
      for (const message of [
        { bitsy: "ask", method: 5, path: "/outbox" }, { bitsy: "ask", method: "GET" }, { bitsy: "ask", method: "GET", path: "/none" },
        { bitsy: "ask", method: "POST", path: "/subscriptions", body: { feed: "ftp://a/" } },
        { bitsy: "ask", method: "POST", path: "/subscriptions", body: 7 }, { bitsy: "connect", partition: 9 },
      ]) {
        const refused = await ask(world.page, message).then((value) => value?.status ?? 0, () => 400);
        assert.ok(refused >= 400, `${JSON.stringify(message)}: ${refused}`);
      }
      assert.equal((await world.outbox()).length, 1);
      await world.online();
      await world.delivered();
      assert.deepEqual(world.origin.log, ["PUT mine"]);
      await world.end();
    });
  });
}
