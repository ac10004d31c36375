// The types of bitsy.js: BITSY 0.3.1, appendix C, as corrected in bitsy.webidl.

declare namespace bitsy {
  /** Open subscriptions that this page may see, in their current state. */
  const subscriptions: SubscriptionList;
  /** Emulated proxy styles, each as `{namespace}name`. */
  const supportedProxies: StringList;
  /** Fulfilled once `subscriptions` is filled; rejected if the gateway does not allow this page. */
  const ready: Promise<void>;
  /** Whether the gateway emulates a proxy style. */
  function supportsProxy(style: string): boolean;
  /** Creates a builder. */
  function subscriptionBuilder(): SubscriptionBuilder;

  /** An immutable list. */
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
    /** New state of the subscription, or HTTP status of the response. */
    readonly status: number;
    /** Milliseconds since 1970. */
    readonly timeStamp: number;
    /** Address of the feed whose state changed, or of the request. */
    readonly location: string;
    readonly subscription: Subscription;
  }
  interface StateChangeEvent extends Event {}
  interface SyncEvent extends Event {
    readonly method: string;
    readonly requestHeaders: string;
    readonly requestText: string;
    /** The body as bytes; null if there is none, or if it is larger than 1 MiB. */
    readonly requestBody: Uint8Array | null;
    readonly responseHeaders: string;
    readonly responseText: string;
    readonly responseBody: Uint8Array | null;
    /** The same as `responseHeaders`. */
    readonly headers: string;
  }
  /** A failed request; it is listed until it is cleared. */
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
    /** Time of the server's last response for the feed, by its clock; 0 if there was none. */
    readonly lastUpdated: number;
    readonly state: 0 | 1 | 2 | 3 | 4;
    /** Minimum number of minutes between two refreshes; 0 selects the default of the gateway. */
    interval: number;
    /** The normalised, absolute address of the feed. */
    readonly feed: string;
    readonly follows: StringList;
    /** Current errors that have not been cleared. */
    readonly errors: ErrorList;
    /** Address of the proxy configuration; empty if there is none. */
    get proxy(): string;
    set proxy(url: string | null);
    /** Fulfilled once the gateway has the subscription; rejected with the reason if it refuses. */
    readonly ready: Promise<Subscription>;
    getRequestHeader(name: string): string | null;
    /** All registered headers as `Name: value`. */
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
    /** Sets the address of the feed, which may be relative to the address of the document. */
    setFeed(url: string): this;
    /** Registers a header, and replaces earlier values of this name. */
    setRequestHeader(name: string, value: string): this;
    /** Registers an additional value of a header. */
    addRequestHeader(name: string, value: string): this;
    setInterval(minutes: number): this;
    addFollow(relation: string): this;
    /** Sets the address of the proxy configuration, which may be relative to the address of the document. */
    setProxy(url: string): this;
    build(): Subscription;
  }

  /**
   * Reason why the gateway refused a request; `status` is the HTTP status, or 0 if there was no response. `permission` is
   * the name of the permission that the browser denies the page, such as `loopback-network`, or null.
   */
  interface GatewayError extends globalThis.Error {
    readonly status: number;
    readonly permission: string | null;
  }
}
