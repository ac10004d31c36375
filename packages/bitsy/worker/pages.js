// Messages between pages and the worker, the person that each page works for, and the application's own files.

const SHELL = "bitsy-shell";
const MAX_NAME = 200;
const identities = new Map();
// Addresses of the application's own files; a promise, so that the cache is asked once.
let shellUrls;

// The name of the person that a page works for, as the page said.
async function identityOf(clientId) {
  if (!clientId) return undefined;
  if (!identities.has(clientId)) {
    const name = await (await opened()).database.nameOf(clientId);
    // The page may have said its name meanwhile.
    if (!identities.has(clientId)) identities.set(clientId, name);
  }
  return identities.get(clientId);
}

async function setIdentity(core, clientId, name) {
  identities.set(clientId, name);
  await core.exclusively(() => core.database.setName(clientId, name));
}

// Sends the messages that wait for pages, in their order.
let telling = Promise.resolve();
function tell(core) {
  const done = telling.then(() => tellNow(core));
  telling = done.catch(() => {});
  return done;
}

async function tellNow(core) {
  for (const [page, name, value] of await core.read({ do: "messages" })) {
    const client = await self.clients.get(page);
    if (client) client.postMessage({ bitsy: name, value });
    else await core.read({ do: "disconnect", page });
  }
}

// Runs a change for a page, tells the pages, and does what became due.
async function changed(core, command, contents) {
  const result = await core.change(command, contents);
  tell(core).catch(complain);
  drain().catch(complain);
  return result;
}

const asked = {
  async connect(core, page, { partition }) {
    const isName = typeof partition === "string" && partition.length <= MAX_NAME;
    if (partition !== undefined && !isName) throw new Error(`bitsy: a person's name is a text of at most ${MAX_NAME} characters`);
    await setIdentity(core, page, partition);
    await core.read({ do: "connect", page, partition: partition ?? "" });
    await tell(core);
    return { incarnation: core.database.incarnation };
  },
  async ask(core, page, { method, path, body }) {
    const open = (await self.clients.matchAll({ includeUncontrolled: true })).map(({ id }) => id);
    const name = await identityOf(page);
    const { origin } = self.location;
    const person = { partition: name ?? "", isNamed: name !== undefined, origin };
    return changed(core, { do: "control", method, path, body, page, open, ...person });
  },
  async online(core) {
    await core.change({ do: "control", method: "POST", path: "/outbox/retry", page: "", open: [] });
    await drain();
  },
  async shell(core, page, { urls }) {
    const cache = await caches.open(SHELL);
    await Promise.all(urls.map(async (url) => {
      if (await cache.match(url)) return;
      const response = await fetch(url, { cache: "reload" });
      if (response.ok) await cache.put(url, copyOf(response));
    }));
    shellUrls = undefined;
  },
  // A page that was loaded past the worker is intercepted from now on.
  async claim() {
    await self.clients.claim();
  },
  async ping() {
    await drain();
  },
};

function onMessage(event) {
  const { data, source, ports } = event;
  if (source?.id) event.waitUntil(answerTo(source.id, data).then((answer) => answer && ports[0]?.postMessage(answer)));
}

// The answer to a message of a page; none if this is no message for the worker.
async function answerTo(page, data) {
  const act = Object.hasOwn(asked, data?.bitsy) ? asked[data.bitsy] : undefined;
  if (!act) return undefined;
  try {
    return { value: await act(await opened(), page, data) };
  } catch (error) {
    return { failure: error?.message ?? String(error) };
  }
}

// Whether a request is a message. Pages of this worker send them so if the browser gives them only a worker that was
// replaced. A navigation, which any site may cause, is none.
const isMessage = ({ request: { method, mode, url }, clientId }) =>
  method === "POST" && mode !== "navigate" && clientId !== "" &&
  url === new URL("bitsy-message", self.registration.scope).href;

async function messageOf({ request, clientId }) {
  const data = await request.json().catch(() => undefined);
  return Response.json(await answerTo(clientId, data) ?? { failure: "this is no message for the worker" });
}

// Whether a request is for one of the application's own files.
async function isShell(request) {
  shellUrls ??= caches.open(SHELL).then((cache) => cache.keys()).then((all) => new Set(all.map(({ url }) => url)))
    .catch((error) => {
      shellUrls = undefined;
      throw error;
    });
  return request.method === "GET" && (await shellUrls).has(plain(request.url));
}

// The application's own files: the network first, then the copy.
async function keepShell(request, response) {
  if (response.status !== 200 || response.type === "opaque") return;
  await (await caches.open(SHELL)).put(plain(request.url), copyOf(response));
}

// A copy that a navigation accepts although the server had redirected it, and that does not depend on other headers.
function copyOf({ body, status, headers }) {
  const kept = new Headers(headers);
  kept.delete("vary");
  return new Response(body, { status, headers: kept });
}

async function shellCopy(request) {
  if (!await isShell(request)) return undefined;
  return (await caches.open(SHELL)).match(plain(request.url), { ignoreVary: true });
}
