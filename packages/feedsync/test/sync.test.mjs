// Sync with a real hub: exchange, conflicts, items of other formats, faults of the network and of the storage.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Collection, HubFailed, Invalid, NotFound, Offline, Replica } from "../dist/feedsync.mjs";
import { MemoryStore } from "../dist/memory.mjs";
import { HubProgram } from "./hub.mjs";
import { Random } from "./random.mjs";

let hub;
before(async () => { hub = await HubProgram.start(); });
after(() => hub?.remove());

let count = 0;
async function collection() {
  const name = `list${count += 1}`;
  hub.run("collection", "create", name, "--format", "json");
  const url = `http://127.0.0.1:${hub.port}/collections/${name}`;
  const open = async (options) => (await Replica.inMemory(options)).collection(name);
  return { name, url, open };
}

const titles = async (todo) => (await todo.items()).map(({ content }) => content.title).sort();

test("two replicas exchange items, edits and deletions", async () => {
  const { url, open } = await collection();
  const [anna, ben] = [await open(), await open()];
  const id = await anna.add({ title: "Milk", price: 1.5 });
  await anna.add({ title: "Bread" });
  assert.deepEqual(await anna.sync(url), { received: 0, sent: 2, conflicts: 0, refused: [], readOnly: undefined });
  assert.equal((await ben.sync(url)).received, 2);
  assert.deepEqual(await titles(ben), ["Bread", "Milk"]);
  await ben.deleteLatest(id);
  await ben.sync(url);
  await anna.sync(url);
  assert.deepEqual(await titles(anna), ["Bread"]);
  const idle = await anna.sync(`${url}/`);
  assert.deepEqual([idle.received, idle.sent], [0, 0]);
});

test("edits that do not know of each other are a conflict everywhere, until one resolution", async () => {
  const { url, open } = await collection();
  const [anna, ben] = [await open(), await open()];
  const id = await anna.add({ title: "Milk" });
  await anna.sync(url);
  await ben.sync(url);
  await anna.change(id, () => ({ title: "Oat milk" }));
  await ben.change(id, () => ({ title: "Two milks" }));
  await anna.sync(url);
  assert.equal((await ben.sync(url)).conflicts, 1);
  await anna.sync(url);
  assert.deepEqual(await titles(anna), await titles(ben));
  const [conflict] = await ben.conflicts();
  await ben.resolve(conflict.replace({ title: "Two oat milks" }));
  await ben.sync(url);
  await anna.sync(url);
  assert.deepEqual(await titles(anna), ["Two oat milks"]);
  assert.deepEqual(await anna.conflicts(), []);
});

test("more items than fit into one page or request all arrive", async () => {
  const { url, open } = await collection();
  const [anna, ben] = [await open(), await open()];
  for (let number = 0; number < 1234; number += 1) await anna.add({ title: `item ${number}` });
  assert.equal((await anna.sync(url)).sent, 1234);
  assert.equal((await ben.sync(url)).received, 1234);
  assert.deepEqual(await titles(ben), await titles(anna));
});

test("an entry of another format keeps its native text through a deletion and a restoration", async () => {
  const { name, url, open } = await collection();
  const atom = '<entry xmlns="http://www.w3.org/2005/Atom" xmlns:x="urn:x"><id>urn:a</id><title>Milk</title>'
    + "<updated>2026-11-01T00:00:00Z</updated><x:only-in-xml/></entry>";
  const headers = { "content-type": "application/atom+xml;type=entry" };
  const made = await fetch(url, { method: "POST", body: atom, headers });
  assert.equal(made.status, 201, await made.text());
  const anna = await open();
  await anna.sync(url);
  const [item] = await anna.items();
  assert.equal(item.content.title, "Milk");
  await assert.rejects(anna.update({ ...item, content: { title: "Oat milk" } }), Invalid);
  await anna.delete(item);
  await anna.undelete(item.id);
  await anna.sync(url);
  assert.match(hub.run("show", name, item.id, "--json"), /only-in-xml/);
});

test("faults of the hub and of the address are typed errors, and the edits stay", async () => {
  const { url, open } = await collection();
  const todo = await open();
  await todo.add({ title: "Milk" });
  await assert.rejects(todo.sync("http://127.0.0.1:9/collections/todo"), Offline);
  await assert.rejects(todo.sync(`${url}none`), NotFound);
  await assert.rejects(todo.sync("ftp://a/"), Invalid);
  await assert.rejects(todo.sync("http://anna:secret@127.0.0.1/collections/todo"), Invalid);
  const other = (body, headers) => open({ fetch: async () => new Response(body, { headers }) });
  for (const body of ["", "<html>Sign in</html>", "[]", '{"items":[]}', '{"sharing":{"since":"1"},"items":[]}']) {
    await assert.rejects((await other(body)).sync(url), HubFailed, body);
  }
  const elsewhere = '{"sharing":{"since":"0","until":"1"},"links":[{"rel":"next","href":"http://evil.example/"}],"items":[]}';
  await assert.rejects((await other(elsewhere)).sync(url), HubFailed);
  const damaged = '{"sharing":{"since":"0","until":"1"},"items":[{"sync":{"id":"a"}},{"title":"b","sync":{"id":"b","updates":"1",'
    + '"history":[{"sequence":"1","by":"x"}]}}]}';
  const half = await other(damaged);
  await half.sync(url).catch(() => {});
  assert.deepEqual(await titles(half), ["b"]);
  assert.equal((await todo.sync(url)).sent, 1);
});

test("an item that no hub accepts is reported, and keeps no other item from being sent", async () => {
  const { url, open } = await collection();
  const anna = await open();
  await anna.add({ title: "long", text: "x".repeat(9 << 20) });
  await anna.add({ title: "short" });
  const report = await anna.sync(url);
  assert.equal(report.sent, 1);
  assert.equal(report.refused.length, 1);
  assert.equal((await anna.sync(url)).refused.length, 1);
  const ben = await open();
  await ben.sync(url);
  assert.deepEqual(await titles(ben), ["short"]);
});

test("no edit is lost, and all replicas agree, whatever request or transaction fails", async () => {
  const seeds = process.env.FEEDSYNC_SEED ? [Number(process.env.FEEDSYNC_SEED)] : [1, 2, 3, 4, 5, 6];
  for (const seed of seeds) {
    const random = new Random(seed);
    const { name, url } = await collection();
    let isFaulty = true;
    const fails = () => isFaulty && random.below(5) === 0;
    const environment = {
      now: () => "2026-11-20T08:00:00Z", fresh: () => `web.${random.name()}`, id: () => random.name(),
      fetch: async (...request) => {
        if (fails()) throw new TypeError("no network");
        const response = await fetch(...request);
        if (fails()) throw new TypeError("the response was lost");
        return response;
      },
    };
    const replicas = [];
    for (let index = 0; index < 3; index += 1) {
      const store = new MemoryStore();
      const decide = store.decide.bind(store);
      await decide(name, [], () => ({ collection: { name, by: environment.fresh(), last: 0, remotes: {} } }));
      let inSync = false;
      store.decide = (...transaction) => {
        if (inSync && fails()) throw new Error("the page was closed");
        return decide(...transaction);
      };
      const todo = new Collection(store, environment, name);
      replicas.push({ todo, sync: async () => { inSync = true; try { return await todo.sync(url); } finally { inSync = false; } } });
    }
    const [added, edits] = [[], new Map()];
    for (let step = 0; step < 60; step += 1) {
      const { todo, sync } = random.of(replicas);
      const items = await todo.items();
      const kind = random.below(5);
      if (kind === 0 || items.length === 0) {
        added.push(await todo.add({ words: [`add${step}`] }));
      } else if (kind === 1) {
        const word = `edit${step}`;
        const { id } = random.of(items);
        await todo.change(id, ({ words }) => ({ words: [...words, word] }));
        edits.set(word, id);
      } else if (kind === 2) {
        for (const conflict of await todo.conflicts()) {
          const union = (one, other) => ({ words: [...new Set([...one.words, ...other.words])] });
          await todo.resolve(conflict.keepBoth(union));
        }
      } else {
        await sync().catch(() => {});
      }
    }
    isFaulty = false;
    for (let round = 0; round < 3; round += 1) for (const { sync } of replicas) await sync();
    const states = await Promise.all(replicas.map(async ({ todo }) => {
      const items = await todo.items();
      return items.map(({ id, version }) => [id, JSON.stringify(JSON.parse(version))]).sort();
    }));
    assert.deepEqual(states[1], states[0], `seed ${seed}`);
    assert.deepEqual(states[2], states[0], `seed ${seed}`);
    const texts = new Map(states[0]);
    assert.deepEqual([...texts.keys()].sort(), added.sort(), `seed ${seed}`);
    for (const [word, id] of edits) assert.ok(texts.get(id).includes(`"${word}"`), `seed ${seed}: ${word} is lost`);
  }
});

test("a copied replica that edits on loses no edit", async () => {
  const { name, url, open } = await collection();
  const store = new MemoryStore();
  const environment = (seed) => {
    const random = new Random(seed);
    const now = () => `2026-11-20T08:00:0${seed}Z`;
    return { now, fresh: () => `web.${random.name()}`, id: () => random.name(), fetch };
  };
  await store.decide(name, [], () => ({ collection: { name, by: "web.0123456789abcdef", last: 0, remotes: {} } }));
  const first = new Collection(store, environment(1), name);
  const id = await first.add({ title: "Milk" });
  await first.sync(url);
  const copied = new MemoryStore();
  const [kept, item] = [await store.collection(name), await store.item(name, id)];
  await copied.decide(name, [], () => ({ collection: kept, records: [item] }));
  const second = new Collection(copied, environment(2), name);
  await first.change(id, () => ({ title: "of the first" }));
  await second.change(id, () => ({ title: "of the second" }));
  await second.change(id, () => ({ title: "of the second, again" }));
  await first.sync(url);
  await second.sync(url);
  await first.sync(url);
  const third = await open();
  await third.sync(url);
  const [conflict] = await third.conflicts();
  assert.deepEqual(conflict.versions.map(({ content }) => content.title).sort(), ["of the first", "of the second, again"]);
});
