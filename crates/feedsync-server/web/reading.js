// Keyboard shortcuts of the reading pages, and marks without leaving the page. Every page works without this script.
"use strict";
(() => {
  const articles = [...document.querySelectorAll("[data-article]")];
  const said = document.getElementById("said");
  const dialog = document.getElementById("keys");
  const marks = {
    read: ["unread", "Marked as read."],
    unread: ["read", "Marked as unread."],
    star: ["unstar", "Starred."],
    unstar: ["star", "Star removed."],
  };
  let current = null;

  // Shows a message, which screen readers announce.
  function tell(text) {
    if (!said) return;
    said.hidden = false;
    said.textContent = "";
    requestAnimationFrame(() => {
      said.textContent = text;
    });
  }

  // Submits a form without leaving the page. Returns whether the hub made the change.
  async function send(form, name, value) {
    const fields = new URLSearchParams();
    for (const field of form.querySelectorAll("input[type=hidden]")) fields.set(field.name, field.value);
    fields.set(name, value);
    // A field named `action` hides the property of the form.
    const address = form.getAttribute("action");
    const answer = await fetch(address, { method: "POST", body: fields, redirect: "manual", keepalive: true });
    return answer.type === "opaqueredirect";
  }

  async function mark(article, kinds) {
    const find = (kind) => article.querySelector(`[data-mark="${kind}"]`);
    const button = kinds.map(find).find((one) => one && !one.hidden);
    if (!button) return;
    const kind = button.dataset.mark;
    const [opposite, words] = marks[kind];
    let done = false;
    try {
      done = await send(button.form, button.name, button.value);
    } catch {
      // The hub cannot be reached.
    }
    if (!done) return tell("That could not be saved. Reload the page and try again.");
    const hadFocus = document.activeElement === button;
    button.hidden = true;
    find(opposite).hidden = false;
    if (hadFocus) find(opposite).focus();
    if (kind === "read" || kind === "unread") article.classList.toggle("unread", kind === "unread");
    else article.classList.toggle("starred", kind === "star");
    tell(words);
  }

  document.addEventListener("submit", (event) => {
    const kind = event.submitter?.dataset.mark;
    const article = event.submitter?.closest("[data-article]");
    if (!kind || !article) return;
    event.preventDefault();
    mark(article, [kind]);
  });

  // On a touch screen, a listed article follows a finger that moves sideways. To the left marks it as read or unread, to the
  // right stars it or removes the star.
  const SWIPE_WIDTH = 80;
  function followSwipes(article) {
    let begin = null;
    const moved = (event) => {
      const [x, y] = [event.clientX - begin.clientX, event.clientY - begin.clientY];
      return Math.abs(x) > 2 * Math.abs(y) ? x : 0;
    };
    const rest = () => {
      begin = null;
      article.style.transform = "";
    };
    article.addEventListener("pointerdown", (event) => {
      rest();
      if (event.pointerType === "touch" && event.isPrimary) begin = event;
    });
    article.addEventListener("pointermove", (event) => {
      if (begin?.pointerId === event.pointerId) article.style.transform = `translateX(${moved(event) / 2}px)`;
    });
    article.addEventListener("pointercancel", rest);
    article.addEventListener("pointerup", (event) => {
      if (begin?.pointerId !== event.pointerId) return;
      const x = moved(event);
      rest();
      if (Math.abs(x) < SWIPE_WIDTH) return;
      // The end of a swipe on a link does not open it.
      const stop = (click) => click.preventDefault();
      article.addEventListener("click", stop, { capture: true });
      setTimeout(() => article.removeEventListener("click", stop, { capture: true }), 50);
      mark(article, x < 0 ? ["read", "unread"] : ["star", "unstar"]);
    });
  }
  document.querySelectorAll(".articles > [data-article]").forEach(followSwipes);

  // Marks an opened article as read once it is visible, not while a browser prerenders the page.
  function opened() {
    const article = document.querySelector("[data-opens]");
    if (!article || document.prerendering || document.visibilityState !== "visible") return;
    article.removeAttribute("data-opens");
    mark(article, ["read"]);
  }
  document.addEventListener("visibilitychange", opened);
  document.addEventListener("prerenderingchange", opened);
  opened();

  const { showTime, onKey, setKeys, hasKeys } = self.feedsyncReading;
  const showTimes = () => document.querySelectorAll("main time[datetime]").forEach(showTime);
  showTimes();
  setInterval(showTimes, 60_000);

  const link = (selector) => document.querySelector(`main ${selector}`);
  const isList = document.querySelector("[data-open]") !== null;

  function here() {
    return document.activeElement?.closest?.("[data-article]") ?? current ?? (isList ? null : articles[0]);
  }

  function go(step) {
    if (!isList) {
      const other = link(step > 0 ? "a[rel=next]" : "a[rel=prev]");
      return other ? other.click() : tell(step > 0 ? "This is the last article." : "This is the first article.");
    }
    const place = articles.indexOf(here());
    const next = articles[place < 0 ? (step > 0 ? 0 : -1) : place + step];
    if (!next) return step > 0 ? (link("a[rel=next]")?.focus(), tell("This is the end of the list.")) : undefined;
    current = next;
    const title = next.querySelector("[data-open]");
    title.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  const keys = {
    j: () => go(1),
    k: () => go(-1),
    o: () => here()?.querySelector("[data-open]")?.click(),
    m: () => here() && mark(here(), ["read", "unread"]),
    s: () => here() && mark(here(), ["star", "unstar"]),
    v: () => {
      const original = here()?.querySelector("[data-original]");
      if (original) open(original.href, "_blank", "noopener,noreferrer");
    },
    u: () => link("a[data-list]")?.click(),
    "/": () => document.getElementById("search")?.focus(),
    "?": () => dialog.showModal(),
  };
  const after = { h: "a.hub", r: 'nav a[href$="/pages/reading"]' };

  const choice = document.getElementById("keys-on");
  choice.checked = hasKeys();
  choice.addEventListener("change", () => setKeys(choice.checked));
  const button = document.getElementById("keys-button");
  button.hidden = false;
  button.addEventListener("click", () => dialog.showModal());

  let isAfterG = false;
  onKey((key) => {
    const wasAfterG = isAfterG;
    isAfterG = key === "g";
    if (wasAfterG && after[key]) {
      document.querySelector(after[key])?.click();
      return true;
    }
    if (!Object.hasOwn(keys, key)) return false;
    keys[key]();
    return true;
  });
  // Reload a page that the browser restores from its back/forward cache.
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
})();
