// Shows the stored page while the hub cannot be reached, and stored pictures. Sends marks when the network returns.
"use strict";
importScripts(self.FEEDSYNC.store);
(() => {
  const { root } = self.FEEDSYNC;
  const home = `${root}/pages/reading`;
  const store = self.offlineStore(home);
  // Time after which the stored page is shown, in milliseconds.
  const TIMEOUT = 8_000;

  async function page(request) {
    const answer = fetch(request);
    answer.catch(() => {});
    const late = new Promise((resolve) => { setTimeout(resolve, TIMEOUT); });
    // A proxy in front of a hub that does not run answers 502 to 504.
    const received = await Promise.race([answer, late]).catch(() => undefined);
    if (received && (received.status < 502 || received.status > 504)) return received;
    return await caches.match(store.PAGE, { cacheName: store.SHELL }) ?? answer;
  }

  const stored = async (request, cacheName) => await caches.match(request, { cacheName }) ?? fetch(request);

  self.addEventListener("install", (event) => event.waitUntil(store.keepPage().then(() => self.skipWaiting())));
  self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener("sync", (event) => {
    if (event.tag === "feedsync-marks") event.waitUntil(store.send());
  });
  self.addEventListener("fetch", (event) => {
    const { request } = event;
    const { origin, pathname } = new URL(request.url);
    if (request.method !== "GET" || origin !== self.location.origin) return;
    // Exports and imports may take longer.
    if (/\/(?:export|transfer)(?:\/|$)/.test(pathname)) return;
    if (request.mode === "navigate") event.respondWith(page(request));
    else if (pathname.startsWith(`${root}/pages/assets/`)) event.respondWith(stored(request, store.SHELL));
    else if (store.isPicture(pathname)) event.respondWith(stored(request, store.PICTURES));
  });
})();
