// The types of bitsy.js: BITSY 0.3.1, appendix C, as corrected in bitsy.webidl.

declare namespace bitsy {
  /** The subscriptions that this page may know of and that are not closed, as they are now. */
  const subscriptions: SubscriptionList;
  /** The styles of proxies that are emulated, each as `{namespace}name`. */
  const supportedProxies: StringList;
  /** Fulfilled once `subscriptions` shows what the gateway has; rejected if it refuses this page. */
  const ready: Promise<void>;
  /** Whether a style of proxies is emulated. */
  function supportsProxy(style: string): boolean;
  /** A new builder. */
  function subscriptionBuilder(): SubscriptionBuilder;

  /** A list that does not change. */
  interface List<T> extends Iterable<T> {
    readonly length: number;
    item(index: number): T | null;
    readonly [index: number]: T;
  }
  interface SubscriptionList extends List<Subscription> {}
  interface ErrorList extends List<Error> {}
  interface StringList extends List<string> {
    contains(text: string): boolean;
  }

  interface Event {
    /** The new state of the subscription, or the status of the answer. */
    readonly status: number;
    /** Milliseconds since 1970. */
    readonly timeStamp: number;
    /** The feed whose state changed, or where the request was made. */
    readonly location: string;
    readonly subscription: Subscription;
  }
  interface StateChangeEvent extends Event {}
  interface SyncEvent extends Event {
    readonly method: string;
    readonly requestHeaders: string;
    readonly requestText: string;
    /** The same as bytes; null if there is none, or it is longer than an event carries (1 MiB). */
    readonly requestBody: Uint8Array | null;
    readonly responseHeaders: string;
    readonly responseText: string;
    readonly responseBody: Uint8Array | null;
    /** The same as `responseHeaders`. */
    readonly headers: string;
  }
  /** An interaction that failed, until it is cleared. */
  interface Error extends SyncEvent {
    clear(): void;
  }
  type Listener<E extends Event> = ((event: E) => void) | { handleEvent(event: E): void };

  interface Subscription {
    readonly PAUSED: 0;
    readonly FETCHING: 1;
    readonly WAITING: 2;
    readonly READY: 3;
    readonly CLOSED: 4;
    /** When the server last answered for the feed, by its clock; 0 before. */
    readonly lastUpdated: number;
    readonly state: 0 | 1 | 2 | 3 | 4;
    /** Minutes between two rounds at least; 0 leaves it to the gateway. */
    interval: number;
    /** The normalised, absolute address of the feed. */
    readonly feed: string;
    readonly follows: StringList;
    /** The errors that nobody has cleared, as they are now. */
    readonly errors: ErrorList;
    /** The address of the configuration of a proxy; empty if there is none. */
    get proxy(): string;
    set proxy(url: string | null);
    /** Fulfilled once the gateway has it; rejected with the reason if it refuses. */
    readonly ready: Promise<Subscription>;
    getRequestHeader(name: string): string | null;
    /** All of them as `Name: value`. */
    getRequestHeaders(): StringList;
    addFollow(relation: string): void;
    removeFollow(relation: string): void;
    pause(): void;
    resume(): void;
    unsubscribe(): void;
    addStateChangeEventListener(listener: Listener<StateChangeEvent>): void;
    removeStateChangeEventListener(listener: Listener<StateChangeEvent>): void;
    addSyncEventListener(listener: Listener<SyncEvent>): void;
    removeSyncEventListener(listener: Listener<SyncEvent>): void;
  }
  const Subscription: {
    readonly prototype: Subscription;
    readonly PAUSED: 0;
    readonly FETCHING: 1;
    readonly WAITING: 2;
    readonly READY: 3;
    readonly CLOSED: 4;
  };

  interface SubscriptionBuilder {
    /** Names the feed; relative to the address of the document. */
    setFeed(url: string): this;
    /** Registers a header in place of what was registered under its name. */
    setRequestHeader(name: string, value: string): this;
    /** Registers one more value of a header. */
    addRequestHeader(name: string, value: string): this;
    setInterval(minutes: number): this;
    addFollow(relation: string): this;
    /** Names the configuration of a proxy; relative to the address of the document. */
    setProxy(url: string): this;
    build(): Subscription;
  }

  /** Why the gateway refuses something; `status` is that of its answer, 0 if there was none. */
  interface GatewayError extends globalThis.Error {
    readonly status: number;
  }
}
