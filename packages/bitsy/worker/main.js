// Begins the worker. Listeners are added in the first turn; the decision core is loaded when it is needed.

const CODE = `bitsy-code-${self.BITSY_VERSION}`;
const WASM = new URL("bitsy_bg.wasm", self.location.href).href;

let opening = null;

function opened() {
  opening ??= Core.open().then((core) => {
    // Edits that wait leave whatever woke the worker.
    setTimeout(() => begin().catch(complain));
    const { idb } = core.database;
    // The store was deleted, or a newer worker changes its layout. Pages begin anew, and hear what became of it.
    for (const name of ["close", "versionchange"]) {
      idb.addEventListener(name, () => {
        opening = null;
        post({ bitsy: "restarted" }).catch(complain);
      });
    }
    return core;
  }, (error) => {
    opening = null;
    if (error instanceof Outdated) {
      const value = { kind: "version", time: Date.now(), location: null, detail: error.message };
      post({ bitsy: "problem", value }).catch(complain);
    }
    throw error;
  });
  return opening;
}

// The class of the decision core. Its code is loaded once, because the browser may delete the copy.
let loading;
function decisions() {
  loading ??= loaded().catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function loaded() {
  const cache = await caches.open(CODE);
  let code = await cache.match(WASM);
  if (!code) {
    await cache.add(WASM);
    code = await cache.match(WASM);
  }
  await wasm_bindgen({ module_or_path: code });
  return wasm_bindgen.BitsyCore;
}

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    await (await caches.open(CODE)).add(new Request(WASM, { cache: "reload" }));
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("bitsy-code-") && name !== CODE) await caches.delete(name);
    }
    await self.clients.claim();
    // A page that has just been claimed may have missed it.
    post({ bitsy: "restarted" }).catch(complain);
    // Not awaited: requests of pages wait for the activation.
    begin().catch(complain);
  })().catch(complain));
});

self.addEventListener("fetch", (event) => {
  if (!/^https?:/.test(event.request.url)) return;
  // A request that only the HTTP cache may answer is left to the browser.
  if (event.request.cache === "only-if-cached" && event.request.mode !== "same-origin") return;
  event.respondWith(isMessage(event) ? messageOf(event) : respond(event));
});

self.addEventListener("message", onMessage);
self.addEventListener("sync", (event) => event.waitUntil((async () => {
  await drain();
  const { body } = await (await opened()).change({ do: "control", method: "GET", path: "/outbox", page: "", open: [] });
  // The browser tries again later.
  if (body.length) throw new Error("edits wait");
})()));
self.addEventListener("online", () => drain().catch(complain));

// Pages begin anew after a restart of the worker.
async function post(message) {
  for (const client of await self.clients.matchAll({ includeUncontrolled: true })) client.postMessage(message);
}
post({ bitsy: "restarted" }).catch(complain);
