// The demonstrations and the page of waiting and failed changes, served by a real hub.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "./browser.mjs";
import { Hub } from "./hub.mjs";
import { PHONE, check } from "./look.mjs";
import { KINDS } from "./world.mjs";

const shows = (page, text) => until(`"${text}" on the page`, () =>
  page.evaluate((text) => document.body.innerText.includes(text), text));
const titles = (page) => page.$$eval("li h3", (all) => all.map((one) => one.textContent));
const name = (text, what) => `[aria-label="${text}: ${what}"]`;

// Activates a control by keyboard alone. A list may be drawn again at any time, so the control is found and focused in one step.
async function press(page, selector) {
  await until(`the focus on ${selector}`, () => page.evaluate((selector) => {
    const control = document.querySelector(selector);
    control?.focus();
    return control !== null && document.activeElement === control;
  }, selector));
  await page.keyboard.press("Enter");
}

async function write(page, title, text) {
  await page.waitForSelector("#title");
  await page.$eval("#title", (input) => { input.value = ""; });
  await page.type("#title", title);
  if (text) await page.type("#text", text);
  await page.keyboard.press("Tab");
  await press(page, "#note button");
}

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    let hub;
    before(async () => {
      browser = await Browser.start(kind);
      hub = await Hub.start();
    });
    after(async () => {
      await browser.close();
      await hub.end();
    });

    async function opened(path) {
      const page = await browser.page(hub.url + path);
      await page.setViewport(PHONE);
      return page;
    }

    test("notes are added, changed and deleted without the hub, also after a reload, and arrive in order", async () => {
      await hub.add("bread", "rye");
      await hub.add("milk");
      const page = await opened("/bitsy/demo/");
      await shows(page, "All changes are saved");
      await until("the stored feed", () => page.evaluate(() => [...bitsy.subscriptions].some(({ state }) => state === 2)));
      await check(page, "demo");
      await hub.stop();
      await write(page, "eggs", "six");
      await shows(page, "Waiting to be sent: 1");
      await press(page, name("Edit", "bread"));
      await until("the form", () => page.$eval("#title", ({ value }) => value === "bread"));
      await write(page, "rye bread");
      await shows(page, "Waiting to be sent: 2");
      await press(page, name("Delete", "milk"));
      await shows(page, "Waiting to be sent: 3");
      await page.reload();
      await shows(page, "Waiting to be sent: 3");
      assert.deepEqual((await titles(page)).sort(), ["eggs", "rye bread"]);
      await hub.begin();
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await shows(page, "All changes are saved");
      assert.deepEqual((await hub.titles()).sort(), ["eggs", "rye bread"]);
      await page.close();
    });

    test("a conflict shows three versions, and is solved by keeping mine, by keeping theirs, and by editing", async () => {
      const made = [];
      for (const title of ["first", "second", "third"]) made.push(await hub.add(title));
      const page = await opened("/bitsy/demo/");
      await shows(page, "third");
      await until("the stored feed", () => page.evaluate(() => [...bitsy.subscriptions].some(({ state }) => state === 2)));
      await hub.stop();
      for (const title of ["first", "second", "third"]) {
        await press(page, name("Edit", title));
        await until("the form", () => page.$eval("#title", ({ value }, title) => value === title, title));
        await write(page, `my ${title}`);
        await until("the list", async () => (await titles(page)).includes(`my ${title}`));
      }
      await page.goto(`${hub.url}/bitsy/offline.html`);
      await until("waiting changes", async () => (await titles(page)).length === 3);
      await check(page, "waiting");
      await hub.changeStopped(made, "theirs");
      await hub.begin();
      await until("failed changes", async () => {
        await page.evaluate(() => dispatchEvent(new Event("online")));
        return (await page.$$(".bitsy-why")).length === 3;
      }, 40_000);
      await shows(page, "The server has a newer version.");
      const [first, second, third] = made.map((address) => `Change ${new URL(address).pathname}`);
      await press(page, name("Compare versions", first));
      await page.waitForSelector("pre");
      const sides = await page.$$eval("pre", (all) => all.map((one) => one.textContent));
      assert.match(sides[0], /my first/);
      assert.match(sides[1], />first</);
      assert.match(sides[2], /theirs/);
      await check(page, "failed");
      // The list is drawn again, and the focus stays on the same button.
      await page.focus(name("Edit and send", third));
      await page.$eval(name("Keep mine", first), (button) => button.click());
      await until("mine", async () => (await hub.titles()).includes("my first"));
      await until("a shorter list", async () => !(await page.$(name("Keep mine", first))));
      assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), `Edit and send: ${third}`);
      await press(page, name("Keep theirs", second));
      await press(page, name("Undo", second));
      await press(page, name("Keep theirs", second));
      await press(page, name("Edit and send", third));
      await page.waitForSelector("textarea");
      await page.$eval("textarea", (area) => { area.value = area.value.replaceAll("my third", "both"); });
      await press(page, name("Send", third));
      await shows(page, "Nothing failed.");
      await until("the solution", async () => (await hub.titles()).includes("both"));
      const stored = await hub.titles();
      assert.deepEqual(["my first", "theirs", "both"].map((title) => stored.includes(title)), [true, true, true]);
      assert.ok(!stored.includes("my second"));
      // The dropped change is removed once it can no longer be undone.
      await until("no failed change", () => page.evaluate(async () => {
        const { errors } = await import("/bitsy/offline.mjs");
        return (await errors()).length === 0;
      }));
      await page.close();
    });

    test("a photo that is added without the hub arrives", async () => {
      const page = await opened("/bitsy/demo/");
      await shows(page, "All (");
      await until("the stored feed", () => page.evaluate(() => [...bitsy.subscriptions].some(({ state }) => state === 2)));
      await hub.stop();
      await page.evaluate(async () => {
        const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 30 });
        canvas.getContext("2d").fillRect(5, 5, 20, 20);
        const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
        const files = new DataTransfer();
        files.items.add(new File([blob], "cat on mat.png", { type: "image/png" }));
        document.getElementById("file").files = files.files;
      });
      await press(page, "#photo button");
      await shows(page, "Waiting to be sent: 1");
      await hub.begin();
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await shows(page, "All changes are saved");
      await until("the photo", () => page.evaluate(() => [...document.images].some((one) => one.id !== "preview" && one.naturalWidth === 40)));
      await page.close();
    });

    test("the plain page reads and adds without the hub", async () => {
      const page = await opened("/bitsy/plain/");
      await until("the list", () => page.$("li"));
      await until("the stored feed", () => page.evaluate(() => globalThis.bitsy && [...bitsy.subscriptions].some(({ state }) => state === 2)));
      await check(page, "plain");
      await hub.stop();
      await page.type("input", "written offline");
      await page.keyboard.press("Enter");
      await shows(page, "written offline");
      await page.reload();
      await shows(page, "written offline");
      await hub.begin();
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await until("the note", async () => (await hub.titles()).includes("written offline"));
      await page.close();
    });
  });
}
