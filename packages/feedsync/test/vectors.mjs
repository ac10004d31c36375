// The language-neutral test vectors, carried out by the core.

import { readFile } from "node:fs/promises";
import { decide, incorporate } from "../dist/decisions.mjs";

export const VECTORS = new URL("../../../vectors/", import.meta.url);

export const read = async (name) => JSON.parse(await readFile(new URL(`${name}.json`, VECTORS), "utf8"));

const text = (value) => value === undefined ? undefined : JSON.stringify(value);

/** Returns the outcome of a case, and the item afterwards; undefined if nothing changed. */
export function carriedOut({ op, id, noconflicts, item, local, incoming, content, deleted, keep, when, by }) {
  if (op === "merge") {
    const stored = local ? [[incoming.sync.id, { text: text(local), issued: {} }]] : [];
    const [{ outcome, item: merged }] = incorporate({ by: "none", fresh: "fresh", stored }, text({ items: [incoming] })).items;
    return { outcome, result: merged && JSON.parse(merged) };
  }
  const issued = {};
  for (const { sequence, by: author } of [item, ...item?.sync.conflicts ?? []].flatMap((one) => one?.sync.history ?? [])) {
    if (author === by) issued[by] = Math.max(issued[by] ?? 0, Number(sequence));
  }
  const decided = decide({
    op, id, noconflicts, item: text(item), seen: text(item), content: text(content), deleted, keep, now: when, by, fresh: "fresh",
    issued: op === "resolve" ? {} : issued,
  });
  return { outcome: decided.outcome, result: JSON.parse(decided.item) };
}

/** An item whose conflicts are in a fixed order: their order has no meaning. */
export function ordered(item) {
  if (!item?.sync.conflicts) return item;
  const conflicts = item.sync.conflicts.map((one) => JSON.stringify(one)).sort().map((one) => JSON.parse(one));
  return { ...item, sync: { ...item.sync, conflicts } };
}
