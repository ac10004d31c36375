// Merges a second inside WebAssembly, in Chromium: a batch of item versions is merged in one call.
//
// Usage: node bench/merge.mjs [ITEMS] [RUNS]. Prints the median, and the lowest and highest run.

import { WebServer } from "../test/server.mjs";
import { Browser } from "../test/browser.mjs";

const [items = 10_000, runs = 21] = process.argv.slice(2).map(Number);
const server = await WebServer.start();
const browser = await Browser.start("chrome");
const page = await browser.page(`${server.url}/`);
const results = await page.evaluate(async (items, runs) => {
  const { Batch, Replica } = await import("/feedsync.mjs");
  await Replica.inMemory();
  const update = (sequence, by) => ({ sequence: String(sequence), when: "2026-11-20T08:00:00Z", by });
  const documentOf = (history) => JSON.stringify({
    items: Array.from({ length: items }, (_, index) => ({
      title: `Item ${index}`, done: false,
      sync: { id: `item-${index}`, updates: String(history.length), history },
    })),
  });
  const base = [update(2, "web.0000000000000001"), update(1, "web.0000000000000001")];
  const ours = documentOf(base);
  const cases = {
    "known versions": ours,
    "newer versions": documentOf([update(3, "web.0000000000000002"), ...base]),
    "older versions": documentOf(base.slice(1)),
    "conflicting versions": documentOf([update(2, "web.0000000000000002"), base[1]]),
  };
  const measured = {};
  for (const [name, document] of Object.entries(cases)) {
    const [mine, theirs] = [new Batch(ours), new Batch(document)];
    const rates = [];
    for (let run = -3; run < runs; run += 1) {
      const local = mine.copy();
      const begin = performance.now();
      local.merge(theirs);
      const took = performance.now() - begin;
      if (run >= 0) rates.push(items / took * 1000);
      local.free();
    }
    measured[name] = rates.sort((one, other) => one - other);
  }
  return measured;
}, items, runs);
for (const [name, rates] of Object.entries(results)) {
  const shown = [rates[rates.length >> 1], rates[0], rates.at(-1)].map((rate) => Math.round(rate).toLocaleString("en"));
  console.log(`${name}: ${shown[0]} merges a second (${shown[1]} to ${shown[2]}; ${rates.length} runs of ${items} items)`);
}
await browser.close();
await server.stop();
