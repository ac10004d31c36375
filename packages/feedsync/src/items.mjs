// Items as plain objects.

/** The item that a record has, as applications see it. */
export function itemOf({ id, text }) {
  const { sync, ...rest } = JSON.parse(text);
  return { id, ...versionOf(rest, sync), conflicts: sync.conflicts?.length ?? 0, version: text };
}

/** One version of an item. */
export function versionOf(rest, sync) {
  const { "fs:native": native, ...content } = rest;
  const [{ when, by }] = sync.history;
  return { content, deleted: sync.deleted === "true", updates: Number(sync.updates), when, by };
}

export function isDeleted({ text }) {
  return JSON.parse(text).sync.deleted === "true";
}

/** The updates that led to the version of an item that is shown, newest first. */
export function historyOf({ text }) {
  return JSON.parse(text).sync.history.map(({ sequence, when, by }) => ({ sequence: Number(sequence), when, by }));
}

/** An item with several versions that do not know of each other. */
export class ItemConflict {
  #seen;

  constructor(record) {
    const { sync, ...rest } = JSON.parse(record.text);
    const others = (sync.conflicts ?? []).map(({ sync: own, ...content }) => versionOf(content, own));
    this.id = record.id;
    this.versions = [versionOf(rest, sync), ...others];
    this.#seen = record.text;
  }

  keep(index) {
    if (!(index in this.versions)) throw new RangeError(`the conflict has no version ${index}`);
    return { id: this.id, seen: this.#seen, keep: index };
  }

  replace(content) {
    return { id: this.id, seen: this.#seen, content: JSON.stringify(content), deleted: false };
  }

  keepBoth(merge) {
    return this.replace(this.versions.map(({ content }) => content).reduce((one, other) => merge(one, other)));
  }

  remove() {
    return { id: this.id, seen: this.#seen, content: JSON.stringify(this.versions[0].content), deleted: true };
  }
}
