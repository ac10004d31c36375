// A to-do list that several devices share. It works without a network, and shows edits that do not know of each other.

import { Offline, Replica } from "./feedsync/feedsync.mjs";

const HUB = new URLSearchParams(location.search).get("hub") ?? "/collections/todo";
const INTERVAL = 5_000;

const find = (selector) => document.querySelector(selector);
const say = (text) => { find("#state").textContent = text; };

const replica = await Replica.open("web-todo");
const todo = await replica.collection("todo");

/** Makes an element with a text, which is never read as HTML. */
function make(name, text = "", properties = {}) {
  return Object.assign(document.createElement(name), { textContent: text, ...properties });
}

// One line for each task. A line stays in the document while its task changes, so that it keeps the focus.
const lines = new Map();

function makeLine(id) {
  const line = make("li", "", { className: "row" });
  const done = make("input", "", { type: "checkbox", id: `done-${lines.size}-${Date.now()}` });
  const title = make("label", "", { htmlFor: done.id });
  const rename = make("button", "Rename", { type: "button" });
  const remove = make("button", "Delete", { type: "button" });
  done.onchange = () => edit(todo.change(id, (task) => { task.done = done.checked; }));
  rename.onclick = () => renamed(line, id);
  remove.onclick = () => edit(todo.delete(lines.get(id).item));
  line.append(done, title, rename, remove);
  return { line, done, title, rename, remove };
}

function show(item) {
  const { content: { title, done } } = item;
  const name = String(title ?? "");
  const shown = lines.get(item.id) ?? makeLine(item.id);
  shown.item = item;
  shown.done.checked = done === true;
  shown.title.textContent = name;
  shown.title.classList.toggle("done", done === true);
  shown.rename.setAttribute("aria-label", `Rename ${name}`);
  shown.remove.setAttribute("aria-label", `Delete ${name}`);
  if (!lines.has(item.id)) {
    lines.set(item.id, shown);
    find("#tasks").append(shown.line);
  }
}

function hide(id) {
  lines.get(id)?.line.remove();
  lines.delete(id);
}

/** Shows a field in place of a line, until the new title is saved or the editing is cancelled. */
function renamed(line, id) {
  const { item, title, rename } = lines.get(id);
  const form = make("form", "", { className: "row" });
  const field = make("input", "", { value: title.textContent, required: true, maxLength: 200, ariaLabel: "New title" });
  const cancel = make("button", "Cancel", { type: "button" });
  const close = () => {
    form.remove();
    line.hidden = false;
    rename.focus();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    // Based on the version that was shown: an edit that arrived meanwhile is kept, too.
    edit(todo.update({ ...item, content: { ...item.content, title: field.value } }));
    close();
  };
  form.onkeydown = ({ key }) => { if (key === "Escape") close(); };
  cancel.onclick = close;
  form.append(field, make("button", "Save"), cancel);
  line.hidden = true;
  line.after(form);
  field.select();
}

async function showConflicts() {
  const conflicts = await todo.conflicts();
  const entries = conflicts.map((conflict) => {
    const entry = make("li");
    const choices = make("div", "", { className: "row" });
    conflict.versions.forEach((version, index) => {
      const text = version.deleted ? "Delete the task" : `Keep “${version.content.title}”${version.content.done ? ", done" : ""}`;
      choices.append(make("button", text, { type: "button", onclick: () => resolve(conflict.keep(index)) }));
    });
    const titles = [...new Set(conflict.versions.filter(({ deleted }) => !deleted).map(({ content }) => content.title))];
    if (titles.length > 1) {
      const both = { ...conflict.versions.find(({ deleted }) => !deleted).content, title: titles.join(" / ") };
      choices.append(make("button", "Keep both", { type: "button", onclick: () => resolve(conflict.replace(both)) }));
    }
    entry.append(make("p", `“${titles.join("” and “")}”: choose what stays.`), choices);
    return entry;
  });
  find("#conflicts").hidden = entries.length === 0;
  find("#conflicts ul").replaceChildren(...entries);
}

function resolve(resolution) {
  edit(todo.resolve(resolution));
  find("#title").focus();
}

/** Waits for an edit, which is stored on this device, and then syncs. */
async function edit(pending) {
  try {
    await pending;
  } catch (error) {
    say(error.message);
    return;
  }
  sync();
}

async function sync() {
  try {
    const { refused } = await todo.sync(HUB);
    say(refused.length > 0 ? `Refused: ${refused[0].reason}` : `Synced at ${new Date().toLocaleTimeString()}`);
  } catch (error) {
    say(error instanceof Offline ? "Offline. Your edits are stored here." : error.message);
  }
}

find("#add").onsubmit = (event) => {
  event.preventDefault();
  const title = find("#title").value;
  event.target.reset();
  edit(todo.add({ title, done: false }));
};
find("#sync").onclick = sync;
addEventListener("online", sync);
setInterval(sync, INTERVAL);
sync();

for await (const change of todo.watch()) {
  if (change.kind === "put") show(change.item);
  if (change.kind === "deleted") hide(change.id);
  if (change.kind !== "put" || change.item.conflicts > 0 || !find("#conflicts").hidden) await showConflicts();
}
