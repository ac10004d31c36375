// Follows changes, so that a page shows current numbers. Every page works without this script.
"use strict";
(() => {
  const main = document.getElementById("main");
  const addresses = (main?.dataset.follow ?? "").split(" ").filter(Boolean);
  if (addresses.length === 0) return;
  const item = main.dataset.item;
  let sources = [];
  let due = 0;
  let news = null;

  // Shows one line, which screen readers announce. It never moves the text that somebody reads or types.
  function tell(text) {
    if (!news) {
      news = document.createElement("p");
      news.className = "news";
      news.setAttribute("role", "status");
      document.body.append(news);
    }
    const again = document.createElement("a");
    again.href = location.pathname + location.search;
    again.textContent = "Reload";
    news.replaceChildren(text + " ", again);
  }

  async function refresh() {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.redirected) return tell("You are signed out.");
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = page.querySelector(`[data-live="${CSS.escape(old.dataset.live)}"]`);
      if (!now || now.isEqualNode(old)) continue;
      if (old.contains(document.activeElement)) tell("This has changed.");
      else old.replaceWith(document.importNode(now, true));
    }
    const rows = (root) => root.querySelectorAll("tr[data-live]").length;
    if (rows(page) !== rows(document)) tell("The list of collections has changed.");
  }

  // Several changes in quick succession cause one refresh.
  function later() {
    clearTimeout(due);
    due = setTimeout(() => refresh().catch(() => {}), 300);
  }

  function heard(event) {
    if (!item) return later();
    if (JSON.parse(event.data).id === item) tell("This item has changed.");
  }

  function follow() {
    sources = addresses.map((address) => {
      const source = new EventSource(address);
      source.addEventListener("message", heard);
      source.addEventListener("reset", later);
      return source;
    });
  }

  function leave() {
    for (const source of sources) source.close();
    sources = [];
  }

  // A hidden page holds no connection.
  document.addEventListener("visibilitychange", () => {
    leave();
    if (document.visibilityState === "visible") {
      follow();
      if (!item) later();
    }
  });
  addEventListener("pagehide", leave);
  if (document.visibilityState === "visible") follow();
})();
