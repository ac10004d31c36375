// The demonstration shows feeds of a hostile server. The server sends no content security policy, so that the page alone
// must prevent scripts.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { Browser, until } from "./browser.mjs";
import { Origin } from "./origin.mjs";
import { KINDS } from "./world.mjs";

const PAGE = "/bitsy/demo/?collection=/feed";
const FILES = ["bitsy-worker.js", "bitsy_bg.wasm", "bitsy.js", "bitsy.mjs", "offline.html", "offline.mjs", "offline-page.js",
  "messages.mjs", "offline.css", "demo/index.html", "demo/notes.js", "demo/notes.css"];
const TYPES = { js: "text/javascript", mjs: "text/javascript", css: "text/css", html: "text/html; charset=utf-8", wasm: "application/wasm" };
const RUN = "globalThis.hacked=1";

const hostile = (number, title, rest = "") => [`/entry/${number}`, `<?xml version="1.0"?><entry xmlns="http://www.w3.org/2005/Atom">` +
  `<id>urn:test:${number}</id><title>${title}</title><updated>2026-01-01T00:00:00Z</updated><author><name>test</name></author>${rest}</entry>`];

async function served(entries) {
  const origin = await Origin.start();
  for (const file of FILES) {
    const content = await readFile(new URL(`../dist/${file}`, import.meta.url));
    origin.files.set(file === "demo/index.html" ? PAGE : `/bitsy/${file}`, [TYPES[file.split(".").pop()], content]);
  }
  origin.files.set("/bitsy/demo/", origin.files.get(PAGE));
  origin.entries = new Map(entries);
  return origin;
}

for (const kind of KINDS) {
  describe(kind, () => {
    let browser;
    before(async () => { browser = await Browser.start(kind); });
    after(() => browser.close());

    test("scripts, event handlers, script links and foreign addresses of a feed do nothing", async () => {
      const origin = await served([
        hostile(1, `&lt;img src=x onerror="${RUN}"&gt;`, `<content type="html">&lt;script&gt;${RUN}&lt;/script&gt;</content>`),
        hostile(2, "xhtml", `<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><script>${RUN}</script><img src="x" onerror="${RUN}"/></div></content>`),
        hostile(3, "links", `<link rel="edit" href="javascript:${RUN}"/><content src="javascript:${RUN}"/>`),
        hostile(4, "foreign", `<content type="image/png" src="http://192.0.2.1/x.png"/>`),
        hostile(5, "x".repeat(100_000), `<content>${"y".repeat(100_000)}</content>`),
      ]);
      const page = await browser.page(origin.url + PAGE);
      await page.setViewport({ width: 360, height: 740 });
      await until("the list", async () => (await page.$$("li")).length === 5);
      const seen = await page.evaluate(() => ({
        hacked: globalThis.hacked,
        wide: document.documentElement.scrollWidth - innerWidth,
        made: document.querySelectorAll("li script, li a, li img").length,
        longest: Math.max(...[...document.querySelectorAll("li")].map(({ textContent }) => textContent.length)),
      }));
      assert.equal(seen.hacked, undefined);
      assert.ok(seen.wide <= 0, `${seen.wide} px too wide`);
      assert.equal(seen.made, 0);
      assert.ok(seen.longest < 3_000, `${seen.longest}`);
      await page.close();
      await origin.stop();
    });

    test("10,000 entries are shown in parts, and a document that is not XML is an error", async () => {
      const origin = await served(Array.from({ length: 10_000 }, (_, number) => hostile(number, `entry ${number}`)));
      const page = await browser.page(origin.url + PAGE);
      await until("the list", async () => (await page.$$("li")).length === 100, 30_000);
      assert.equal(await page.$eval("#list-heading", (one) => one.textContent), "All (10000)");
      await page.click("#more");
      assert.equal((await page.$$("li")).length, 200);
      await page.close();
      await origin.stop();

      const broken = await served([]);
      broken.feed = () => "<feed><entry></feed>";
      const other = await browser.page(broken.url + PAGE);
      await until("the error", () => other.$eval("#status", (one) => one.textContent.includes("not XML")));
      await other.close();
      await broken.stop();
    });
  });
}
