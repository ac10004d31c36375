// The page for reading without a network: feeds, lists and articles that this browser keeps.
"use strict";
(() => {
  const place = document.getElementById("offline");
  const home = place.dataset.home;
  const main = document.getElementById("main");
  const [heading, state, reader, settings, choice] =
    ["heading", "state", "reader", "settings", "choice"].map((id) => document.getElementById(id));
  const MOST_SHOWN = 100;
  const UPDATE_INTERVAL = 15 * 60_000;
  const store = "indexedDB" in self && navigator.serviceWorker && navigator.locks ? self.offlineStore(home) : undefined;

  // What is kept: feeds by number, articles in the order of the list, with their marks.
  let [feeds, articles, byNumber, kept, fetched, waiting] = [new Map(), [], new Map(), undefined, undefined, 0];
  // Numbers of the last list that was shown, and its address. Number of the article that is shown.
  let [listed, lastList, opened] = [[], "#feeds", undefined];
  // Numbers of what the last "Mark all as read" marked, until it is undone or another page is shown.
  let markedAll = [];

  function tell(text) {
    state.hidden = false;
    if (state.textContent !== text) state.textContent = text;
  }

  function make(name, properties = {}, ...children) {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  }

  const { timeText, showTime, onKey } = self.feedsyncReading;
  function time(millis) {
    const element = make("time", { dateTime: new Date(millis).toISOString() });
    showTime(element);
    return element;
  }

  const isRead = (article) => (article.flags & store.READ) !== 0;
  const isStarred = (article) => (article.flags & store.STARRED) !== 0;
  const titleOf = (article) => article.title || "(untitled)";

  // Reads everything from the storage. Waiting marks are newer than those of the list.
  async function load() {
    const loaded = await store.load();
    [kept, fetched] = [loaded.settings, loaded.list?.fetched];
    waiting = loaded.waiting.length;
    const heads = new Map(loaded.heads.map((head) => [head.number, head]));
    const acts = new Map();
    for (const { number, act } of loaded.waiting) acts.set(number, [...acts.get(number) ?? [], act]);
    feeds = new Map((loaded.list?.feeds ?? []).map((feed) => [feed.number, { ...feed, unread: 0, count: 0 }]));
    articles = [];
    for (const [number, , , flags] of loaded.list?.articles ?? []) {
      const head = heads.get(number);
      const feed = feeds.get(head?.feed);
      if (!feed) continue;
      const article = { ...head, address: feed.address, kept: kept?.id, flags: (acts.get(number) ?? []).reduce(store.marked, flags) };
      articles.push(article);
      feed.count += 1;
      if (!isRead(article)) feed.unread += 1;
    }
    byNumber = new Map(articles.map((article) => [article.number, article]));
  }

  function summary() {
    if (!kept) return "No articles are kept on this device yet.";
    const marks = waiting === 1 ? " 1 mark waits to be sent." : waiting > 1 ? ` ${waiting} marks wait to be sent.` : "";
    if (fetched === undefined) return `No articles were received yet.${marks}`;
    const since = Date.now() - fetched < 60_000 ? "less than a minute ago" : timeText(fetched);
    return `${articles.length} ${articles.length === 1 ? "article" : "articles"} on this device, updated ${since}.${marks}`;
  }

  async function refresh() {
    await load();
    settings.hidden = false;
    settings.open ||= !kept;
    document.getElementById("update").hidden = !kept;
    document.getElementById("remove").hidden = !kept;
    document.getElementById("keep").textContent = kept ? "Save" : "Keep articles on this device";
    tell(summary());
    draw(false);
  }

  // Views, by the part of the address after "#".

  function view() {
    const hash = decodeURIComponent(location.hash.slice(1));
    if (hash) return hash;
    // The worker shows this page in place of others.
    const [, article] = /\/articles\/(\d+)$/.exec(location.pathname) ?? [];
    if (article) return `article-${article}`;
    const [, feed] = /\/feeds\/(\d+)$/.exec(location.pathname) ?? [];
    const parameters = new URLSearchParams(location.search);
    if (feed ?? parameters.get("feed")) return `feed-${feed ?? parameters.get("feed")}`;
    if (parameters.has("starred")) return "starred";
    return location.pathname.endsWith("/articles") ? "unread" : "";
  }

  function draw(focus) {
    reader.hidden = !kept;
    if (!kept) return;
    const active = reader.contains(document.activeElement) ? document.activeElement : undefined;
    const [kind, ...rest] = view().split("-");
    const what = rest.join("-");
    const lists = {
      unread: ["Unread articles", (article) => !isRead(article)],
      all: ["All articles", () => true],
      starred: ["Starred articles", isStarred],
      feed: [feeds.get(Number(what))?.title ?? "This feed is not on this device", (article) => article.feed === Number(what)],
      search: [`Articles with ${what} in the title`, (article) => titleOf(article).toLowerCase().includes(what.toLowerCase())],
    };
    if (kind === "article") {
      drawArticle(byNumber.get(Number(what)));
    } else {
      opened = undefined;
      if (lists[kind]) drawList(...lists[kind]);
      else drawFeeds();
    }
    document.title = `${heading.textContent} - Offline reading`;
    if (focus) {
      main.focus();
      scrollTo(0, 0);
    } else if (active && !reader.contains(active)) {
      const isSame = (one) => one.textContent === active.textContent && one.getAttribute("href") === active.getAttribute("href");
      ([...reader.querySelectorAll(active.tagName)].find(isSame) ?? main).focus();
    }
  }

  const count = (unread) => unread === 0 ? [] : [" ", make("span", { className: "badge count" }, String(unread), make("span", { className: "hidden" }, " unread"))];
  const link = (hash, text) => make("a", { href: `#${hash}` }, make("bdi", {}, text));

  function drawFeeds() {
    heading.textContent = "Offline reading";
    [lastList, listed] = ["#feeds", []];
    const unread = articles.filter((article) => !isRead(article)).length;
    const search = make("form", { className: "search", role: "search" },
      make("label", { className: "hidden", htmlFor: "search" }, "Search titles"),
      make("input", { id: "search", name: "search", type: "search", placeholder: "Search titles", maxLength: 200 }),
      make("button", { type: "submit" }, "Search"));
    search.addEventListener("submit", (event) => {
      event.preventDefault();
      location.hash = `search-${encodeURIComponent(search.elements.search.value)}`;
    });
    const lists = make("p", { className: "numbers" }, link("unread", `Unread articles: ${unread}`), " ", link("all", "All"), " ", link("starred", "Starred"));
    const groups = new Map();
    for (const feed of feeds.values()) {
      if (feed.count > 0) groups.set(feed.folder, [...groups.get(feed.folder) ?? [], feed]);
    }
    const sections = [...groups].map(([folder, all]) => make("section", { className: "folder" },
      make("h2", {}, make("bdi", {}, folder || "No folder")),
      make("ul", { className: "list feeds" }, ...all.map((feed) => make("li", { className: feed.unread > 0 ? "unread" : "" },
        make("div", { className: "feed" }, Object.assign(link(`feed-${feed.number}`, feed.title), { className: "name" }), ...count(feed.unread)))))));
    reader.replaceChildren(search, lists, ...sections);
  }

  function drawList(title, keeps) {
    heading.textContent = title;
    const known = new Map(articles.filter(keeps).map((article) => [article.number, article]));
    const current = (numbers) => numbers.map((number) => byNumber.get(number)).filter((article) => article !== undefined);
    listed = [...known.keys()];
    lastList = `#${encodeURIComponent(view())}`;
    const list = make("ol", { className: "list articles" });
    const more = make("button", { type: "button" }, "Show more");
    function add() {
      const rows = listed.slice(list.childElementCount, list.childElementCount + MOST_SHOWN);
      list.append(...rows.map((number) => row(byNumber.get(number) ?? known.get(number))));
      more.hidden = list.childElementCount >= listed.length;
    }
    more.addEventListener("click", add);
    add();
    const all = make("button", { type: "button" }, "Mark all as read");
    all.addEventListener("click", () => {
      const unread = current(listed).filter((article) => !isRead(article));
      markedAll = unread.map(({ number }) => number);
      marking(unread, "read");
    });
    const undo = make("button", { type: "button" }, `Undo: ${markedAll.length} ${markedAll.length === 1 ? "article" : "articles"} unread again`);
    undo.addEventListener("click", () => marking(current(markedAll.splice(0)), "unread"));
    reader.replaceChildren(make("p", {}, make("a", { href: "#feeds" }, "All feeds")),
      ...(markedAll.length === 0 ? [] : [make("p", {}, undo)]),
      ...(listed.length === 0 ? [make("p", { className: "empty" }, "There are no articles here.")] : [make("p", {}, all), list, more]));
  }

  function row(article) {
    return make("li", { className: `${isRead(article) ? "" : "unread"}${isStarred(article) ? " starred" : ""}` },
      make("div", { className: "head" }, make("h2", {}, link(`article-${article.number}`, titleOf(article)))),
      make("p", { className: "quiet about" }, make("bdi", {}, feeds.get(article.feed)?.title ?? ""), " ", time(article.at)),
      make("div", { className: "marks" }, ...buttons(article)));
  }

  function buttons(article) {
    return [isRead(article) ? ["Unread", "unread"] : ["Read", "read"], isStarred(article) ? ["Unstar", "unstar"] : ["Star", "star"]].map(([text, act]) => {
      const button = make("button", { type: "button", className: "plain" }, text, make("span", { className: "hidden" }, ` ${titleOf(article)}`));
      button.dataset.act = act;
      button.addEventListener("click", () => marking([article], act));
      return button;
    });
  }

  async function drawArticle(article) {
    if (!article) {
      opened = undefined;
      heading.textContent = "This article is not on this device";
      reader.replaceChildren(make("p", {}, make("a", { href: lastList }, "Back to the list")));
      return;
    }
    // An update does not disturb a person who reads, and does not mark the article again.
    if (opened === article.number) {
      reader.querySelector(".buttons").replaceChildren(...buttons(article));
      return;
    }
    opened = article.number;
    heading.textContent = titleOf(article);
    const position = listed.indexOf(article.number);
    const beside = (step, text, rel) => {
      const number = position < 0 ? undefined : listed[position + step];
      return number === undefined ? [] : [make("a", { href: `#article-${number}`, rel }, text), " "];
    };
    const content = make("div", { className: "prose rich" });
    const marks = make("p", { className: "buttons" }, ...buttons(article));
    reader.replaceChildren(make("article", { className: "reader" },
      make("p", { className: "quiet about" }, link(`feed-${article.feed}`, feeds.get(article.feed).title), " ", time(article.at), ...(article.author ? [" ", make("bdi", {}, article.author)] : [])),
      marks, content,
      ...(article.link ? [make("p", {}, make("a", { href: article.link, rel: "noopener noreferrer nofollow" }, "Original"))] : [])),
      make("nav", { className: "pages", ariaLabel: "Articles" }, ...beside(-1, "Previous", "prev"), ...beside(1, "Next", "next"), make("a", { href: lastList, id: "back" }, "Back to the list")));
    const html = await store.content(article.number);
    // The hub made this content safe, and the policy of the page lets no script in it run.
    content.replaceChildren(...new DOMParser().parseFromString(html ?? "", "text/html").body.childNodes);
    if (!isRead(article) && view() === `article-${article.number}`) await marking([article], "read");
  }

  // Shows the marks of one article. Its place in a list stays, and so does the focus.
  function show(article, focused) {
    const place = focused?.endsWith("star") ? 1 : 0;
    if (view() === `article-${article.number}`) {
      const marks = reader.querySelector(".buttons");
      marks?.replaceChildren(...buttons(article));
      if (focused) marks?.children[place]?.focus();
      return;
    }
    const former = reader.querySelector(`.articles a[href="#article-${article.number}"]`)?.closest("li");
    if (!former) return;
    const had = former.contains(document.activeElement);
    const drawn = row(article);
    former.replaceWith(drawn);
    if (had) (focused ? drawn.querySelectorAll("[data-act]")[place] : drawn.querySelector("a")).focus();
  }

  // Stores marks, shows them, and sends them if the hub can be reached.
  async function marking(marked, act) {
    const focused = document.activeElement?.dataset?.act;
    try {
      await store.mark(marked, act);
    } catch (error) {
      if (error instanceof store.Removed) return location.reload();
      return tell(`The mark could not be stored: ${error.message}`);
    }
    for (const article of marked) {
      const wasRead = isRead(article);
      article.flags = store.marked(article.flags, act);
      const feed = feeds.get(article.feed);
      if (feed) feed.unread += Number(wasRead) - Number(isRead(article));
    }
    waiting += marked.length;
    if (marked.length !== 1) draw(focused === undefined);
    else show(marked[0], focused);
    return send();
  }

  async function attempt(work) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof store.SignedOut) {
        state.hidden = false;
        const again = make("a", { href: `${home}/offline` }, "sign in");
        return state.replaceChildren("You are signed out, or signed in as another user. Waiting marks stay on this device: ", again, " as the same user to send them.");
      }
      if (!(error instanceof store.Unreachable)) return tell(`This did not work: ${error.message}.`);
      return tell(`The hub cannot be reached. ${summary()}`);
    }
  }

  const send = () => attempt(async () => {
    const registration = await navigator.serviceWorker.getRegistration(store.PAGE);
    await registration?.sync?.register("feedsync-marks").catch(() => {});
    await store.send();
    waiting = await store.countMarks();
    tell(summary());
  });

  const update = () => attempt(async () => {
    await store.update((done, all) => tell(`Receiving articles: ${done} of ${all}`));
    await refresh();
  });

  async function begin() {
    if (!store) {
      tell("This browser cannot keep articles: it has no Service Workers, or the address of the hub does not begin with https.");
      return;
    }
    choice.addEventListener("submit", (event) => {
      event.preventDefault();
      const chosen = { articles: Number(choice.elements.articles.value), days: Number(choice.elements.days.value), pictures: choice.elements.pictures.checked };
      attempt(async () => {
        await store.begin(chosen);
        settings.open = false;
        await update();
      });
    });
    document.getElementById("update").addEventListener("click", update);
    document.getElementById("remove").addEventListener("click", () => attempt(async () => {
      const lost = waiting > 0 ? ` ${waiting} ${waiting === 1 ? "mark was" : "marks were"} not sent yet and ${waiting === 1 ? "is" : "are"} lost.` : "";
      if (!confirm(`Remove all articles from this device?${lost}`)) return;
      await store.remove();
      location.replace(`${home}/offline`);
    }));
    addEventListener("hashchange", () => {
      markedAll = [];
      draw(true);
    });
    addEventListener("online", update);
    // Another tab may have stored articles or marks.
    document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") attempt(refresh); });
    await refresh();
    if (!kept) return;
    // A browser may have removed the worker.
    store.register().catch(() => {});
    [choice.elements.articles.value, choice.elements.days.value, choice.elements.pictures.checked] = [kept.articles, kept.days, kept.pictures];
    await update();
    setInterval(() => { if (document.visibilityState === "visible") update(); }, UPDATE_INTERVAL);
  }

  const here = () => view().startsWith("article-") ? reader : document.activeElement?.closest?.("li");
  function move(step) {
    const beside = reader.querySelector(step > 0 ? "a[rel=next]" : "a[rel=prev]");
    if (beside) return beside.click();
    const links = [...reader.querySelectorAll(".articles h2 a")];
    const place = links.indexOf(document.activeElement);
    if (place < 0) return links.at(step > 0 ? 0 : -1)?.focus();
    return links[place + step]?.focus();
  }
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    u: () => (reader.querySelector("#back") ?? reader.querySelector("a"))?.click(),
    m: () => here()?.querySelector("[data-act$=read]")?.click(),
    s: () => here()?.querySelector("[data-act$=star]")?.click(),
    "/": () => reader.querySelector("#search")?.focus(),
  };
  onKey((key) => {
    if (!Object.hasOwn(keys, key)) return false;
    keys[key]();
    return true;
  });

  begin().catch((error) => tell(`This browser cannot keep articles: ${error.message}`));
})();
