// The reading pages of a hub: everybody can use them, and articles are read and marked without the hub.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { Browser, pause, until } from "./browser.mjs";
import { Hub } from "./hub.mjs";
import { check } from "./look.mjs";
import { KINDS } from "./world.mjs";

const TITLES = ["Bread", "Oats", "Milk", "Jam", "Tea"];
const CONTENT = "<h1>Soaking</h1><p>Put it into <a href='https://example.org/water'>water</a>.</p><pre>a long line that goes on and on and on</pre>"
  + "<table><tr><th>What</th><th>How much</th></tr><tr><td>Oats</td><td>100 g</td></tr></table><blockquote>Good.</blockquote>";

// A server with a feed.
async function feeds() {
  const items = TITLES.map((title, place) => `<item><title>${title}</title><guid isPermaLink="false">urn:x:${title}</guid>`
    + `<link>https://example.org/${title}</link><category>Food</category><pubDate>${new Date(Date.now() - place * 3_600_000).toUTCString()}</pubDate>`
    + `<description>${CONTENT.replaceAll("<", "&lt;")}</description></item>`).join("");
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "application/rss+xml" });
    response.end(`<rss version="2.0"><channel><title>Kitchen news</title>${items}</channel></rss>`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

const says = (page, text) => until(`"${text}" on the page`, () =>
  page.evaluate((text) => document.body.innerText.includes(text), text));

for (const kind of KINDS) {
  describe(kind, () => {
    let [browser, hub, server, page] = [];
    const reading = (path = "") => `${hub.url}/pages/reading${path}`;
    before(async () => {
      server = await feeds();
      browser = await Browser.start(kind);
      hub = await Hub.start();
      page = await browser.page(reading());
      await page.type("#address", `http://127.0.0.1:${server.address().port}/kitchen.xml`);
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      await until("the articles", async () => {
        await page.goto(reading("/articles"));
        return (await page.$$(".articles > li")).length === TITLES.length;
      });
    });
    after(async () => {
      await browser.close();
      await hub.end();
      server.close();
    });

    test("a rule is tried and saved", async () => {
      await page.goto(reading("/rules"));
      await page.type("#words", "Spam");
      await page.click("#hide");
      const press = (action) => Promise.all([page.waitForNavigation(), page.click(`#rule button[value=${action}]`)]);
      await press("try");
      await says(page, "None of the newest");
      await press("save");
      await says(page, "The rule was saved.");
    });

    test("no page has a serious finding of axe, in light and dark colours", async () => {
      for (const theme of ["light", "dark"]) {
        await page.evaluate((theme) => localStorage.setItem("feedsync-appearance", JSON.stringify({ theme, size: "larger", width: "wide" })), theme);
        for (const [what, path] of Object.entries({
          subscriptions: "", list: "/articles", all: "/articles?show=all", article: "/articles/1", feed: "/feeds/1", rules: "/rules", faults: "?show=faults",
          transfer: "/transfer", offline: "/offline",
        })) {
          await page.goto(reading(path));
          assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), theme);
          await check(page, `reading-${what}-${theme}`);
        }
      }
    });

    test("the choices of appearance are kept and change the text of an article", async () => {
      await page.evaluate(() => localStorage.removeItem("feedsync-appearance"));
      await page.goto(reading("/articles/1"));
      const size = () => page.$eval(".prose", (prose) => parseFloat(getComputedStyle(prose).fontSize));
      const before = await size();
      await page.click("#appearance-button");
      await page.select("#appearance-size", "larger");
      assert.ok(await size() > before * 1.3);
      // Shortcuts rest while a dialog is open: none marks the article behind it.
      await page.focus("#appearance button");
      await page.keyboard.press("m");
      await pause(200);
      assert.ok(await page.$eval("#said", (said) => !said.textContent.includes("unread")));
      await page.reload();
      assert.ok(await size() > before * 1.3);
      // Damaged storage is as good as none.
      await page.evaluate(() => localStorage.setItem("feedsync-appearance", "{"));
      await page.reload();
      assert.equal(await size(), before);
    });

    test("articles are read and marked without the hub, and the marks arrive", async () => {
      await page.goto(reading("/offline"));
      await page.waitForSelector("#keep");
      await page.click("#keep");
      await says(page, "5 articles on this device");
      await until("the worker", () => page.evaluate(() => navigator.serviceWorker.controller !== null));
      if (kind === "chrome") {
        const session = await page.createCDPSession();
        assert.deepEqual((await session.send("Page.getInstallabilityErrors")).installabilityErrors, []);
      }
      await hub.stop();
      await page.goto(reading());
      await says(page, "The hub cannot be reached.");
      await check(page, "offline-feeds");
      await page.goto(reading("/offline#all"));
      await says(page, "Mark all as read");
      await check(page, "offline-list");
      const unread = () => page.$$eval(".articles > .unread", (all) => all.length);
      const press = (text) => page.$$eval("#reader button", (all, text) => all.find((one) => one.textContent.startsWith(text)).click(), text);
      const count = await unread();
      assert.ok(count > 1);
      await press("Mark all as read");
      await until("no unread article", async () => await unread() === 0);
      await press("Undo:");
      await until("all unread articles", async () => await unread() === count);
      await page.click(".articles h2 a");
      await says(page, "Soaking");
      await page.keyboard.press("s");
      await says(page, "marks wait to be sent.");
      await check(page, "offline-article");
      const [title] = await page.$$eval("h1", (all) => all.map((one) => one.textContent));
      // What a person marks as unread stays so when the page is drawn again.
      await page.keyboard.press("m");
      await until("an unread article", () => page.$("#reader [data-act=read]"));
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await pause(300);
      assert.ok(await page.$("#reader [data-act=read]"));
      await page.keyboard.press("m");
      await until("a read article", () => page.$("#reader [data-act=unread]"));
      // Keys lead back to the list, and through it.
      const focused = () => page.evaluate(() => document.activeElement.textContent);
      await page.keyboard.press("u");
      await says(page, "Mark all as read");
      const titles = await page.$$eval(".articles h2 a", (all) => all.map((one) => one.textContent));
      for (const [key, title] of [["k", titles.at(-1)], ["k", titles.at(-2)], ["j", titles.at(-1)]]) {
        await page.keyboard.press(key);
        assert.equal(await focused(), title);
      }
      // The page that is shown in place of another one leads to the lists.
      await page.goto(reading("/articles/3"));
      await says(page, "Back to the list");
      await page.click("#back");
      await says(page, "Unread articles:");
      await page.keyboard.press("/");
      assert.equal(await page.evaluate(() => document.activeElement.id), "search");
      // A proxy that answers with a page of its own takes no marks.
      const waiting = () => page.evaluate(() => self.offlineStore("/pages/reading").countMarks());
      const before = await waiting();
      assert.ok(before > 2);
      await page.evaluate(async () => {
        const real = self.fetch;
        self.fetch = async (address, options) => options?.method === "POST" ? new Response("Sign in") : real(address, options);
        await self.offlineStore("/pages/reading").send().catch(() => {});
        self.fetch = real;
      });
      assert.equal(await waiting(), before);
      await hub.begin();
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await until("no waiting mark", () => page.evaluate(() => !/wait|reached/.test(document.getElementById("state").textContent)));
      await page.goto(reading("/articles?starred=1&show=all"));
      await until("the star", () => page.$eval(".articles h2", (one, title) => one.textContent === title, title));
      assert.ok(await page.$(".articles > li.starred:not(.unread)"));
      // What a page still shows after another page removed everything cannot be marked.
      await page.goto(reading("/offline#all"));
      await says(page, "Mark all as read");
      const other = await browser.page(reading("/offline"));
      await says(other, "5 articles on this device");
      await other.evaluate((home) => self.offlineStore(home).remove(), "/pages/reading");
      await page.$eval("#reader [data-act=unread]", (button) => button.click());
      await says(page, "No articles are kept on this device yet.");
      await other.close();
    });

    test("marks wait for the user who made them", async () => {
      await page.goto(reading("/offline"));
      await page.waitForSelector("#keep");
      await page.click("#keep");
      await says(page, "5 articles on this device");
      await hub.stop();
      await page.goto(reading("/offline#all"));
      await says(page, "Mark all as read");
      await page.$eval("#reader [data-act$=star]", (button) => button.click());
      await says(page, "1 mark waits to be sent.");
      // The hub gets users, one of whom signs in with this browser.
      await hub.runWith("correct horse battery\n", "user", "add", "anna", "--administrator", "--password-stdin");
      await hub.begin();
      await page.goto(`${hub.url}/pages/login`);
      await page.type("#user", "anna");
      await page.type("#password", "correct horse battery");
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
      await page.goto(reading("/offline"));
      await says(page, "You are signed out, or signed in as another user.");
      await says(page, "Waiting marks stay on this device");
      assert.equal(await page.evaluate(() => self.offlineStore("/pages/reading").countMarks()), 1);
    });
  });
}
