// Notes and photos over AtomPub. Reads and edits are plain requests; the worker makes them work offline.
// The address of the collection can be given: /bitsy/demo/?collection=/collections/other

import { register } from "../bitsy.mjs";
import { ask, errors, outbox } from "../offline.mjs";

const ATOM = "http://www.w3.org/2005/Atom";
const ENTRY = "application/atom+xml;type=entry";
const $ = (id) => document.getElementById(id);
const feed = local(new URLSearchParams(location.search).get("collection")) ?? `${location.origin}/collections/notes`;
let shown = 100;
let [entries, editing] = [[], undefined];

// An address of this site, or undefined. Feeds may name others, and scripts.
function local(href, base = location.href) {
  const url = href && URL.canParse(href, base) ? new URL(href, base) : undefined;
  return url?.origin === location.origin ? url.href : undefined;
}

function parsed(text) {
  const xml = new DOMParser().parseFromString(text, "application/xml");
  if (xml.querySelector("parsererror")) throw new Error("the server sent a document that is not XML");
  return xml;
}

const children = (of, name) => [...of.children].filter((one) => one.namespaceURI === ATOM && one.localName === name);
const textOf = (of, name, most) => (children(of, name)[0]?.textContent ?? "").trim().slice(0, most);
const link = (of, rel) => local(children(of, "link").find((one) => one.getAttribute("rel") === rel)?.getAttribute("href"), feed);

async function request(url, options) {
  const response = await fetch(url, options);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response;
}

async function load() {
  const xml = parsed(await (await request(feed, { headers: { accept: "application/atom+xml" } })).text());
  entries = children(xml.documentElement, "entry");
  draw();
}

function draw() {
  $("list").replaceChildren(...entries.slice(0, shown).map(card));
  $("more").hidden = entries.length <= shown;
  $("list-heading").textContent = `All (${entries.length})`;
}

function card(entry) {
  const item = document.createElement("li");
  const add = (name, properties) => item.appendChild(Object.assign(document.createElement(name), properties));
  const title = textOf(entry, "title", 300) || "Untitled";
  const edit = link(entry, "edit");
  const content = children(entry, "content")[0];
  const media = local(content?.getAttribute("src"), feed);
  add("h3", { textContent: title });
  if (media) add("img", { src: media, alt: title, loading: "lazy" });
  else add("p", { textContent: textOf(entry, "content", 2000) || textOf(entry, "summary", 2000) });
  const row = add("div", { className: "row" });
  const button = (text, action) => {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent: text, ariaLabel: `${text}: ${title}` });
    made.addEventListener("click", () => run(action));
    row.append(made);
  };
  if (edit && !media) button("Edit", () => begin(edit));
  if (edit) button("Delete", async () => {
    await request(edit, { method: "DELETE" });
    await load();
    $("list-heading").focus();
  });
  return item;
}

async function begin(edit) {
  const response = await request(edit, { headers: { accept: ENTRY } });
  const entry = parsed(await response.text()).documentElement;
  editing = { edit, entry, tag: response.headers.get("etag") };
  $("title").value = textOf(entry, "title");
  $("text").value = textOf(entry, "content");
  form(true);
  $("title").focus();
}

function form(isEdit) {
  $("note-heading").textContent = isEdit ? "Edit note" : "New note";
  $("cancel").hidden = !isEdit;
  if (isEdit) return;
  editing = undefined;
  $("note").reset();
  $("note-heading").focus();
}

async function save() {
  const entry = editing?.entry ?? parsed(`<entry xmlns="${ATOM}"/>`).documentElement;
  for (const [name, text] of [["title", $("title").value], ["content", $("text").value]]) {
    const element = children(entry, name)[0] ?? entry.appendChild(entry.ownerDocument.createElementNS(ATOM, name));
    for (const attribute of ["src", "type"]) element.removeAttribute(attribute);
    element.textContent = text;
  }
  const headers = { "content-type": ENTRY, ...(editing?.tag && { "if-match": editing.tag }) };
  const body = new XMLSerializer().serializeToString(entry);
  await request(editing?.edit ?? feed, { method: editing ? "PUT" : "POST", headers, body });
  form(false);
  await load();
}

async function addPhoto() {
  const [file] = $("file").files;
  const headers = { "content-type": file.type || "image/jpeg", slug: encodeURIComponent(file.name) };
  await request(feed, { method: "POST", headers, body: file });
  $("photo").reset();
  $("preview").hidden = true;
  await load();
}

async function tell() {
  const [waiting, failed] = [await outbox(), await errors()];
  $("status").textContent = waiting.length + failed.length === 0 ? "All changes are saved on the server."
    : `Waiting to be sent: ${waiting.length}. Failed: ${failed.length}.`;
}

// Shows why an action failed.
async function run(action) {
  try {
    await action();
    await tell();
  } catch (error) {
    $("status").textContent = `This did not work: ${error.message}`;
  }
}

$("note").addEventListener("submit", (event) => { event.preventDefault(); run(save); });
$("photo").addEventListener("submit", (event) => { event.preventDefault(); run(addPhoto); });
$("cancel").addEventListener("click", () => form(false));
$("refresh").addEventListener("click", () => run(() => ask("POST", "/refresh")));
$("more").addEventListener("click", () => { shown += 100; draw(); });
$("file").addEventListener("change", () => {
  URL.revokeObjectURL($("preview").src);
  const [file] = $("file").files;
  $("preview").hidden = !file;
  if (file) $("preview").src = URL.createObjectURL(file);
});

run(async () => {
  const shell = ["./", location.href, "notes.css", "notes.js",
    ...["bitsy.mjs", "bitsy.js", "offline.mjs", "messages.mjs", "offline.html", "offline.css", "offline-page.js"].map((name) => `../${name}`)];
  const bitsy = await register("../bitsy-worker.js", { shell });
  const stored = bitsy.subscriptionBuilder().setFeed(feed).addFollow("edit").addFollow("edit-media").build();
  stored.addStateChangeEventListener(() => run(load));
  await stored.ready;
  // Reads come from the copy on this device, which is brought up to date here.
  await ask("POST", "/refresh");
  await load();
  setInterval(() => tell().catch(() => {}), 2_000);
});
