// Errors, by culprit.

/** A failure of this library. */
export class FeedSyncError extends Error {
  get name() { return this.constructor.name; }
}

/** The application gave content or an id that no item may have. */
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
/** The hub failed, or is no hub. `retryAfter` is the pause that it asks for, in seconds. */
export class HubFailed extends FeedSyncError {
  constructor(message, { retryAfter, ...options } = {}) {
    super(message, options);
    this.retryAfter = retryAfter;
  }
}
/** The storage of this device failed, or is full. */
export class StorageFailed extends FeedSyncError {}

const KINDS = { id: Invalid, content: Invalid, refused: Refused, changed: Conflict, damaged: StorageFailed, document: HubFailed };

/** The error for a failure that the core reports. */
export function failure({ error, message }) {
  return new (KINDS[error] ?? FeedSyncError)(message);
}
