// The browser is killed, or the worker stopped, at any step. No acknowledged edit is lost, none arrives twice, and the order
// is kept. The origins are the server of the tests, an nginx with WebDAV, and the hub.
//
// BITSY_KILLS is the number of kills in all, BITSY_SEED repeats a run.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Hub, Nginx } from "./behind.mjs";
import { Browser, pause, stopper } from "./browser.mjs";
import { Origin, entry, titleOf } from "./origin.mjs";
import { KINDS, World } from "./world.mjs";

const KILLS = Number(process.env.BITSY_KILLS ?? 40);
const SEED = Number(process.env.BITSY_SEED ?? Date.now() % 1_000_000);
const STEP_TIMEOUT = 800;
const EDITS_TIMEOUT = 30_000;

// A generator of numbers below one (mulberry32).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Steps of an edit and of its delivery at which the worker, or the origin, waits for the kill.
const COMMITS = ["edit", "begin", "finished", "forwarded"].flatMap((name) => [`before ${name}`, `after ${name}`]);
const STEPS = [...COMMITS, "origin before", "origin after", "any"];

// A server that holds the worker at a step: the worker asks it at each step, and gets an answer unless the step is held.
class Steps {
  static async start(origin) {
    const steps = new Steps();
    steps.server = createServer((request, response) => {
      const name = decodeURIComponent(request.url.slice(1));
      if (name === steps.held) steps.reached?.();
      else response.end();
    });
    await new Promise((resolve) => steps.server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${steps.server.address().port}/`;
    const commit = "await this.database.commit(writes ?? { rows: [], isDurable: false }, contents);";
    const step = (when) => `await fetch("${url}" + encodeURIComponent("${when} " + command.do), { mode: "no-cors" }).catch(() => {});`;
    origin.change(commit, `${step("before")} ${commit} ${step("after")}`);
    // A held request ends with its connection.
    const hold = (name) => {
      if (name !== steps.held) return undefined;
      steps.reached?.();
      return new Promise((resolve) => { steps.release = resolve; });
    };
    const isEdit = (method) => method !== "GET" && method !== "HEAD";
    origin.interfere = async (method) => { if (isEdit(method)) await hold("origin before"); };
    origin.afterwards = async (method) => { if (isEdit(method)) await hold("origin after"); };
    return steps;
  }

  // Holds a step, and returns once it is reached, or after some time.
  async hold(name) {
    this.held = name;
    await Promise.race([new Promise((resolve) => { this.reached = resolve; }), pause(STEP_TIMEOUT)]);
  }

  free() {
    this.held = undefined;
    this.release?.();
    this.server.closeAllConnections();
  }

  async end() {
    this.free();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

// Edits through a page, kills at a step, and does so again.
async function run({ kind, way, kills, start, canPost }) {
  const random = generator(SEED);
  const browser = await Browser.start(kind);
  const origin = await start();
  const steps = await Steps.start(origin);
  const world = await World.with(browser, origin);
  let stop = way === "stop" ? await stopper(world.page) : undefined;
  const acknowledged = [];
  let number = 0;
  const reached = new Map();
  for (let round = 0; round < kills; round += 1) {
    const step = STEPS[Math.floor(random() * STEPS.length)];
    // Only an edit needs no network.
    const isOnline = !/edit|any/.test(step) || random() < 0.5;
    if (isOnline !== origin.server.listening) await (isOnline ? world.online() : world.offline());
    const make = async () => {
      for (let count = 0; count < 3; count += 1) {
        const title = `n${number += 1}`;
        const method = canPost && random() < 0.5 ? "POST" : "PUT";
        const path = method === "POST" ? origin.feedPath : origin.entryPath("a");
        // An edit keeps the id of its entry.
        const body = method === "POST" ? entry(title) : entry(title).replace(/<id>[^<]*/, "<id>urn:test:a");
        const { status } = await world.send(method, path, body);
        if (status === 200 || status === 201 || status === 204) acknowledged.push({ title, method });
      }
    };
    let edits = Promise.resolve();
    // Steps of a delivery come once the network is back.
    const isDelivery = /begin|finished|origin/.test(step) && random() < 0.8;
    if (isDelivery) {
      if (origin.server.listening) await world.offline();
      await make();
    }
    const held = step === "any" ? pause(20 + random() * 300) : steps.hold(step);
    if (isDelivery) world.online().catch(() => {});
    else edits = make();
    // Ends with the browser, or with the worker.
    edits.catch(() => {});
    await held;
    reached.set(step, (reached.get(step) ?? 0) + 1);
    if (stop) {
      await stop();
      steps.free();
      await Promise.race([edits.catch(() => {}), pause(EDITS_TIMEOUT).then(() => assert.fail("a page waits for its edit"))]);
    } else {
      await browser.kill();
      steps.free();
      await edits.catch(() => {});
      await world.open();
    }
  }
  await world.online();
  await world.delivered();
  const arrived = origin.log;
  assert.deepEqual(arrived.filter((edit, at) => arrived.indexOf(edit) !== at), [], "edits that arrived twice");
  const errors = await world.errors();
  assert.deepEqual(errors.map(({ status, method, location }) => `${status} ${method} ${location}`), []);
  // A later edit of the same entry may replace one that has not left.
  const lastPut = acknowledged.findLast(({ method }) => method === "PUT");
  const needed = acknowledged.filter((edit) => edit.method === "POST" || edit === lastPut);
  const later = ({ title }) => arrived.some((edit) => edit.startsWith("PUT n") && Number(edit.slice(5)) > Number(title.slice(1)));
  const lost = needed.filter((edit) => !arrived.includes(`${edit.method} ${edit.title}`) && !(edit === lastPut && later(edit)));
  assert.deepEqual(lost, [], "edits that were lost");
  // An edit of an entry may overtake a new entry that waits. New entries keep their order, and so do edits of one entry.
  for (const method of ["POST", "PUT"]) {
    const all = acknowledged.filter((edit) => edit.method === method).map(({ title }) => `${method} ${title}`);
    const order = arrived.filter((edit) => all.includes(edit));
    assert.deepEqual(order, all.filter((edit) => order.includes(edit)), `the order of ${method}`);
  }
  const last = await (await fetch(`${origin.url}${origin.entryPath("a")}`)).text();
  const puts = arrived.filter((edit) => edit.startsWith("PUT "));
  if (puts.length) assert.equal(titleOf(last), puts.at(-1).slice(4), "the entry is the last edit that arrived");
  console.log(`${kind} ${way} ${start.name}: ${kills} kills, ${acknowledged.length} acknowledged, ${arrived.length} arrived, ` +
    `0 lost, 0 twice; ${JSON.stringify(Object.fromEntries(reached))}`);
  await steps.end();
  await world.end();
  await browser.close();
}

async function tests() {
  const origin = await Origin.start();
  origin.entries.set("/entry/a", entry("a"));
  return origin;
}
async function nginx() { return Nginx.start(["a"]); }
async function hub() { return Hub.start(["a"]); }

const RUNS = [
  { kind: "chrome", way: "stop", share: 0.4, start: tests, canPost: true },
  { kind: "chrome", way: "kill", share: 0.12, start: tests, canPost: true },
  { kind: "firefox", way: "kill", share: 0.06, start: tests, canPost: true },
  { kind: "chrome", way: "stop", share: 0.16, start: nginx, canPost: false },
  { kind: "chrome", way: "stop", share: 0.2, start: hub, canPost: true },
  { kind: "chrome", way: "kill", share: 0.03, start: nginx, canPost: false },
  { kind: "chrome", way: "kill", share: 0.03, start: hub, canPost: true },
];

for (const { share, ...one } of RUNS.filter(({ kind }) => KINDS.includes(kind))) {
  const kills = Math.max(Math.round(KILLS * share), 1);
  const how = one.way === "stop" ? "the worker is stopped" : "the browser is killed";
  test(`${one.kind}, ${one.start.name}: every acknowledged edit arrives once and in order although ${how} ${kills} times (seed ${SEED})`,
    () => run({ ...one, kills }));
}
