// The core passes the language-neutral test vectors.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Replica } from "../dist/feedsync.mjs";
import { carriedOut, ordered, read } from "./vectors.mjs";

before(() => Replica.inMemory());

for (const file of ["create", "edit", "merge", "resolve"]) {
  for (const vector of await read(file)) {
    test(`${file}: ${vector.name}`, () => {
      const { outcome, result } = carriedOut(vector);
      if (vector.outcome) assert.equal(outcome, vector.outcome);
      assert.deepEqual(ordered(result), ordered(vector.result));
    });
  }
}

test("random schedules give the results of the vectors", async () => {
  const schedules = await read("schedules");
  assert.ok(schedules.length >= 20);
  for (const { seed, steps } of schedules) {
    const replicas = [];
    steps.forEach(({ replica, from, result, ...step }, index) => {
      const before = replicas[replica] ?? null;
      const done = carriedOut({ ...step, item: before ?? undefined, local: before, incoming: replicas[from] });
      if (done.result) replicas[replica] = done.result;
      assert.deepEqual(ordered(replicas[replica]), ordered(result), `seed ${seed}, step ${index}`);
    });
  }
});
