// The steps of docs/tutorials/web-list.md in Chromium and Firefox, with the keyboard and the names that a screen reader says.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "../../bitsy/test/browser.mjs";
import { start } from "../../bitsy/test/left.mjs";
import { HubProgram } from "./hub.mjs";

const SERVE = new URL("../../../examples/web-todo/serve.mjs", import.meta.url).pathname;

for (const kind of process.env.FEEDSYNC_BROWSER?.split(",") ?? ["chrome", "firefox"]) {
  describe(kind, () => {
    let hub, server, url;
    const browsers = [];
    before(async () => {
      hub = await HubProgram.start();
      server = start(process.execPath, [SERVE, "0", `http://127.0.0.1:${hub.port}`], { stdio: ["ignore", "pipe", "inherit"] });
      url = await new Promise((resolve) => server.stdout.on("data", (data) => resolve(/http:\S+/.exec(data)[0])));
      for (const _ of "ab") browsers.push(await Browser.start(kind));
    });
    after(async () => {
      for (const browser of browsers) await browser.close();
      server?.kill();
      await hub?.remove();
    });

    const tasks = (page) => page.$$eval("#tasks > li > label", (labels) => labels.map(({ textContent }) => textContent).sort());
    const shows = (page, ...titles) => until(`the tasks ${titles}`, async () => {
      const shown = await tasks(page);
      return JSON.stringify(shown) === JSON.stringify(titles.sort());
    });
    const says = (page, text) => until(`the state ${text}`, () => page.$eval("#state", (state, text) => state.textContent.includes(text), text));
    const add = async (page, title) => {
      await page.focus("#title");
      await page.keyboard.type(title);
      await page.keyboard.press("Enter");
    };
    const rename = async (page, from, to) => {
      await page.focus(`[aria-label="Rename ${from}"]`);
      await page.keyboard.press("Enter");
      await page.waitForSelector('[aria-label="New title"]');
      await page.keyboard.type(to);
      await page.keyboard.press("Enter");
      await shows(page, to);
    };

    test("two browsers share a list, edit it offline, and resolve a conflict", async () => {
      const [anna, ben] = await Promise.all(browsers.map((browser) => browser.page(url)));
      for (const page of [anna, ben]) {
        await page.setViewport({ width: 360, height: 640 });
        await says(page, "Synced");
      }
      await add(anna, "Milk");
      await shows(anna, "Milk");
      await shows(ben, "Milk");
      await hub.stop();
      await rename(anna, "Milk", "Oat milk");
      await rename(ben, "Milk", "Two litres of milk");
      await says(anna, "Offline");
      await says(ben, "Offline");
      await hub.listen();
      for (const page of [anna, ben]) {
        await until("the conflict", () => page.$eval("#conflicts", ({ hidden }) => !hidden));
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "fits a phone");
      }
      const buttons = await ben.$$("#conflicts button");
      const names = await Promise.all(buttons.map((button) => button.evaluate(({ textContent }) => textContent)));
      assert.deepEqual(names.toSorted(), ["Keep both", "Keep “Oat milk”", "Keep “Two litres of milk”"]);
      await buttons[names.indexOf("Keep both")].focus();
      await ben.keyboard.press("Enter");
      for (const page of [ben, anna]) {
        await until("the resolution", () => page.$eval("#conflicts", ({ hidden }) => hidden));
        const [title] = await tasks(page);
        assert.deepEqual(title.split(" / ").sort(), ["Oat milk", "Two litres of milk"]);
      }
    });

    test("a title with markup is shown as text", async () => {
      const [anna] = await Promise.all([browsers[0].page(url)]);
      const title = "<img src=x onerror=document.title='run'>";
      await add(anna, title);
      await until("the task", async () => (await tasks(anna)).includes(title));
      assert.equal(await anna.title(), "To do");
      assert.equal(await anna.$("img"), null);
    });
  });
}
