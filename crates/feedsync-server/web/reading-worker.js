// Shows the stored page while the hub cannot be reached, and stored pictures. Sends marks when the network returns.
"use strict";
importScripts(self.FEEDSYNC.store);
(() => {
  const { root, assets } = self.FEEDSYNC;
  const home = `${root}/pages/reading`;
  const store = self.offlineStore(home);
  // Time after which the stored page is shown, in milliseconds.
  const PATIENCE = 8_000;

  async function install() {
    const cache = await caches.open(store.SHELL);
    await cache.addAll(assets);
    await store.keepPage();
    await self.skipWaiting();
  }

  async function activate() {
    const cache = await caches.open(store.SHELL);
    const kept = new Set([...assets, store.PAGE]);
    const requests = await cache.keys();
    const old = requests.filter(({ url }) => !kept.has(new URL(url).pathname));
    await Promise.all(old.map((request) => cache.delete(request)));
    await self.clients.claim();
  }

  async function page(request) {
    const answer = fetch(request);
    answer.catch(() => {});
    const late = new Promise((resolve) => { setTimeout(resolve, PATIENCE); });
    // A proxy in front of a hub that does not run answers 502 to 504.
    const received = await Promise.race([answer, late]).catch(() => undefined);
    if (received && (received.status < 502 || received.status > 504)) return received;
    return await caches.match(store.PAGE, { cacheName: store.SHELL }) ?? answer;
  }

  const stored = async (request, cacheName) => await caches.match(request, { cacheName }) ?? fetch(request);

  self.addEventListener("install", (event) => event.waitUntil(install()));
  self.addEventListener("activate", (event) => event.waitUntil(activate()));
  self.addEventListener("sync", (event) => {
    if (event.tag === "feedsync-marks") event.waitUntil(store.send());
  });
  self.addEventListener("fetch", (event) => {
    const { request } = event;
    const { origin, pathname } = new URL(request.url);
    if (request.method !== "GET" || origin !== self.location.origin) return;
    if (request.mode === "navigate") event.respondWith(page(request));
    else if (assets.includes(pathname)) event.respondWith(stored(request, store.SHELL));
    else if (store.isPicture(pathname)) event.respondWith(stored(request, store.PICTURES));
  });
})();
