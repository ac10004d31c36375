// Measures the worker in Chromium against peers that do the same by hand: npm run bench.
//
// Peers alternate with the worker in one run. Each line shows medians of the rounds, their range, and the ratio.
// Names of measurements as arguments select some of them.

import { gzipSync } from "node:zlib";
import { readFile } from "node:fs/promises";
import { Browser, register, until } from "../test/browser.mjs";
import { Origin, entry } from "../test/origin.mjs";
import { World } from "../test/world.mjs";

const BY_HAND = `
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith((async () => {
  const stored = await (await caches.open("pages")).match(event.request);
  return stored ?? fetch(event.request);
})()));`;

const sorted = (numbers) => [...numbers].sort((a, b) => a - b);
const median = (numbers) => sorted(numbers)[Math.floor(numbers.length / 2)];
const shown = (number) => number >= 100 ? number.toFixed(0) : number.toPrecision(3);

function line(name, unit, ours, peers, peer) {
  const of = (numbers) => `${shown(median(numbers))} (${shown(Math.min(...numbers))} to ${shown(Math.max(...numbers))})`;
  const ratio = (median(ours) / median(peers)).toFixed(2);
  console.log(`${name}, ${unit}: worker ${of(ours)}; ${peer} ${of(peers)}; ratio ${ratio}`);
}

// A page with a worker that was written by hand, and stores one address.
async function byHand(browser, text) {
  const origin = await Origin.start();
  origin.files.set("/bitsy-worker.js", ["text/javascript", BY_HAND]);
  origin.entries.set("/entry/a", text);
  const page = await browser.page(`${origin.url}/`);
  await register(page);
  await page.evaluate(async () => (await caches.open("pages")).add("/entry/a"));
  return { origin, page };
}

// Milliseconds for each of a number of requests, one after the other.
const gets = (page, count) => page.evaluate(async (count) => {
  const begin = performance.now();
  for (let n = 0; n < count; n += 1) {
    const response = await fetch("/entry/a");
    if (response.status !== 200) throw new Error(`${response.status}`);
    await response.text();
  }
  return (performance.now() - begin) / count;
}, count);

const large = entry("a").replace(/<content>.*<\/content>/, `<content>${"0123456789".repeat(5_000)}</content>`);

async function read(browser) {
  const world = await World.start(browser, ["a"]);
  world.origin.entries.set("/entry/a", large);
  await world.control("POST", "/refresh", {});
  await world.stored();
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const peer = await byHand(browser, large);
  await world.offline();
  await peer.origin.stop();
  const length = await world.page.evaluate(async () => (await (await fetch("/entry/a")).text()).length);
  if (length < 50_000) throw new Error(`the stored entry has ${length} bytes`);
  const [ours, peers] = [[], []];
  for (let round = 0; round < 11; round += 1) {
    ours.push(await gets(world.page, 100));
    peers.push(await gets(peer.page, 100));
  }
  line("stored response of 50 kB", "ms", ours.slice(1), peers.slice(1), "Cache API by hand");
  await world.page.close();
  await peer.page.close();
}

async function start(browser) {
  const world = await World.start(browser, ["a"]);
  const peer = await byHand(browser, entry("a"));
  await world.offline();
  await peer.origin.stop();
  const first = async (page) => {
    const session = await page.createCDPSession();
    await session.send("ServiceWorker.enable");
    await session.send("ServiceWorker.stopAllWorkers");
    await new Promise((resolve) => setTimeout(resolve, 500));
    await session.detach();
    return gets(page, 1);
  };
  const [ours, peers] = [[], []];
  for (let round = 0; round < 11; round += 1) {
    ours.push(await first(world.page));
    peers.push(await first(peer.page));
  }
  line("first response of a stopped worker", "ms", ours.slice(1), peers.slice(1), "Cache API by hand");
  await world.page.close();
  await peer.page.close();
}

const EDITS = 1_000;

async function drain(browser) {
  const [ours, peers] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    const world = await World.start(browser, ["a"]);
    // Otherwise the worker must ask for each new entry, as the page would that reads it.
    world.origin.namesContents = true;
    await world.offline();
    await world.page.evaluate(async (count, text) => {
      for (let n = 0; n < count; n += 1) {
        const headers = { "content-type": "application/atom+xml;type=entry" };
        const response = await fetch("/feed", { method: "POST", headers, body: text.replaceAll("title-", `title-${n}`) });
        if (response.status !== 201) throw new Error(`${response.status}`);
      }
    }, EDITS, entry("title-"));
    let [begin, end] = [0, 0];
    world.origin.interfere = (method) => {
      if (method === "POST") end = performance.now();
      begin ||= end;
    };
    // It responds once all edits have left, which may be later than a test waits.
    world.online().catch(() => {});
    while (world.origin.log.length < EDITS) await new Promise((resolve) => setTimeout(resolve, 20));
    ours.push(EDITS / (end - begin) * 1_000);
    await world.end();

    const origin = await Origin.start();
    const page = await browser.page(`${origin.url}/`);
    const direct = await page.evaluate(async (count, text) => {
      const begin = performance.now();
      for (let n = 0; n < count; n += 1) {
        const headers = { "content-type": "application/atom+xml;type=entry" };
        await (await fetch("/feed", { method: "POST", headers, body: text.replaceAll("title-", `title-${n}`) })).text();
      }
      return performance.now() - begin;
    }, EDITS, entry("title-"));
    peers.push(EDITS / direct * 1_000);
    await page.close();
    await origin.stop();
  }
  line(`${EDITS} waiting edits`, "edits a second", ours, peers, "requests of a page");
}

async function memory(browser) {
  for (const count of [1, 10_000]) {
    const world = await World.start(browser, ["a"]);
    for (let n = 1; n < count; n += 1) world.origin.entries.set(`/entry/${n}`, entry(`entry ${n}`));
    await world.control("POST", "/refresh", {});
    const has = async () => (await world.send("GET", `/entry/${count - 1}`)).status === 200;
    if (count > 1) await until("the last entry", has, 900_000);
    const target = await browser.browser.waitForTarget((target) => target.url().startsWith(world.origin.url) && target.type() === "service_worker");
    const session = await target.createCDPSession();
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize } = await session.send("Runtime.getHeapUsage");
    const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
    console.log(`memory with ${count} entries: ${megabytes(usedSize)} of scripts, ${megabytes(backingStorageSize)} of WebAssembly and buffers`);
    await world.end();
  }
}

async function size() {
  for (const name of ["bitsy-worker.js", "bitsy_bg.wasm", "bitsy.js"]) {
    const bytes = await readFile(new URL(`../dist/${name}`, import.meta.url));
    console.log(`${name}: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} packed`);
  }
}

const all = { size, read, start, drain, memory };
const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(all);
for (const name of names) {
  const browser = await Browser.start("chrome");
  try {
    await all[name](browser);
  } finally {
    await browser.close();
  }
}
