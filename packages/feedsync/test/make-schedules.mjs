// Makes vectors/schedules.json: random schedules of three replicas of one item, from seeds.

import { writeFile } from "node:fs/promises";
import { Replica } from "../dist/feedsync.mjs";
import { Random } from "./random.mjs";
import { VECTORS, carriedOut } from "./vectors.mjs";

await Replica.inMemory();
const schedules = [];
for (let seed = 1; seed <= 25; seed += 1) {
  const random = new Random(seed);
  const [replicas, steps] = [[], []];
  // Each edit has an author of its own, since replicas here keep no ledger of what they issued.
  const stamp = () => ({ when: `2026-11-20T08:00:${String(10 + random.below(50))}Z`, by: `${random.of("abc")}${steps.length}` });
  const take = (step) => {
    const before = replicas[step.replica];
    const { result } = carriedOut({ ...step, item: before, local: before ?? null, incoming: replicas[step.from] });
    replicas[step.replica] = result ?? before;
    steps.push({ ...step, result: replicas[step.replica] });
  };
  take({ replica: 0, op: "create", id: "milk", content: { title: "Milk" }, ...stamp() });
  for (const replica of [1, 2]) take({ replica, op: "merge", from: 0 });
  while (steps.length < 24) {
    const replica = random.below(3);
    const kind = random.below(6);
    const conflicts = replicas[replica].sync.conflicts?.length ?? 0;
    if (kind < 2) take({ replica, op: "edit", content: { title: `Milk ${steps.length}` }, ...stamp() });
    else if (kind === 2) take({ replica, op: "edit", deleted: replicas[replica].sync.deleted !== "true", ...stamp() });
    else if (kind === 3 && conflicts) take({ replica, op: "resolve", keep: random.below(conflicts + 1), ...stamp() });
    else take({ replica, op: "merge", from: (replica + 1 + random.below(2)) % 3 });
  }
  schedules.push({ seed, steps });
}
const lines = schedules.map(({ seed, steps }) => ` {"seed":${seed},"steps":[\n  ${steps.map((step) => JSON.stringify(step)).join(",\n  ")}]}`);
await writeFile(new URL("schedules.json", VECTORS), `[\n${lines.join(",\n")}\n]\n`);
