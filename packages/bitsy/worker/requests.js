// Requests of pages: answered from the store, queued as edits, or left to the browser.

// Largest body of an edit, in bytes.
const MAX_EDIT = 8 * 1024 * 1024;
const SAFE = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const WITHOUT_BODY = new Set([101, 204, 205, 304]);

const plain = (url) => url.split("#", 1)[0];

// The part of a request that decisions need. Requests with the credentials of a person carry the person's name.
async function head(request, clientId) {
  const { method, credentials, mode } = request;
  const sameOrigin = new URL(request.url).origin === self.location.origin;
  const withCredentials = credentials === "include" || (credentials === "same-origin" && sameOrigin) || mode === "navigate";
  const partition = withCredentials ? await identityOf(clientId) : undefined;
  return { method, url: plain(request.url), headers: [...request.headers], partition };
}

async function respond(event) {
  const { request, clientId, resultingClientId } = event;
  let core;
  try {
    core = await opened();
  } catch (error) {
    complain(error);
    return fetch(request);
  }
  if (core.isRetired) return fetch(request);
  const asked = await head(request, clientId || resultingClientId);
  const decision = await core.read({ do: "request", ...asked });
  if (decision.reply) return reply(core, decision.reply, asked.method);
  if (decision.edit) return edit(event, core, asked);
  return pass(event, core, request, asked);
}

// Sends a request that is left to the browser. If its server cannot be reached, it is decided about again.
async function pass(event, core, request, asked) {
  let response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (error?.name === "AbortError") throw error;
    await core.read({ do: "reached", url: asked.url, did: false });
    if (!SAFE.has(asked.method)) await core.change({ do: "passed", ...asked });
    const decision = await core.read({ do: "request", ...asked });
    if (decision.reply) return reply(core, decision.reply, asked.method);
    return (await shellCopy(request)) ?? Response.error();
  }
  if (!SAFE.has(asked.method)) {
    const { status, headers } = response;
    const told = { status: status || 200, headers: [...headers] };
    event.waitUntil(changed(core, { do: "passed", ...asked, response: told }));
  }
  event.waitUntil(core.read({ do: "reached", url: asked.url, did: true }));
  event.waitUntil(keepShell(request, response.clone()));
  return response;
}

// Takes an edit: stored and acknowledged, or sent while the page waits.
async function edit(event, core, asked) {
  const body = asked.method === "DELETE" ? null : await bytesOf(event.request, MAX_EDIT);
  if (body === undefined) {
    return problem(413, `an edit has at most ${MAX_EDIT} bytes`);
  }
  const content = body && await received(body);
  const command = { do: "edit", ...asked, content: content?.name };
  return locked(asked.url, async () => {
    let taken;
    try {
      taken = await changed(core, command, content ? [content] : []);
    } catch (error) {
      complain(error);
      return problem(507, "the edit cannot be stored in this browser, and was not sent");
    }
    if (taken.reply) return reply(core, taken.reply, asked.method);
    if (taken.pass) {
      return pass(event, core, new Request(event.request, body ? { body } : {}), asked);
    }
    return forward(event, core, taken.forward, body);
  });
}

// Sends an edit while its page waits. What became of it is stored, whatever the page does.
async function forward(event, core, { id, url, headers }, body) {
  const { request } = event;
  const told = async () => {
    let response;
    try {
      response = await fetch(url, {
        method: request.method, headers: new Headers(headers), body: body ?? undefined, credentials: request.credentials,
        cache: "no-store",
      });
    } catch {
      const outcome = { do: "forwarded", id, perhapsArrived: self.navigator.onLine };
      return { told: await changed(core, outcome) };
    }
    const bytes = await bytesOf(response, MAX_EDIT).catch(() => undefined);
    const content = bytes && await received(bytes);
    const { status } = response;
    const outcome = { status, headers: [...response.headers], content: content?.name };
    const command = { do: "forwarded", id, response: outcome };
    return { told: await changed(core, command, content ? [content] : []), response, bytes };
  };
  const sending = told();
  event.waitUntil(sending.catch(complain));
  const { told: result, response, bytes } = await sending;
  if (result?.reply) return reply(core, result.reply, request.method);
  if (!response) return Response.error();
  const { status, statusText, headers: had } = response;
  return new Response(WITHOUT_BODY.has(status) ? null : bytes, { status, statusText, headers: had });
}

// A response of the store.
async function reply(core, { status, headers, body }, method) {
  const sent = new Headers(headers);
  if (WITHOUT_BODY.has(status)) return new Response(null, { status, headers: sent });
  let bytes = null;
  if (body?.text !== undefined) bytes = body.text;
  else if (body?.composed !== undefined) bytes = core.decisions.takeComposed();
  else if (body?.content) {
    bytes = await core.database.body(body.content);
    if (bytes === undefined) {
      await core.lost(body.content).catch(complain);
      return problem(504, "the stored response is gone");
    }
  }
  if (body?.length !== undefined || body?.composed !== undefined) {
    sent.set("content-length", String(body.length ?? body.composed));
  }
  return new Response(method === "HEAD" ? null : bytes, { status, headers: sent });
}

function problem(status, detail) {
  const headers = { "content-type": "application/problem+json", "cache-control": "no-store" };
  return new Response(JSON.stringify({ title: "Not possible in this browser", status, detail }), { status, headers });
}

// The bytes of a body, or undefined if there are more than the limit.
async function bytesOf(source, limit) {
  if (!source.body?.getReader) {
    const bytes = new Uint8Array(await source.arrayBuffer());
    return bytes.byteLength > limit ? undefined : bytes;
  }
  const reader = source.body.getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    length += value.byteLength;
    if (length > limit) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    parts.push(value);
  }
  const bytes = new Uint8Array(length);
  parts.reduce((at, part) => (bytes.set(part, at), at + part.byteLength), 0);
  return bytes;
}

// Edits of one address come one after the other.
const locks = new Map();
function locked(url, act) {
  const before = locks.get(url) ?? Promise.resolve();
  const done = before.then(act);
  const settled = done.then(() => {}, () => {});
  locks.set(url, settled);
  settled.then(() => {
    if (locks.get(url) === settled) locks.delete(url);
  });
  return done;
}
