// Lists of waiting and failed changes, and the storage used, for an application to mount.
//
// Content comes from servers and is shown as text only. The stylesheet is offline.css.

import { message } from "./messages.mjs";

const UNDO_TIME = 8_000;
const REFRESH_INTERVAL = 2_000;
// Maximum number of changes that a list shows, and of characters of one version.
const MAX_SHOWN = 100;
const MAX_TEXT = 200_000;

/** Sends a request to the worker of this page. Resolves to its status and body. */
export const ask = (method, path, body) => message({ bitsy: "ask", method, path, body });

/** Waiting changes, in the order in which they are sent. */
export const outbox = () => list("/outbox");

/** Failed changes that nobody has resolved yet. */
export const errors = async () => (await list("/errors")).filter(({ isEdit }) => isEdit);

async function list(path) {
  return (await succeeded("GET", path)).body;
}

async function succeeded(method, path, body) {
  const answer = await ask(method, path, body);
  if (answer.status >= 400) throw new Error(answer.body?.detail ?? `status ${answer.status}`);
  return answer;
}

/**
 * Shows waiting changes, failed changes and the storage used in an element. Returns a function that removes them.
 */
export function mount(element) {
  const status = make("p", { role: "status" });
  const waiting = part("Waiting to be sent", showWaiting);
  const failed = part("Failed changes", showFailed);
  const storage = part("Storage on this device", showStorage);
  const report = (text) => { status.textContent = text; };
  element.replaceChildren(status, waiting.section, failed.section, storage.section);

  let isMounted = true;
  // Failed changes whose removal can still be undone, with their timers.
  const removed = new Map();
  // What a person has opened below failed changes, by id. It stays when the list is drawn again.
  const opened = new Map();

  const refresh = () => Promise.all([waiting, failed, storage].map(({ update }) => update()))
    .catch((error) => isMounted && report(`The lists cannot be read: ${error.message}`));
  const timer = setInterval(() => { if (document.visibilityState === "visible") refresh(); }, REFRESH_INTERVAL);
  refresh();

  // Runs an action of a button, and reports a failure.
  async function attempt(action) {
    try {
      await action();
    } catch (error) {
      report(`This did not work: ${error.message}`);
    }
  }

  // Runs an action that changes the lists, and reports its outcome.
  async function run(action, outcome) {
    await attempt(async () => {
      await action();
      report(outcome);
    });
    await refresh();
  }

  // A section that is drawn again only when its data changed, so that focus and input stay.
  function part(title, show) {
    const heading = make("h2", { tabIndex: -1 }, title);
    const content = make("div");
    let last;
    const update = async (isForced = false) => {
      const [data, draw] = await show();
      const key = JSON.stringify(data);
      if (!isMounted || (!isForced && key === last)) return;
      // Someone who writes is not interrupted.
      if (!isForced && content.querySelector("textarea")) return;
      last = key;
      const active = document.activeElement;
      const had = content.contains(active);
      content.replaceChildren(...draw());
      if (had) (content.contains(active) ? active : sameButton(content, active) ?? heading).focus();
    };
    return { section: make("section", {}, heading, content), update };
  }

  async function showWaiting() {
    const edits = await outbox();
    return [edits, () => {
      if (!edits.length) return [make("p", {}, "Nothing is waiting.")];
      const rows = edits.slice(0, MAX_SHOWN).map((edit) => make("li", {},
        make("h3", {}, describe(edit)),
        make("p", {}, `The change ${edit.why}.`),
        make("div", { className: "bitsy-actions" },
          button("Discard", describe(edit), () => confirmed("Discard this change? It was not sent yet.", () =>
            run(() => succeeded("DELETE", `/outbox/${edit.id}`), "The change was discarded."))))));
      const send = button("Send now", "all waiting changes", () =>
        run(() => succeeded("POST", "/outbox/retry"), "Sending…"));
      return [make("ul", { className: "bitsy", role: "list" }, ...rows), ...more(edits), send];
    }];
  }

  async function showFailed() {
    const found = (await errors()).filter(({ id }) => !removed.has(id));
    for (const id of opened.keys()) if (!found.some((error) => error.id === id)) opened.delete(id);
    return [[found, [...removed.keys()]], () => {
      const undo = [...removed].map(([id, { what }]) => make("p", {}, `${what}: discarded. `,
        button("Undo", what, () => {
          clearTimeout(removed.get(id)?.timer);
          removed.delete(id);
          report("The change is back in the list.");
          failed.update(true);
        })));
      if (!found.length) return [...undo, make("p", {}, "Nothing failed.")];
      const rows = found.slice(0, MAX_SHOWN).map((error) => failure(error));
      return [...undo, make("ul", { className: "bitsy", role: "list" }, ...rows), ...more(found)];
    }];
  }

  function failure(error) {
    const what = describe(error);
    const path = `/errors/${error.id}`;
    const details = opened.get(error.id) ?? make("div");
    opened.set(error.id, details);
    const row = make("li", {}, make("h3", {}, what), make("p", { className: "bitsy-why" }, reason(error)), details);
    const discard = (outcome) => discardLater(error, what, outcome);
    const compare = button("Compare versions", what, () => attempt(async () => {
      const [mine, base, theirs] = await Promise.all(["mine", "base", "theirs"].map((side) => version(path, side)));
      details.replaceChildren(make("div", { className: "bitsy-sides" },
        side("Mine", mine), side("Before my change", base), side("On the server", theirs)));
    }));
    const edit = button("Edit and send", what, () => attempt(async () => {
      const mine = await version(path, "mine");
      if (typeof mine?.text !== "string") return report("This change has no text that can be edited.");
      const area = make("textarea", { id: `bitsy-${error.id}`, value: mine.text, spellcheck: false });
      const close = () => {
        details.replaceChildren();
        failed.update(true);
      };
      details.replaceChildren(make("label", { htmlFor: area.id }, `New content of ${what}`), area,
        make("div", { className: "bitsy-actions" },
          button("Send", what, () => run(async () => {
            await sendAgain(error, area.value);
            details.replaceChildren();
          }, "The edited change is accepted.")),
          button("Cancel", what, close)));
      area.focus();
      return undefined;
    }));
    row.append(make("div", { className: "bitsy-actions" },
      compare,
      button("Keep mine", what, () => run(() => keepMine(error), "Your version is sent again.")),
      ...(error.method === "POST" ? [] : [button("Keep theirs", what, () => discard("The server's version stays."))]),
      ...(error.method === "DELETE" ? [] : [edit]),
      button("Discard", what, () => confirmed("Discard this change and its content?", () =>
        discard("The change is discarded.")))));
    return row;
  }

  // Removes a failed change after a time in which this can be undone. If the page is closed before, the change stays.
  function discardLater(error, what, outcome) {
    const timer = setTimeout(() => {
      removed.delete(error.id);
      run(() => succeeded("DELETE", `/errors/${error.id}`), outcome);
    }, UNDO_TIME);
    removed.set(error.id, { what, timer });
    report(`${outcome} You can undo this for ${UNDO_TIME / 1000} seconds.`);
    failed.update(true);
  }

  async function showStorage() {
    const { usage = 0, quota = 0 } = await navigator.storage?.estimate?.() ?? {};
    const isPersisted = await navigator.storage?.persisted?.() ?? false;
    const shown = [megabytes(usage), megabytes(quota), isPersisted];
    return [shown, () => [
      make("label", { htmlFor: "bitsy-meter" }, `${shown[0]} of ${shown[1]} used`),
      make("meter", { id: "bitsy-meter", max: Math.max(quota, 1), value: usage }),
      make("p", {}, isPersisted
        ? "The browser keeps this data when its disk is full."
        : "The browser may delete this data, with waiting changes, when its disk is full."),
      ...(isPersisted ? [] : [button("Keep this data", "on this device", () => run(async () => {
        if (!await navigator.storage?.persist?.()) throw new Error("the browser does not permit it at present");
      }, "The browser now keeps this data."))]),
    ]];
  }

  return () => {
    isMounted = false;
    clearInterval(timer);
    for (const { timer: pending } of removed.values()) clearTimeout(pending);
    element.replaceChildren();
  };
}

// One version of a failed change: its body, or undefined if there is none.
async function version(path, side) {
  const { status, body } = await ask("GET", `${path}/${side}`);
  return status === 200 ? body : undefined;
}

// Sends a failed change again. After a conflict its precondition names the old version, so that a repetition of the
// same request would fail again.
async function keepMine(error) {
  const path = `/errors/${error.id}`;
  if (error.status === 412) await sendAgain(error, bytesOf(await version(path, "mine")));
  else await succeeded("POST", `${path}/retry`);
}

function bytesOf(content) {
  if (typeof content?.base64 !== "string") return content?.text;
  return Uint8Array.from(atob(content.base64), (character) => character.charCodeAt(0));
}

// Sends a failed change again with other content, on top of the server's current version, and removes the failure.
async function sendAgain(error, body) {
  if (body === undefined && error.method !== "DELETE") throw new Error("the change is too large for this page");
  const headers = new Headers();
  for (const line of error.requestHeaders.split("\n")) {
    const [, name, value] = /^(content-type|slug):\s*(.*?)\s*$/i.exec(line) ?? [];
    if (name) headers.set(name, value);
  }
  if (error.method !== "POST") {
    const current = await fetch(error.location, { cache: "no-store" });
    const tag = current.headers.get("etag");
    if (current.ok && tag) headers.set("if-match", tag);
    // A failure that a later GET found out does not name the type of the change.
    const type = current.headers.get("content-type");
    if (body !== undefined && type && !headers.has("content-type")) headers.set("content-type", type);
  }
  const response = await fetch(error.location, { method: error.method, headers, body });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  await succeeded("DELETE", `/errors/${error.id}`);
}

function side(title, content) {
  const text = typeof content?.text === "string" ? content.text.slice(0, MAX_TEXT)
    : content ? "This content is not text." : "There is no content.";
  return make("div", {}, make("h4", {}, title), make("pre", { tabIndex: 0, role: "region", ariaLabel: title }, text));
}

const VERBS = { POST: "Add to", PUT: "Change", DELETE: "Delete" };

function describe({ method, location }) {
  const { pathname } = new URL(location);
  return `${VERBS[method] ?? method} ${pathname.length > 200 ? `${pathname.slice(0, 200)}…` : pathname}`;
}

function reason({ status }) {
  if (status === 412) return "The server has a newer version.";
  if (status === 401 || status === 403) return `The server did not permit the change (${status}).`;
  if (status === 404 || status === 410) return "It does not exist on the server any more.";
  return `The server refused the change (${status}).`;
}

function more(all) {
  const rest = all.length - MAX_SHOWN;
  return rest > 0 ? [make("p", {}, `${rest} more are not shown.`)] : [];
}

function megabytes(bytes) {
  return `${(bytes / (1 << 20)).toFixed(bytes < 10 << 20 ? 1 : 0)} MiB`;
}

// Asks before an action. Escape cancels, and the focus returns to the button.
function confirmed(question, action) {
  const dialog = make("dialog", { ariaLabel: question }, make("p", {}, question));
  const close = (answer) => button(answer, "", () => dialog.close(answer));
  dialog.append(make("div", { className: "bitsy-actions" }, close("Cancel"), close("Discard")));
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (dialog.returnValue === "Discard") action();
  });
  document.body.append(dialog);
  dialog.showModal();
}

// The button of a list drawn again that does what `former` did.
function sameButton(content, former) {
  return [...content.querySelectorAll("button")].find((one) =>
    one.textContent === former.textContent && one.ariaLabel === former.ariaLabel);
}

// A button; `object` completes its name for screen readers.
function button(text, object, action) {
  const made = make("button", { type: "button" }, text);
  if (object) made.ariaLabel = `${text}: ${object}`;
  made.addEventListener("click", action);
  return made;
}

function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "role") element.setAttribute("role", value);
    else element[key] = value;
  }
  element.append(...children);
  return element;
}
