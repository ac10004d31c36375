// A replica in memory: edits, conflicts, resolutions, bounds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Conflict, Exists, Invalid, NotFound, Replica } from "../dist/feedsync.mjs";

const opened = async () => (await Replica.inMemory()).collection("todo");

test("an added item can be read, edited, deleted and restored", async () => {
  const todo = await opened();
  const id = await todo.add({ title: "Milk", litres: 1.5, nested: { list: [1, null, true, "ü\"\\"] } });
  const milk = await todo.get(id);
  assert.deepEqual(milk.content, { title: "Milk", litres: 1.5, nested: { list: [1, null, true, "ü\"\\"] } });
  assert.equal(milk.updates, 1);
  milk.content.title = "Oat milk";
  const edited = await todo.update(milk);
  assert.equal(edited.outcome, "applied");
  assert.equal((await todo.get(id)).content.title, "Oat milk");
  assert.deepEqual((await todo.history(id)).map(({ sequence }) => sequence), [2, 1]);
  await todo.delete(edited.item);
  assert.equal(await todo.get(id), undefined);
  assert.equal((await todo.deletedItems()).length, 1);
  assert.equal((await todo.undelete(id)).item.content.title, "Oat milk");
  assert.equal((await todo.items()).length, 1);
});

test("an edit of an older version is kept as a conflict, which a resolution settles", async () => {
  const todo = await opened();
  const id = await todo.add({ title: "Milk" });
  const [one, other] = [await todo.get(id), await todo.get(id)];
  one.content.title = "Oat milk";
  other.content.title = "Two milks";
  assert.equal((await todo.update(one)).outcome, "applied");
  assert.match((await todo.update(other)).outcome, /^conflict(Shown|Hidden)$/);
  assert.match((await todo.update(other)).outcome, /^(unchanged|conflictHidden)$/);
  const [conflict] = await todo.conflicts();
  assert.deepEqual(conflict.versions.map(({ content }) => content.title).sort(), ["Oat milk", "Two milks"]);
  await todo.resolve(conflict.keepBoth((a, b) => ({ title: [a.title, b.title].sort().join(" / ") })));
  assert.equal((await todo.get(id)).content.title, "Oat milk / Two milks");
  assert.deepEqual(await todo.conflicts(), []);
  await assert.rejects(todo.resolve(conflict.keep(0)), Conflict);
});

test("a deletion of an older version keeps the newer one", async () => {
  const todo = await opened();
  const id = await todo.add({ title: "Milk" });
  const seen = await todo.get(id);
  await todo.change(id, (content) => ({ ...content, title: "Oat milk" }));
  assert.match((await todo.delete(seen)).outcome, /^conflict/);
  const [conflict] = await todo.conflicts();
  assert.deepEqual(conflict.versions.map(({ deleted }) => deleted).sort(), [false, true]);
  const kept = conflict.versions.findIndex(({ deleted }) => !deleted);
  await todo.resolve(conflict.keep(kept));
  assert.equal((await todo.get(id)).content.title, "Oat milk");
});

test("concurrent changes of one item are all made", async () => {
  const todo = await opened();
  const id = await todo.add({ count: 0 });
  await Promise.all(Array.from({ length: 20 }, () => todo.change(id, ({ count }) => ({ count: count + 1 }))));
  assert.deepEqual((await todo.get(id)).content, { count: 20 });
  assert.deepEqual(await todo.conflicts(), []);
});

test("a change may return the content or change it, and is never asynchronous", async () => {
  const todo = await opened();
  const id = await todo.add({ title: "Milk", done: false });
  await todo.change(id, (item) => item.done = true);
  assert.deepEqual((await todo.get(id)).content, { title: "Milk", done: true });
  await todo.change(id, (item) => ({ ...item, title: "Bread" }));
  await assert.rejects(todo.change(id, async () => ({ title: "later" })), Invalid);
  assert.deepEqual((await todo.get(id)).content, { title: "Bread", done: true });
});

test("invalid requests are typed errors that change nothing", async () => {
  const todo = await opened();
  const id = await todo.add({ title: "Milk" }, { id: "milk" });
  for (const content of [undefined, null, 7, "text", [1]]) await assert.rejects(todo.add(content), Invalid);
  for (const name of ["sync", "fs:native"]) await assert.rejects(todo.add({ [name]: 1 }), Invalid);
  for (const bad of ["", "a b", "ü", "x".repeat(2000), 7]) await assert.rejects(todo.add({}, { id: bad }), Invalid);
  let deep = {};
  for (let depth = 0; depth < 400; depth += 1) deep = { deep };
  await assert.rejects(todo.add(deep), (error) => error.name !== "RangeError");
  await assert.rejects(todo.add({}, { id }), Exists);
  await assert.rejects(todo.history("none"), NotFound);
  await assert.rejects(todo.change("none", () => ({})), NotFound);
  await assert.rejects(todo.deleteLatest("none"), NotFound);
  await assert.rejects((await Replica.inMemory()).collection("No Name"), Invalid);
  assert.equal((await todo.items()).length, 1);
});

test("content that is a member of every object is content like any other", async () => {
  const todo = await opened();
  const content = JSON.parse('{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}');
  const id = await todo.add(content, { id: "__proto__" });
  assert.equal(JSON.stringify((await todo.get(id)).content), JSON.stringify(content));
});

test("watching yields all items, then each change", async () => {
  const todo = await opened();
  const id = await todo.add({ title: "Milk" });
  const stop = new AbortController();
  const seen = [];
  const watching = (async () => {
    for await (const change of todo.watch({ signal: stop.signal })) {
      seen.push(change.kind === "put" ? change.item.content.title : change.kind);
      if (change.kind === "complete") void todo.change(id, () => ({ title: "Oat milk" })).then(() => todo.deleteLatest(id));
      if (change.kind === "deleted") stop.abort();
    }
  })();
  await watching;
  assert.equal(seen[0], "Milk");
  assert.equal(seen[1], "complete");
  assert.equal(seen.at(-1), "deleted");
});
