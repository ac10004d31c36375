// Articles and marks that wait, in this browser: for the page for reading without a network, and for its worker.
"use strict";
self.offlineStore = (home) => {
  const PAGE = `${home}/offline`;
  const SHELL = `feedsync-shell ${home}`;
  const PICTURES = `feedsync-pictures ${home}`;
  const LOCK = `feedsync-reading ${home}`;
  // Articles in one request for contents, marks in one request, and pictures that are stored.
  const [MAX_CONTENTS, MAX_MARKS, MAX_PICTURES] = [50, 200, 5_000];
  const [READ, STARRED] = [1, 2];

  // The hub knows nobody in this browser, or somebody else.
  class SignedOut extends Error {}
  class Unreachable extends Error {}
  // The articles that a page shows were removed from this browser.
  class Removed extends Error {}

  let opened;
  function database() {
    opened ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(LOCK, 1);
      request.onupgradeneeded = () => {
        const made = request.result;
        made.createObjectStore("values");
        made.createObjectStore("heads", { keyPath: "number" });
        made.createObjectStore("contents");
        made.createObjectStore("marks", { autoIncrement: true });
      };
      request.onsuccess = () => {
        request.result.onversionchange = close;
        request.result.onclose = () => { opened = undefined; };
        resolve(request.result);
      };
      request.onerror = () => {
        opened = undefined;
        reject(request.error);
      };
    });
    return opened;
  }

  async function close() {
    const closing = opened;
    opened = undefined;
    (await closing)?.close();
  }

  const got = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

  // Runs a function within one transaction. What it wrote is on the disk when the promise resolves.
  async function within(names, mode, work) {
    const transaction = (await database()).transaction(names, mode, { durability: "strict" });
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser could not store this"));
    });
    done.catch(() => {});
    let result;
    try {
      result = await work(Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)])));
    } catch (error) {
      try {
        transaction.abort();
      } catch {
        // It was aborted already.
      }
      throw error;
    }
    await done;
    return result;
  }

  const value = (name) => within(["values"], "readonly", ({ values }) => got(values.get(name)));
  const put = (name, one) => within(["values"], "readwrite", ({ values }) => got(values.put(one, name)));

  async function request(path, options = {}) {
    const answer = await fetch(`${PAGE}${path}`, { redirect: "manual", cache: "no-store", ...options })
      .catch((error) => { throw new Unreachable(error.message); });
    if (answer.type === "opaqueredirect" || answer.status === 401 || answer.status === 403) throw new SignedOut();
    if (!answer.ok) throw new Error(`the hub answered ${answer.status}`);
    return answer;
  }

  // The list of the hub, for the user whose articles are here.
  async function fetchList(settings) {
    const sent = Date.now();
    const list = await (await request(`/list?articles=${settings.articles}&days=${settings.days}`)).json();
    if (!Array.isArray(list.articles) || !Array.isArray(list.feeds)) throw new Error("the answer is not that of a hub");
    if (settings.user !== undefined && settings.user !== list.user) throw new SignedOut();
    await within(["values", "marks"], "readwrite", async ({ values, marks }) => {
      const device = await got(values.get("device")) ?? newDevice();
      // Marks are ordered by the clock of the hub, and later than everything that this device has seen. If none waits, a
      // clock of this device that was ahead has no effect from here on: the hub has moved those marks to its own time.
      device.ahead = sent - list.now;
      const isEmpty = await got(marks.count()) === 0;
      if (list.now > device.millis || isEmpty) [device.millis, device.count] = [list.now, 0];
      values.put(device, "device");
      values.put(list.form, "form");
    });
    return list;
  }

  function newDevice() {
    const random = crypto.getRandomValues(new Uint8Array(8));
    const name = [...random].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return { name, sequence: 0, millis: 0, count: 0, ahead: 0 };
  }

  // Marks articles, which have the address of their feed and the id of the settings under which they were kept: `act` is
  // read, unread, star or unstar. Each mark is a record of the reading log.
  function mark(marked, act) {
    return within(["values", "marks"], "readwrite", async ({ values, marks }) => {
      const settings = await got(values.get("settings"));
      if (marked.some(({ kept }) => kept !== settings?.id)) throw new Removed();
      const device = await got(values.get("device")) ?? newDevice();
      const now = Math.floor(Date.now() - device.ahead);
      if (now > device.millis) [device.millis, device.count] = [now, -1];
      for (const head of marked) {
        device.count += 1;
        device.sequence += 1;
        const record = {
          v: 1,
          id: `${device.name}:${device.sequence}`,
          ts: `${device.millis}.${device.count}`,
          obj: { kind: "article", id: head.name, feed: head.address },
          act,
        };
        if (act === "read" || act === "unread") record.at = head.at;
        marks.add({ number: head.number, act, line: JSON.stringify(record) });
      }
      values.put(device, "device");
    });
  }

  // Marks of an article after an act.
  function marked(flags, act) {
    const bit = act.endsWith("star") ? STARRED : READ;
    return act.startsWith("un") ? flags & ~bit : flags | bit;
  }

  // Sends all waiting marks in their order. What the hub has is removed here, and is part of the list from then on.
  async function sendMarks(settings) {
    let form = await value("form");
    let isFresh = false;
    for (;;) {
      const [keys, marks] = await within(["marks"], "readonly", ({ marks: store }) =>
        Promise.all([got(store.getAllKeys(null, MAX_MARKS)), got(store.getAll(null, MAX_MARKS))]));
      if (keys.length === 0) return;
      const headers = { "content-type": "application/x-ndjson", "x-feedsync-form": form };
      const body = marks.map(({ line }) => line).join("\n");
      try {
        const { status } = await request("/changes", { method: "POST", headers, body });
        // A proxy in front of the hub may answer with a page of its own.
        if (status !== 204) throw new Error(`the answer ${status} is not that of a hub`);
      } catch (error) {
        // Another session of the same user needs another token.
        if (isFresh || !(error instanceof SignedOut)) throw error;
        ({ form } = await fetchList(settings));
        isFresh = true;
        continue;
      }
      await within(["values", "marks"], "readwrite", async ({ values, marks: store }) => {
        const list = await got(values.get("list"));
        const rows = new Map(list?.articles.map((row) => [row[0], row]));
        for (const { number, act } of marks) {
          const row = rows.get(number);
          if (row) row[3] = marked(row[3], act);
        }
        if (list) values.put(list, "list");
        keys.forEach((key) => store.delete(key));
      });
    }
  }

  const exclusive = (work) => navigator.locks.request(LOCK, work);

  // Sends waiting marks.
  const send = () => exclusive(async () => {
    const settings = await value("settings");
    if (settings) await sendMarks(settings);
  });

  // Sends waiting marks, and brings the articles up to date. Calls `progress` with the numbers of stored and of all articles.
  const update = (progress = () => {}) => exclusive(async () => {
    const settings = await value("settings");
    if (!settings) return;
    // Marks that the hub refuses stay here, and articles are brought up to date nevertheless.
    let refusal;
    await sendMarks(settings).catch((error) => {
      if (error instanceof SignedOut) throw error;
      refusal = error;
    });
    const list = await fetchList(settings);
    const { feeds, articles } = list;
    await put("list", { feeds, articles, fetched: Date.now() });
    const listed = new Set(articles.map(([number]) => number));
    const stored = new Set(await within(["heads"], "readonly", ({ heads }) => got(heads.getAllKeys())));
    await forget([...stored].filter((number) => !listed.has(number)));
    let missing = articles.map(([number]) => number).filter((number) => !stored.has(number));
    while (missing.length > 0) {
      progress(articles.length - missing.length, articles.length);
      const asked = missing.slice(0, MAX_CONTENTS);
      const path = `/contents?numbers=${asked.join()}${settings.pictures ? "&pictures=1" : ""}`;
      const contents = await (await request(path)).json();
      await keep(contents);
      // A response may have room for fewer articles than were asked for. Articles that are gone are asked for once.
      const last = contents.at(-1)?.number;
      missing = missing.slice(last === undefined ? asked.length : asked.indexOf(last) + 1);
    }
    await keepPictures();
    await keepPage();
    progress(articles.length, articles.length);
    if (refusal) throw refusal;
  });

  function keep(articles) {
    return within(["heads", "contents"], "readwrite", async ({ heads, contents }) => {
      for (const { html, ...head } of articles) {
        heads.put({ ...head, pictures: picturesOf(html) });
        contents.put(html, head.number);
      }
    });
  }

  // Whether an address is that of a picture, which the hub fetches.
  const isPicture = (address) => address.startsWith(`${home}/articles/`) && address.includes("/pictures/");

  function picturesOf(html) {
    const parsed = new DOMParser().parseFromString(html, "text/html");
    const addresses = [...parsed.querySelectorAll("img[src]")].map((one) => one.getAttribute("src"));
    return addresses.filter(isPicture);
  }

  // Stores the pictures of the stored articles as far as there is room for them, and removes others. An article without its
  // pictures can be read.
  async function keepPictures() {
    const heads = await within(["heads"], "readonly", ({ heads: store }) => got(store.getAll()));
    const wanted = new Set(heads.flatMap(({ pictures }) => pictures).slice(0, MAX_PICTURES));
    const cache = await caches.open(PICTURES);
    for (const { url } of await cache.keys()) {
      const { pathname } = new URL(url);
      if (!wanted.delete(pathname)) await cache.delete(url);
    }
    for (const address of wanted) {
      const answer = await fetch(address).catch(() => undefined);
      if (answer?.ok) await cache.put(address, answer).catch(() => {});
    }
  }

  async function forget(numbers) {
    if (numbers.length === 0) return;
    await within(["heads", "contents"], "readwrite", async ({ heads, contents }) => {
      for (const number of numbers) {
        heads.delete(number);
        contents.delete(number);
      }
    });
  }

  // Stores the page itself with its style sheet and scripts, which the worker shows while the hub cannot be reached. They
  // are of one version.
  async function keepPage() {
    const cache = await caches.open(SHELL);
    const answer = await request("");
    const text = await answer.clone().text();
    const assets = [...text.matchAll(/(?:src|href)="([^"]*\/pages\/assets\/[^"]+)"/g)].map(([, address]) => address);
    if (!text.includes('id="offline"') || assets.length === 0) throw new Error("the answer is not that of a hub");
    for (const address of assets) if (!await cache.match(address)) await cache.add(address);
    await cache.put(PAGE, answer);
    const kept = new Set([...assets, PAGE]);
    const old = (await cache.keys()).filter(({ url }) => !kept.has(new URL(url).pathname));
    await Promise.all(old.map((one) => cache.delete(one)));
  }

  const register = () => navigator.serviceWorker.register(`${home}-worker.js`, { scope: home });

  // Begins to keep articles, or changes which.
  const begin = (choice) => exclusive(async () => {
    await register();
    const known = await value("settings");
    const settings = { ...known, ...choice };
    const { user } = await fetchList(settings);
    await within(["values", "marks"], "readwrite", async ({ values, marks }) => {
      values.put({ ...settings, user, id: known?.id ?? crypto.randomUUID() }, "settings");
      // Nobody knows whose marks these are.
      if (!known) marks.clear();
    });
    // Contents with pictures differ from those without.
    if (known && known.pictures !== settings.pictures) {
      await forget(await within(["heads"], "readonly", ({ heads }) => got(heads.getAllKeys())));
    }
    // Firefox asks the person, who may answer later or never.
    navigator.storage?.persist?.().catch(() => false);
  });

  // Everything that the page shows, except contents.
  const load = () => within(["values", "heads", "marks"], "readonly", async ({ values, heads, marks }) => {
    const [settings, list, all, waiting] = await Promise.all([
      got(values.get("settings")), got(values.get("list")), got(heads.getAll()), got(marks.getAll()),
    ]);
    return { settings, list, heads: all, waiting };
  });

  // Number of waiting marks.
  const countMarks = () => within(["marks"], "readonly", ({ marks }) => got(marks.count()));

  const content = (number) => within(["contents"], "readonly", ({ contents }) => got(contents.get(number)));

  // Removes everything from this browser, also marks that wait.
  const remove = () => exclusive(async () => {
    await close();
    await got(indexedDB.deleteDatabase(LOCK));
    await Promise.all([caches.delete(SHELL), caches.delete(PICTURES)]);
    const registration = await navigator.serviceWorker.getRegistration(PAGE);
    await registration?.unregister();
  });

  return {
    PAGE, SHELL, PICTURES, READ, STARRED, SignedOut, Unreachable, Removed,
    begin, content, countMarks, isPicture, keepPage, load, mark, marked, register, remove, send, update,
  };
};
