// Messages between pages and the worker, the person that each page works for, and the application's own files.

const SHELL = "bitsy-shell";
const identities = new Map();

// The name of the person that a page works for, as the page said.
async function identityOf(clientId) {
  if (!clientId) return undefined;
  if (!identities.has(clientId)) {
    const core = await opened();
    const [row] = await core.database.row(`n/${clientId}`);
    identities.set(clientId, row?.[1]);
  }
  return identities.get(clientId);
}

async function setIdentity(core, clientId, name) {
  identities.set(clientId, name);
  const rows = [[`n/${clientId}`, name ?? null]];
  await core.exclusively(() => core.database.commit({ rows, isDurable: false }, []));
}

// Sends the messages that wait for pages.
async function tell(core) {
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
    await setIdentity(core, page, partition);
    await core.read({ do: "connect", page, partition });
    await tell(core);
  },
  async ask(core, page, { method, path, body }) {
    const open = (await self.clients.matchAll({ includeUncontrolled: true })).map(({ id }) => id);
    const partition = await identityOf(page);
    return changed(core, { do: "control", method, path, body, page, open, partition });
  },
  async online(core) {
    await core.change({ do: "control", method: "POST", path: "/outbox/retry", page: "", open: [] });
    await drain();
  },
  async shell(core, page, { urls }) {
    const cache = await caches.open(SHELL);
    await Promise.all(urls.map(async (url) => {
      if (!await cache.match(url)) await cache.add(new Request(url, { cache: "reload" }));
    }));
  },
  async ping() {
    await drain();
  },
};

function onMessage(event) {
  const { data, source, ports } = event;
  const act = asked[data?.bitsy];
  if (!act || !source?.id) return;
  const answered = (async () => {
    try {
      const core = await opened();
      const value = await act(core, source.id, data);
      ports[0]?.postMessage({ value });
    } catch (error) {
      ports[0]?.postMessage({ failure: error?.message ?? String(error) });
    }
  })();
  event.waitUntil(answered);
}

// The application's own files: the network first, then the copy.
async function keepShell(request, response) {
  if (request.method !== "GET" || !response.ok || response.type === "opaque") return;
  const cache = await caches.open(SHELL);
  const url = plain(request.url);
  if (await cache.match(url)) await cache.put(url, response);
}

async function shellCopy(request) {
  if (request.method !== "GET") return undefined;
  return (await caches.open(SHELL)).match(plain(request.url), { ignoreVary: true });
}
