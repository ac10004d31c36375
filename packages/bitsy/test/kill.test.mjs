// The browser is killed at any moment. No acknowledged edit is lost, none arrives twice, and the order is kept.
//
// BITSY_KILLS is the number of kills, BITSY_SEED repeats a run.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Browser } from "./browser.mjs";
import { entry } from "./origin.mjs";
import { World } from "./world.mjs";

const KILLS = Number(process.env.BITSY_KILLS ?? 20);
const SEED = Number(process.env.BITSY_SEED ?? Date.now() % 1_000_000);

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

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test(`every acknowledged edit arrives once and in order although the browser is killed ${KILLS} times (seed ${SEED})`, async () => {
  const random = generator(SEED);
  const browser = await Browser.start("chrome");
  const world = await World.start(browser);
  const acknowledged = [];
  let number = 0;
  for (let round = 0; round < KILLS; round += 1) {
    const isOnline = random() < 0.5;
    if (isOnline) await world.online();
    else if (world.origin.server.listening) await world.offline();
    const edits = (async () => {
      for (;;) {
        const title = `n${number += 1}`;
        const isNew = random() < 0.5;
        const { status } = await world.send(isNew ? "POST" : "PUT", isNew ? "/feed" : "/entry/a", entry(title));
        if (status === 200 || status === 201) acknowledged.push({ title, method: isNew ? "POST" : "PUT" });
      }
    })();
    // Ends with the browser.
    edits.catch(() => {});
    await pause(20 + random() * 400);
    await browser.kill();
    await edits.catch(() => {});
    await world.open();
  }
  await world.online();
  await world.delivered();
  const arrived = world.origin.log;
  assert.deepEqual(arrived.filter((edit, at) => arrived.indexOf(edit) !== at), [], "edits that arrived twice");
  const errors = await world.errors();
  assert.deepEqual(errors.map(({ status, location }) => `${status} ${location}`), []);
  // A later edit of the same entry may replace one that has not left.
  const lastPut = acknowledged.findLast(({ method }) => method === "PUT");
  const needed = acknowledged.filter((edit) => edit.method === "POST" || edit === lastPut);
  const lost = needed.filter(({ method, title }) => !arrived.includes(`${method} ${title}`));
  assert.deepEqual(lost, [], "edits that were lost");
  // An edit of an entry may overtake a new entry that waits. New entries keep their order, and so do edits of one entry.
  for (const kind of ["POST", "PUT"]) {
    const all = acknowledged.filter(({ method }) => method === kind).map(({ title }) => `${kind} ${title}`);
    const order = arrived.filter((edit) => all.includes(edit));
    assert.deepEqual(order, all.filter((edit) => order.includes(edit)), `the order of ${kind}`);
  }
  console.log(`${acknowledged.length} acknowledged, ${arrived.length} arrived, ${lost.length} lost`);
  await world.end();
  await browser.close();
});
