/**
 * Collections of items that several devices and people edit, online or offline, without losing an edit.
 *
 * A {@link Replica} is the data of an application on one device. All edits are local, durable and immediate. When there is a
 * network, a collection syncs with a hub over plain HTTP.
 */

/** The data of an application on this device. */
export class Replica {
  /**
   * Opens the data in IndexedDB, and creates it if it does not exist. All tabs and workers of an origin that open one name
   * share the data.
   *
   * @throws {StorageFailed} if the browser has no storage for this page.
   */
  static open(name: string, options?: Environment): Promise<Replica>;
  /** A replica in memory, for Node and for tests. It ends with the process. */
  static inMemory(options?: Environment): Promise<Replica>;
  /**
   * Opens a collection, and creates it if it does not exist. A name is a lower-case letter and at most 62 lower-case letters,
   * digits, `_` and `-`.
   *
   * @throws {Invalid} for another name.
   */
  collection<T extends object = Record<string, unknown>>(name: string): Promise<Collection<T>>;
  /** Names of the collections. */
  collections(): Promise<string[]>;
  /** Closes the data. Running calls may fail; what was acknowledged stays. */
  close(): void;
}

/** Parts of the world that a replica uses. Tests replace them. */
export interface Environment {
  /** The time. It is rounded down to a second. */
  now?: () => Date;
  /** A random name: at least 16 hexadecimal digits that no other replica gets. */
  random?: () => string;
  /** The function for requests; `fetch` if absent. */
  fetch?: typeof fetch;
}

/** A named set of items. */
export class Collection<T extends object = Record<string, unknown>> {
  /** Name of the collection on this device. */
  readonly name: string;
  /**
   * Adds an item, and returns its id: a new one, or the one in the options.
   *
   * @throws {Invalid} for content that is no object, is nested too deep, or has a member `sync` or `fs:native`.
   * @throws {Exists} if the collection has the id, even deleted.
   */
  add(content: T, options?: { id?: string; noconflicts?: boolean }): Promise<string>;
  /** An item; undefined if the collection does not have it, or if it is deleted. */
  get(id: string): Promise<Item<T> | undefined>;
  /** All items that are not deleted, the latest change last. */
  items(): Promise<Item<T>[]>;
  /** The deleted items with the content that they had. */
  deletedItems(): Promise<Item<T>[]>;
  /**
   * The updates that led to the version that is shown, newest first.
   *
   * @throws {NotFound} if there is no such item.
   */
  history(id: string): Promise<Update[]>;
  /**
   * Replaces the content of an item as the application has read it. If the item has changed since, both edits are kept as a
   * conflict. Continue with the returned item: a second update with the old one conflicts with your own edit.
   *
   * @throws {NotFound} if there is no such item.
   * @throws {Invalid} for invalid content, and for an entry of another format (Atom, RSS, OPML, XML).
   * @throws {Refused} if a bound would be exceeded, or if the item has changed and keeps no conflicts.
   */
  update(item: Item<T>): Promise<Edited<T>>;
  /**
   * Reads an item, changes its content, and stores it, as one step. The function returns the new content, or changes the one
   * that it gets. It is called again each time that somebody was faster. The result is never a conflict on this device.
   *
   * @throws {NotFound} also for a deleted item.
   */
  change(id: string, change: (content: T) => T | void): Promise<Item<T>>;
  /** Deletes an item as the application has read it. A newer version is kept beside the deletion, as a conflict. */
  delete(item: Item<T>): Promise<Edited<T>>;
  /** Deletes an item by its id, whatever it has become. */
  deleteLatest(id: string): Promise<Edited<T>>;
  /** Brings a deleted item back, with the content that it had. */
  undelete(id: string): Promise<Edited<T>>;
  /** The items with several versions that do not know of each other. */
  conflicts(): Promise<ItemConflict<T>[]>;
  /**
   * Resolves a conflict as one of its methods says. The resolution is an edit that travels to all other replicas.
   *
   * @throws {Conflict} if the item has changed since the conflict was read.
   */
  resolve(resolution: Resolution): Promise<Edited<T>>;
  /**
   * Merges what a hub has, and sends what it lacks. A crash at any moment loses nothing, and the next call continues. In several
   * tabs one call runs at a time.
   *
   * @param address - Address of the collection, such as `https://hub.example/collections/todo`. It may be relative.
   * @throws {Offline} without a network. The edits stay here.
   * @throws {NotFound} if the hub has no such collection.
   * @throws {Denied} if the hub requires a sign-in, or does not admit this page or user.
   * @throws {HubFailed} for all other failures of the hub.
   */
  sync(address: string | URL, options?: SyncOptions): Promise<SyncReport>;
  /** All items, and then each change: of this page, a sync, or another tab. Several changes of one item may be one. */
  watch(options?: { signal?: AbortSignal }): AsyncGenerator<Change<T>, void, void>;
}

/** An item: a plain object, which may be copied and stored. */
export interface Item<T extends object = Record<string, unknown>> extends Version<T> {
  /** Id, the same on all replicas. */
  id: string;
  /** Number of versions beside the one that is shown. */
  conflicts: number;
  /** The version that was read, as an opaque text. {@link Collection.update} and {@link Collection.delete} start from it. */
  version: string;
}

/** One version of an item. */
export interface Version<T extends object = Record<string, unknown>> {
  /** Content: any JSON object. */
  content: T;
  /** Whether this version is a deletion. */
  deleted: boolean;
  /** Number of updates that led to it. */
  updates: number;
  /** Time of its update by the clock of its device, such as `2026-11-20T08:00:00Z`. */
  when?: string;
  /** Random name of its author's replica, with a prefix. */
  by?: string;
}

/** One update of an item. It has `when`, `by`, or both. */
export interface Update {
  /** Position in the updates of its author. */
  sequence: number;
  when?: string;
  by?: string;
}

/** Effect of an edit. */
export interface Edited<T extends object = Record<string, unknown>> {
  /**
   * `applied`; `unchanged` if the item was as the edit would make it; or the item had changed, both versions are kept, and the
   * item shows the edit (`conflictShown`) or the other version (`conflictHidden`).
   */
  outcome: "applied" | "unchanged" | "conflictShown" | "conflictHidden";
  /** The item after the edit. */
  item: Item<T>;
}

/** An item with several versions. */
export interface ItemConflict<T extends object = Record<string, unknown>> {
  /** Id of the item. */
  readonly id: string;
  /** The versions, the shown one first, in the same order on all replicas. */
  readonly versions: Version<T>[];
  /** Keeps one version, by its index in `versions`. */
  keep(index: number): Resolution;
  /** Replaces all versions by new content. */
  replace(content: T): Resolution;
  /** Replaces all versions by what a function makes of each two of them. */
  keepBoth(merge: (one: T, other: T) => T): Resolution;
  /** Deletes the item. */
  remove(): Resolution;
}

/** A resolution of a conflict, for {@link Collection.resolve}. */
export interface Resolution {
  readonly id: string;
}

/** A change of a collection. */
export type Change<T extends object = Record<string, unknown>> =
  /** An item is new or has changed. */
  | { kind: "put"; item: Item<T> }
  /** An item was deleted. */
  | { kind: "deleted"; id: string }
  /** All items have been reported; from now on there are changes. */
  | { kind: "complete" };

/** Options of a sync. */
export interface SyncOptions {
  /** Headers of each request, such as `{ authorization: "Bearer …" }`. */
  headers?: Record<string, string>;
  /** Ends the sync early. */
  signal?: AbortSignal;
}

/** Result of a sync. */
export interface SyncReport {
  /** Number of items that are new here or have changed. */
  received: number;
  /** Number of items that the hub took. */
  sent: number;
  /** Number of received items that have conflicts now. */
  conflicts: number;
  /** Items that were refused here or by the hub, with the reason. The hub is sent them again at the next sync. */
  refused: { by: "here" | "there"; id: string; reason: string }[];
  /** Reason why the hub takes no changes from here. */
  readOnly: string | undefined;
}

/** Items of a FeedSync JSON document in memory, for merging many at once. */
export class Batch {
  /** Reads the items of a document. */
  constructor(document: string);
  /** Merges the items of another batch into this one, and returns the number of merged items. */
  merge(other: Batch): number;
  /** A copy of these items. */
  copy(): Batch;
  /** Writes the items as a document. */
  write(): string;
  /** Releases the memory. */
  free(): void;
}

/** A failure of this library. */
export class FeedSyncError extends Error {}
/** The application gave content, an id, a name or an address that is not valid. */
export class Invalid extends FeedSyncError {}
/** The item, or the collection at the hub, does not exist. */
export class NotFound extends FeedSyncError {}
/** The collection has an item with this id. */
export class Exists extends FeedSyncError {}
/** The item has changed since it was read, and the request makes sense only for what was read. */
export class Conflict extends FeedSyncError {}
/** A bound of items would be exceeded. */
export class Refused extends FeedSyncError {}
/** There is no network, or the hub does not respond. */
export class Offline extends FeedSyncError {}
/** The hub requires a sign-in, or does not admit this user or this page. */
export class Denied extends FeedSyncError {}
/** The hub failed, or is no hub. */
export class HubFailed extends FeedSyncError {
  /** Pause that the hub asks for, in seconds. */
  readonly retryAfter?: number;
}
/** The storage of this device failed, or is full. */
export class StorageFailed extends FeedSyncError {}
