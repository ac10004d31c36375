// The ECMAScript binding of BITSY 0.3.1 (appendix C, as corrected in bitsy.webidl): defines `bitsy`.
//
// The specified interface is synchronous. Reads come from a mirror in this page, which a gateway or a Service Worker
// keeps up to date. A change applies to the mirror at once, and is sent there in the order of the calls. The promise
// `bitsy.ready` is fulfilled once the mirror is filled.
"use strict";
(() => {
  if (globalThis.bitsy) return;

  // The gateway fills in these two when it serves this file. A copy finds the gateway by the address of the script.
  const CONTROL = /*control*/ null;
  const PROXIES = /*proxies*/ [];
  // Filled in for the package of the Service Worker. A page then says with `bitsy.register` what it uses.
  const REGISTERS = /*registers*/ false;
  const MESSAGE = /*message*/ null;
  const script = globalThis.document?.currentScript?.src;
  let control = CONTROL ?? (script ? new URL(script).origin : "http://127.0.0.1:5024");

  const [PAUSED, FETCHING, WAITING, READY, CLOSED] = [0, 1, 2, 3, 4];
  const DEFAULT_INTERVAL = 30;
  const KEY = Symbol("made by bitsy");

  // Identifies this instance of the page. Its subscriptions are independent of those of other pages.
  const page = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0")).join("");

  // ---- Immutable lists --------------------------------------------------------------------------------

  class List {
    constructor(key, items) {
      own(key);
      items.forEach((item, index) => {
        Object.defineProperty(this, index, { value: item, enumerable: true });
      });
      Object.defineProperty(this, "length", { value: items.length });
      Object.freeze(this);
    }
    item(index) {
      return this[index >>> 0] ?? null;
    }
    [Symbol.iterator]() {
      return Array.prototype[Symbol.iterator].call(this);
    }
  }
  class SubscriptionList extends List {}
  class ErrorList extends List {}
  class StringList extends List {
    contains(text) {
      return Array.prototype.includes.call(this, String(text));
    }
  }

  // ---- Events -----------------------------------------------------------------------------------------

  // Internal state of objects, which pages cannot access.
  const inside = new WeakMap();
  function of(object) {
    const found = inside.get(object);
    if (!found) throw new TypeError("Illegal invocation");
    return found;
  }

  class Event {
    constructor(key, told, subscription) {
      own(key);
      inside.set(this, { told, subscription });
    }
    get status() { return of(this).told.status; }
    get timeStamp() { return of(this).told.timeStamp; }
    get location() { return of(this).told.location; }
    get subscription() { return of(this).subscription; }
  }

  class StateChangeEvent extends Event {}

  class SyncEvent extends Event {
    get method() { return of(this).told.method; }
    get requestHeaders() { return of(this).told.requestHeaders; }
    get requestText() { return entity(of(this), "request").text; }
    get requestBody() { return entity(of(this), "request").bytes?.slice() ?? null; }
    get responseHeaders() { return of(this).told.responseHeaders; }
    get responseText() { return entity(of(this), "response").text; }
    get responseBody() { return entity(of(this), "response").bytes?.slice() ?? null; }
    // Alias that the examples of the specification use.
    get headers() { return of(this).told.responseHeaders; }
  }

  class SyncError extends SyncEvent {
    clear() {
      const { id } = of(this).told;
      const cleared = errors.get(id);
      if (!cleared) return;
      errors.delete(id);
      ask("DELETE", () => `/errors/${id}`).catch((failure) => {
        if (failure.status === 404) return;
        errors.set(id, cleared);
        complain(failure);
      });
    }
  }
  Object.defineProperty(SyncError, "name", { value: "Error" });

  // Returns the bytes of a body and its text. The text is empty if there is no body, or if the body is too
  // large for an event.
  function entity(event, which) {
    event[which] = event[which] ?? decoded(event.told[which], event.told[`${which}Headers`]);
    return event[which];
  }

  function decoded(body, headers) {
    if (typeof body?.text === "string") {
      return { text: body.text, bytes: new TextEncoder().encode(body.text) };
    }
    if (typeof body?.base64 !== "string") return { text: "", bytes: null };
    const bytes = Uint8Array.from(atob(body.base64), (character) => character.charCodeAt(0));
    const charset = /^content-type:.*?;\s*charset="?([^\s;"]+)/im.exec(headers)?.[1];
    let decoder;
    try {
      decoder = new TextDecoder(charset ?? "utf-8");
    } catch {
      decoder = new TextDecoder();
    }
    return { text: decoder.decode(bytes), bytes };
  }

  // ---- Subscriptions ----------------------------------------------------------------------------------

  // State of the gateway that this page may see: views of subscriptions, and errors, by id.
  const views = new Map();
  const errors = new Map();
  // Objects of this page, by subscription id.
  const handles = new Map();
  // Subscriptions that this page is ending.
  const leaving = new Set();

  class Subscription {
    constructor(key, known) {
      own(key);
      inside.set(this, known);
      known.object = this;
    }

    get feed() { return now(of(this)).feed; }
    get state() { return now(of(this)).status; }
    get lastUpdated() { return now(of(this)).lastUpdated ?? 0; }
    get follows() { return new StringList(KEY, now(of(this)).follows); }
    get ready() { return of(this).ready; }
    get errors() {
      const { id, isClosed } = of(this);
      const ours = [...errors.values()].filter((error) => error.subscriptions.includes(id));
      return new ErrorList(KEY, isClosed ? [] : ours.map((error) => error.object(this)));
    }

    get interval() { return now(of(this)).interval; }
    set interval(minutes) {
      const interval = unsignedShort(minutes);
      open(of(this));
      const shown = { interval: interval || DEFAULT_INTERVAL };
      act(of(this), shown, "PATCH", (at) => at, { interval });
    }

    get proxy() { return now(of(this)).proxy ?? ""; }
    set proxy(url) {
      const proxy = url === null || url === "" ? null : address(url);
      open(of(this));
      act(of(this), { proxy }, "PATCH", (at) => at, { proxy });
    }

    getRequestHeader(name) {
      const wanted = String(name).toLowerCase();
      const found = headers(of(this)).find((header) => header.name.toLowerCase() === wanted);
      return found?.value ?? null;
    }
    getRequestHeaders() {
      const line = ({ name, value }) => `${name}: ${value ?? "(not shown)"}`;
      return new StringList(KEY, headers(of(this)).map(line));
    }

    addFollow(relation) {
      const name = relationOf(relation);
      open(of(this));
      const follows = [...new Set([...now(of(this)).follows, name])].sort();
      act(of(this), { follows }, "PUT", (at) => `${at}/follows/${encodeURIComponent(name)}`);
    }
    removeFollow(relation) {
      const name = relationOf(relation);
      open(of(this));
      const follows = now(of(this)).follows.filter((other) => other !== name);
      act(of(this), { follows }, "DELETE", (at) => `${at}/follows/${encodeURIComponent(name)}`);
    }

    pause() {
      if (this.state === CLOSED) return;
      act(of(this), { status: PAUSED }, "POST", (at) => `${at}/pause`);
    }
    resume() {
      const { state } = this;
      if (state === CLOSED) return;
      const shown = state === PAUSED || state === WAITING ? { status: READY } : {};
      act(of(this), shown, "POST", (at) => `${at}/resume`);
    }
    unsubscribe() {
      const known = of(this);
      if (this.state === CLOSED) return;
      const feed = this.feed;
      const at = () => known.id && `/subscriptions/${known.id}`;
      close(known);
      leaving.add(known);
      ask("DELETE", at).then(() => {
        const told = { status: CLOSED, timeStamp: Date.now(), location: feed };
        tell(known.stateListeners, new StateChangeEvent(KEY, told, this));
      }, complain);
      // The subscription continues if another page or application uses it.
      ask("GET", at).then(take, (failure) => {
        if (failure.status === 404) gone(known.id);
      }).finally(() => leaving.delete(known));
    }

    addStateChangeEventListener(listener) { of(this).stateListeners.add(listening(listener)); }
    removeStateChangeEventListener(listener) { of(this).stateListeners.delete(listener); }
    addSyncEventListener(listener) { of(this).syncListeners.add(listening(listener)); }
    removeSyncEventListener(listener) { of(this).syncListeners.delete(listener); }
  }
  for (const [name, value] of Object.entries({ PAUSED, FETCHING, WAITING, READY, CLOSED })) {
    Object.defineProperty(Subscription, name, { value, enumerable: true });
    Object.defineProperty(Subscription.prototype, name, { value, enumerable: true });
  }

  // Creates the state of a subscription: its view, and changes that the gateway has not answered yet. While the
  // subscription is being built, also the ids that existed before, and the events that arrive meanwhile.
  function begun(view, ready) {
    const known = {
      id: null, view, patches: [], own: null, isClosed: false, ready: null, object: null, before: null, missed: [],
      stateListeners: new Set(), syncListeners: new Set(),
    };
    new Subscription(KEY, known);
    known.ready = ready ?? Promise.resolve(known.object);
    return known;
  }

  function now(known) {
    const view = Object.assign({}, views.get(known.id) ?? known.view, ...known.patches);
    if (known.isClosed) view.status = CLOSED;
    return view;
  }

  function headers(known) {
    return known.own ?? now(known).headers;
  }

  function open(known) {
    if (now(known).status === CLOSED) {
      throw new DOMException("the subscription is closed", "InvalidStateError");
    }
  }

  // Applies a change to the mirror and sends it to the gateway.
  function act(known, shown, method, path, body) {
    known.patches.push(shown);
    const asked = ask(method, () => known.id && path(`/subscriptions/${known.id}`), body);
    asked.then(take, complain).finally(() => {
      known.patches.splice(known.patches.indexOf(shown), 1);
    });
  }

  function bind(known, id) {
    known.id = id;
    if (!handles.has(id)) handles.set(id, new Set());
    handles.get(id).add(known);
  }

  function close(known) {
    known.view = { ...now(known), status: CLOSED };
    known.isClosed = true;
    handles.get(known.id)?.delete(known);
  }

  function subscriptions() {
    const left = [...leaving].map((known) => known.id);
    // An unknown view may belong to a subscription that is being built, whose response has not arrived yet.
    const isBuilt = ({ id, feed }) => !handles.get(id)?.size
      && [...building].some(({ view, before }) => view.feed === feed && !before.has(id));
    const all = [...views.values()].filter((view) =>
      view.status !== CLOSED && !left.includes(view.id) && !isBuilt(view));
    const object = (view) => {
      const [known] = handles.get(view.id) ?? [];
      if (known) return known.object;
      const found = begun(view);
      bind(found, view.id);
      return found.object;
    };
    // The list includes subscriptions that are being built, and paused and ready ones.
    const built = [...building].filter((known) => !known.isClosed).map((known) => known.object);
    return new SubscriptionList(KEY, [...all.map(object), ...built]);
  }

  // ---- Builder ----------------------------------------------------------------------------------------

  const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
  // Headers that can have only one value.
  const SINGLE = new Set(["authorization", "content-type", "from", "host", "if-modified-since", "if-range",
    "if-unmodified-since", "max-forwards", "proxy-authorization", "range", "referer", "user-agent"]);
  // Headers of a connection.
  const FRAMING = new Set(["connection", "content-length", "trailer", "transfer-encoding", "upgrade",
    "keep-alive"]);
  const REGISTRY = "http://www.iana.org/assignments/relation/";

  class SubscriptionBuilder {
    constructor(key) {
      own(key);
      inside.set(this, { feed: null, proxy: null, interval: 0, follows: new Set(), headers: new Map() });
    }
    setFeed(url) {
      of(this).feed = address(url);
      return this;
    }
    setRequestHeader(name, value) {
      const header = field(name, value);
      of(this).headers.set(header.name.toLowerCase(), header);
      return this;
    }
    addRequestHeader(name, value) {
      const header = field(name, value);
      const lower = header.name.toLowerCase();
      const { headers } = of(this);
      const before = headers.get(lower);
      if (before && SINGLE.has(lower)) {
        throw new TypeError(`${header.name} has one value; set it instead of adding another`);
      }
      const separator = lower === "cookie" ? "; " : ", ";
      if (before) header.value = before.value + separator + header.value;
      headers.set(lower, header);
      return this;
    }
    setInterval(minutes) {
      of(this).interval = unsignedShort(minutes);
      return this;
    }
    addFollow(relation) {
      of(this).follows.add(relationOf(relation));
      return this;
    }
    setProxy(url) {
      of(this).proxy = address(url);
      return this;
    }
    build() {
      const { feed, proxy, interval, follows, headers } = of(this);
      if (!feed) throw new DOMException("no feed is set: call setFeed first", "InvalidStateError");
      const wanted = {
        feed,
        headers: [...headers.values()].map((header) => ({ ...header })),
        interval,
        follows: [...follows].sort(),
        proxy,
      };
      const known = begun({
        feed: wanted.feed, status: READY, lastUpdated: null, headers: wanted.headers,
        interval: wanted.interval || DEFAULT_INTERVAL, follows: wanted.follows, proxy: wanted.proxy,
      });
      known.own = wanted.headers;
      known.before = new Set(views.keys());
      building.add(known);
      known.ready = ask("POST", () => "/subscriptions", wanted).then((view) => {
        const missed = endBuilding(known);
        take(view);
        if (known.isClosed) {
          known.id = view.id;
          return known.object;
        }
        bind(known, view.id);
        // Events that arrived before the id of this subscription was known.
        for (const told of missed) if (told.ids.includes(view.id)) told.to(known);
        return known.object;
      }, (failure) => {
        endBuilding(known);
        close(known);
        throw failure;
      });
      return known.object;
    }
  }
  const building = new Set();

  // Ends the building phase. Returns the events that arrived during it, and clears the data of the phase.
  function endBuilding(known) {
    const { missed } = known;
    building.delete(known);
    known.before = null;
    known.missed = [];
    return missed;
  }

  function address(text) {
    const base = globalThis.document?.baseURI;
    let url;
    try {
      url = new URL(String(text), base);
    } catch {
      throw new DOMException(`${JSON.stringify(String(text))} is not a URL`, "SyntaxError");
    }
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new DOMException(`${url.href} is not an http or https URL`, "SyntaxError");
    }
    if (url.username || url.password) {
      throw new DOMException(
        "a URL must not contain a user name or password: register an Authorization header instead", "SyntaxError");
    }
    url.hash = "";
    return url.href;
  }

  function field(name, value) {
    const [written, text] = [String(name), String(value).replace(/^[\t ]+|[\t ]+$/g, "")];
    if (!TOKEN.test(written)) throw new TypeError(`${JSON.stringify(written)} is not a valid header name`);
    // eslint-disable-next-line no-control-regex
    if (/[^\t\x20-\x7e\x80-\xff]/.test(text)) {
      throw new TypeError(`the value of ${written} is not a valid header value`);
    }
    if (FRAMING.has(written.toLowerCase())) {
      throw new TypeError(`${written} belongs to a connection and cannot be registered`);
    }
    return { name: written, value: text };
  }

  function unsignedShort(value) {
    const number = Math.trunc(Number(value));
    if (!(number >= 0 && number <= 65535)) throw new TypeError(`${value} is not a number of minutes from 0 to 65535`);
    return number;
  }

  function relationOf(relation) {
    const lower = String(relation).toLowerCase();
    const name = lower.startsWith(REGISTRY) ? lower.slice(REGISTRY.length) : lower;
    // eslint-disable-next-line no-control-regex
    if (!name || name.length > 1024 || /[\s\x00-\x1f\x7f<>"]/.test(name)) {
      throw new TypeError(`${JSON.stringify(String(relation))} is not a link relation`);
    }
    return name;
  }

  function listening(listener) {
    if (typeof listener === "function" || (typeof listener === "object" && listener)) return listener;
    throw new TypeError("a listener must be a function or an object with handleEvent");
  }

  // Passes the same event to each listener. An exception in one listener does not affect the others.
  function tell(listeners, event) {
    for (const listener of [...listeners]) {
      try {
        if (typeof listener === "function") listener.call(undefined, event);
        else listener.handleEvent(event);
      } catch (error) {
        if (globalThis.reportError) reportError(error);
        else console.error(error);
      }
    }
  }

  function own(key) {
    if (key !== KEY) throw new TypeError("Illegal constructor");
  }

  // ---- Requests and messages ---------------------------------------------------------------------------

  class GatewayError extends globalThis.Error {
    constructor(status, message, permission = null) {
      super(message);
      this.name = "GatewayError";
      this.status = status;
      this.permission = permission;
    }
  }

  function complain(failure) {
    console.error(`bitsy: ${failure.message}`);
  }

  let filled;
  let refused;
  const ready = new Promise((resolve, reject) => [filled, refused] = [resolve, reject]);
  ready.catch(() => {});
  let last = ready;

  // The gateway or the worker: `send` returns the status and the body of an answer.
  let peer;
  let chosen;
  const choice = new Promise((resolve) => { chosen = resolve; });

  // Sends a request after all earlier requests were answered. Fails if its path is gone by then.
  function ask(method, path, body) {
    const answer = last.then(async () => {
      const at = path();
      if (!at) throw new GatewayError(0, "the subscription was not made");
      await choice;
      const { status, body: said } = await peer.send(method, at, body);
      if (status < 400) return said;
      throw new GatewayError(status, said?.detail ?? `the answer has the status ${status}`);
    });
    last = answer.catch(() => {});
    return answer;
  }

  // Identifier of the current run of the gateway, which scopes the stamps of its messages, and of the run
  // before it. `missing` has the stamps at which subscriptions were found to be gone.
  let [count, ended] = [];
  const missing = new Map();

  // Returns whether a message comes from the current run of the gateway. After a restart, all stored views
  // count as older.
  function isOfNow(told) {
    if (told.count === count) return true;
    if (told.count === ended) return false;
    [ended, count] = [count, told.count];
    missing.clear();
    for (const view of views.values()) view.stamp = 0;
    return true;
  }

  // Stores a view, unless a newer one is known: responses can overtake events.
  function take(view) {
    if (!view?.id || !isOfNow(view)) return;
    if (views.get(view.id)?.stamp > view.stamp || missing.get(view.id) > view.stamp) return;
    views.set(view.id, view);
    missing.delete(view.id);
    for (const known of handles.get(view.id) ?? []) known.view = view;
  }

  function gone(id, stamp = views.get(id)?.stamp) {
    if (views.get(id)?.stamp > stamp) return;
    missing.set(id, stamp);
    for (const known of [...(handles.get(id) ?? [])]) close(known);
    views.delete(id);
    handles.delete(id);
    for (const [key, error] of errors) {
      if (error.subscriptions.every((other) => !views.has(other))) errors.delete(key);
    }
  }

  function takeError(told) {
    if (errors.has(told.id)) return;
    const objects = new Map();
    const object = (subscription) => {
      if (!objects.has(subscription)) objects.set(subscription, new SyncError(KEY, told, subscription));
      return objects.get(subscription);
    };
    errors.set(told.id, { subscriptions: told.subscriptions, object });
  }

  const heard = {
    all(told) {
      if (!isOfNow(told)) return;
      const listed = new Set(told.subscriptions.map((view) => view.id));
      for (const id of [...views.keys()]) if (!listed.has(id)) gone(id, told.stamp);
      told.subscriptions.forEach(take);
      const standing = new Set(told.errors);
      for (const id of [...errors.keys()]) if (!standing.has(id)) errors.delete(id);
      proxies = new StringList(KEY, told.proxies);
    },
    filled: () => filled(),
    subscription: take,
    "subscription-gone"(told) {
      if (isOfNow(told)) gone(told.id, told.stamp);
    },
    error: takeError,
    "error-gone": ({ id }) => errors.delete(id),
    state(told) {
      deliver([told.subscription], (known) =>
        tell(known.stateListeners, new StateChangeEvent(KEY, told, known.object)));
    },
    sync(told) {
      deliver(told.subscriptions, (known) =>
        tell(known.syncListeners, new SyncEvent(KEY, told, known.object)));
    },
  };

  function deliver(ids, to) {
    for (const id of ids) for (const known of [...(handles.get(id) ?? [])]) to(known);
    for (const { missed } of building) if (missed.length < 1000) missed.push({ ids, to });
  }

  // ---- The gateway ------------------------------------------------------------------------------------

  // Number of failed attempts after which a page learns that there is no gateway. More attempts follow.
  const MAX_FAILURES = 3;
  // Number of failed attempts at a gateway that runs, after which it counts as one that refuses this page.
  const MAX_REFUSALS = 2;

  // Requests to this machine or its local network, which a page of the public web may make only with a permission of
  // the person. The person grants it for the address space that the address of the gateway shows.
  function addressSpace() {
    const host = new URL(control).hostname;
    if (/^(127\.|\[::1\]$|localhost$|.*\.localhost$)/.test(host)) return "loopback";
    return /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|\[f[cd]|\[fe[89ab]|.*\.local$)/.test(host) ? "local" : null;
  }

  // Adds the address space to a request, if the browser knows it.
  function spaced(request) {
    const targetAddressSpace = addressSpace();
    try {
      if (targetAddressSpace && new Request(control, { targetAddressSpace }).targetAddressSpace === targetAddressSpace) {
        return { ...request, targetAddressSpace };
      }
    } catch {
      // Earlier versions have other names.
    }
    return request;
  }

  // Returns the permission that the browser denies this page. Browsers before Chromium 145 have one for both spaces.
  async function deniedPermission() {
    const space = addressSpace();
    for (const name of space ? [`${space}-network`, "local-network-access"] : []) {
      try {
        const { state } = await globalThis.navigator.permissions.query({ name });
        return state === "denied" ? name : null;
      } catch {
        // The browser does not have this permission.
      }
    }
    return null;
  }

  // Returns an error for a gateway from which there is no response.
  async function unreachable() {
    const permission = await deniedPermission();
    let why = `the gateway at ${control} does not respond`;
    if (permission) {
      why = `the browser does not let this page reach the gateway at ${control}: grant the page the permission ` +
        `"${permission}" in the settings of the site` +
        (globalThis.isSecureContext === false ? ", which only pages with https:// can have" : "");
    }
    return new GatewayError(0, why, permission);
  }

  const gateway = {
    async send(method, path, body) {
      const request = spaced({ method, credentials: "omit", headers: {}, cache: "no-store" });
      if (body !== undefined) {
        request.headers["content-type"] = "application/json";
        request.body = JSON.stringify(body);
      }
      let answer;
      try {
        answer = await fetch(`${control}${path}?page=${page}`, request);
      } catch {
        throw new GatewayError(0, `the gateway at ${control} does not respond, or does not allow this page`);
      }
      return { status: answer.status, body: await answer.json().catch(() => null) };
    },
  };

  // Follows the events of the gateway, and reconnects after failures.
  async function follow() {
    let refusals = 0;
    for (let failures = 0; ; failures += 1) {
      try {
        const answer = await fetch(`${control}/events?page=${page}`, spaced({
          credentials: "omit", cache: "no-store", headers: { accept: "text/event-stream" },
        }));
        if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) {
          const said = await answer.json().catch(() => null);
          return refused(new GatewayError(answer.status, said?.detail ?? `the gateway answered ${answer.status}`));
        }
        if (answer.ok) {
          await listen(answer.body.getReader(), () => { [failures, refusals] = [0, 0]; });
        }
      } catch {
        // A refused page cannot read the refusal. A file that every page may read shows whether the gateway runs. It
        // may have started just now, so that one such failure proves nothing.
        refusals = await isThere() ? refusals + 1 : 0;
        if (refusals > MAX_REFUSALS) {
          return refused(new GatewayError(403, `the gateway at ${control} does not allow this page: start it with --allow-origin`));
        }
        if (failures === MAX_FAILURES) {
          const why = await unreachable();
          console.warn(`bitsy: ${why.message}`);
          refused(why);
        }
      }
      const pause = Math.min(200 * 2 ** Math.min(failures, 8), 10_000);
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random() / 2)));
    }
  }

  async function isThere() {
    try {
      return (await fetch(`${control}/bitsy.webidl`, spaced({ cache: "no-store" }))).ok;
    } catch {
      return false;
    }
  }

  async function listen(reader, alive) {
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        alive();
        const line = (name) => block.split("\n").find((one) => one.startsWith(`${name}: `))
          ?.slice(name.length + 2);
        const data = line("data");
        if (data !== undefined) heard[line("event")]?.(JSON.parse(data));
      }
    }
  }

  // ---- The Service Worker -----------------------------------------------------------------------------

  // Interval between two messages that keep the worker alive while this page is open, in milliseconds.
  const PING_INTERVAL = 20_000;
  const MAX_RECONNECT_PAUSE = 10_000;
  // Time in which a worker begins to intercept, in milliseconds.
  const CONTROL_TIMEOUT = 10_000;

  const worker = {
    async send(method, path, body) {
      return message({ bitsy: "ask", method, path, body });
    },
  };

  // Sends a message to the worker, and returns its answer.
  const message = (data) => MESSAGE(data).catch((failure) => {
    throw new GatewayError(0, failure.message);
  });

  // Registers the worker, and follows its messages.
  async function beginWorker(url, { shell = [], partition, scope }) {
    const container = globalThis.navigator?.serviceWorker;
    if (!container) throw new GatewayError(0, "this browser, or this page, has no Service Workers: https is needed");
    await container.register(url, scope === undefined ? {} : { scope });
    await controlled(container);
    let incarnation;
    const connect = async () => {
      const before = { feeds: [...views.values()].map(({ feed }) => feed), edits: waiting };
      const store = (await message({ bitsy: "connect", partition }))?.incarnation;
      if (incarnation !== undefined && incarnation !== store) evicted(before);
      incarnation = store;
    };
    // A worker whose code the browser has deleted needs the network to start.
    let isConnecting = false;
    const connectAgain = async () => {
      if (isConnecting) return;
      isConnecting = true;
      for (let failures = 0; isConnecting; failures += 1) {
        try {
          await connect();
          isConnecting = false;
        } catch (failure) {
          if (failures === 0) complain(failure);
          await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** failures, MAX_RECONNECT_PAUSE)));
        }
      }
    };
    container.addEventListener("message", ({ data }) => {
      if (data?.bitsy === "restarted") connectAgain();
      else heard[data?.bitsy]?.(data.value);
    });
    container.startMessages?.();
    await connect();
    // Otherwise the browser may delete waiting edits when its disk is full.
    navigator.storage?.persist?.().catch(() => {});
    const files = shell.map((file) => new URL(file, document.baseURI).href);
    message({ bitsy: "shell", urls: files }).catch(complain);
    addEventListener("pageshow", ({ persisted }) => persisted && connectAgain());
    addEventListener("online", () => message({ bitsy: "online" }).catch(complain));
    setInterval(() => message({ bitsy: "ping" }).catch(() => {}), PING_INTERVAL);
  }

  // Problems of the stored data that nobody has cleared, by id, and the edits that wait.
  const problems = new Map();
  const problemListeners = new Set();
  let waiting = [];

  class Problem {
    constructor(key, told) {
      own(key);
      const { id, kind, time, location, detail, edits = [] } = told;
      Object.assign(this, { kind, timeStamp: time, location, detail, edits: Object.freeze(edits) });
      inside.set(this, { id });
      Object.freeze(this);
    }
    clear() {
      const { id } = of(this);
      if (!problems.delete(id) || typeof id !== "string") return;
      ask("DELETE", () => `/problems/${id}`).catch((failure) => failure.status === 404 || complain(failure));
    }
  }

  function takeProblem(told) {
    // A problem without an id is not stored, and happens again.
    const id = told.id ?? Symbol(told.kind);
    if (problems.has(id)) return;
    const problem = new Problem(KEY, { ...told, id });
    problems.set(id, problem);
    tell(problemListeners, problem);
  }

  // The browser, or a person, has deleted everything that was stored.
  function evicted({ feeds, edits }) {
    const lost = edits.map(({ method, location }) => `${method} ${location}`);
    const detail = "the browser has deleted what this site had stored: "
      + `${feeds.length} subscriptions (${feeds.join(", ") || "none"}), `
      + `and ${lost.length} edits that were not sent (${lost.join(", ") || "none"})`;
    takeProblem({ kind: "evicted", time: Date.now(), location: null, detail, edits });
  }

  Object.assign(heard, {
    problem: takeProblem,
    "problem-gone": ({ id }) => problems.delete(id),
    outbox(edits) { waiting = edits; },
  });

  // What only a worker has.
  const additions = {
    get problems() { return Object.freeze([...problems.values()]); },
    addProblemListener(listener) { problemListeners.add(listening(listener)); },
    removeProblemListener(listener) { problemListeners.delete(listener); },
    Problem, register,
    // The policy for the use of the network, which is stored: "auto", "offline", or "online", which tries everything now.
    networkPolicy: () => ask("GET", () => "/network").then(({ policy }) => policy),
    setNetworkPolicy: (policy) => ask("PUT", () => "/network", { policy: String(policy) }).then((told) => told.policy),
  };

  // Waits until the worker intercepts this page.
  async function controlled(container) {
    const late = new Promise((_, reject) => {
      const why = "the worker does not intercept this page, which may be outside of its scope";
      setTimeout(() => reject(new GatewayError(0, why)), CONTROL_TIMEOUT);
    });
    const taken = new Promise((resolve) => container.addEventListener("controllerchange", resolve, { once: true }));
    await Promise.race([container.ready, late]);
    if (container.controller) return;
    // After a reload that bypasses it, a worker takes over only when it is asked to.
    container.ready.then(({ active }) => active.postMessage({ bitsy: "claim" }));
    await Promise.race([taken, late]);
  }

  // Says what this page uses: the worker at this address, or the gateway of the options if it responds.
  async function register(url, options = {}) {
    if (peer) return ready.then(() => bitsy);
    if (options.gateway) {
      control = String(options.gateway).replace(/\/$/, "");
      if (await isThere()) {
        peer = gateway;
        chosen();
        follow();
        await ready;
        return bitsy;
      }
      console.warn(`bitsy: ${(await unreachable()).message}`);
    }
    peer = worker;
    try {
      await beginWorker(url, options);
    } catch (failure) {
      refused(failure);
    }
    chosen();
    await ready;
    return bitsy;
  }

  let proxies = new StringList(KEY, PROXIES);

  const bitsy = {
    get subscriptions() { return subscriptions(); },
    get supportedProxies() { return proxies; },
    get ready() { return ready; },
    supportsProxy: (style) => proxies.contains(style),
    subscriptionBuilder: () => new SubscriptionBuilder(KEY),
    Subscription, SubscriptionBuilder, SubscriptionList, Event, StateChangeEvent, SyncEvent,
    Error: SyncError, ErrorList, GatewayError,
  };
  if (REGISTERS) Object.defineProperties(bitsy, Object.getOwnPropertyDescriptors(additions));
  Object.defineProperty(globalThis, "bitsy", { value: Object.freeze(bitsy), enumerable: true });
  if (REGISTERS) return;
  peer = gateway;
  chosen();
  follow();
})();
