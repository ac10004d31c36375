// A page for AtomPub as people write it. Only the next two statements make it work offline.
import { register } from "../bitsy.mjs";
register("../bitsy-worker.js", { shell: ["./", "plain.js", "../bitsy.mjs", "../bitsy.js"] })
  .then((bitsy) => bitsy.subscriptionBuilder().setFeed("/collections/notes").addFollow("edit").build());

const feed = "/collections/notes";
const list = document.querySelector("ul");

async function show() {
  const response = await fetch(feed, { headers: { Accept: "application/atom+xml" } });
  const xml = new DOMParser().parseFromString(await response.text(), "text/xml");
  list.replaceChildren(...[...xml.querySelectorAll("entry")].map((entry) => {
    const item = document.createElement("li");
    item.textContent = entry.querySelector("title").textContent;
    return item;
  }));
}

document.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const entry = document.implementation.createDocument("http://www.w3.org/2005/Atom", "entry");
  const title = entry.createElementNS("http://www.w3.org/2005/Atom", "title");
  title.textContent = event.target.elements.title.value;
  entry.documentElement.append(title);
  await fetch(feed, {
    method: "POST",
    headers: { "Content-Type": "application/atom+xml;type=entry" },
    body: new XMLSerializer().serializeToString(entry),
  });
  event.target.reset();
  await show();
});

show();
