// Requests of pages: answered from the store, queued as edits, or left to the browser.

// Largest body of an edit, in bytes.
const MAX_EDIT = 8 * 1024 * 1024;
const FORWARD_TIMEOUT = 60 * 1000;
const SAFE = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const WITHOUT_BODY = new Set([101, 204, 205, 304]);

const plain = (url) => url.split("#", 1)[0];

// The part of a request that decisions need. Requests with the credentials of a person carry the person's name.
async function head(request, clientId) {
  const { method, credentials, mode } = request;
  const sameOrigin = new URL(request.url).origin === self.location.origin;
  const withCredentials = credentials === "include" || (credentials === "same-origin" && sameOrigin) || mode === "navigate";
  const partition = withCredentials ? await identityOf(clientId) ?? "" : undefined;
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
  let asked;
  let decision;
  try {
    asked = await head(request, clientId || resultingClientId);
    decision = await core.read({ do: "request", ...asked });
  } catch (error) {
    complain(error);
    core.isReplaced ||= error instanceof WebAssembly.RuntimeError;
    return fetch(request);
  }
  if (decision.reply) {
    const copy = decision.reply.status === 504 ? await shellCopy(request) : undefined;
    return copy ?? reply(core, decision.reply, asked);
  }
  if (decision.edit) return edit(event, core, asked, decision.location);
  return pass(event, core, request, asked, decision.isKnown);
}

// Sends a request that is left to the browser. If its server cannot be reached, it is decided about again. A request for
// an address that no subscription knows fails as it would without a worker.
async function pass(event, core, request, asked, isKnown) {
  let response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (error?.name === "AbortError") throw error;
    if (isKnown) await core.read({ do: "reached", url: asked.url, did: false });
    if (!SAFE.has(asked.method)) await core.change({ do: "passed", ...asked });
    const decision = isKnown ? await core.read({ do: "request", ...asked }) : {};
    if (decision.reply) return reply(core, decision.reply, asked);
    const copy = await shellCopy(request);
    if (copy) return copy;
    return isKnown ? problem(504, "the server cannot be reached, and the resource is not stored here") : Response.error();
  }
  // The page gets its response, whatever happens here.
  try {
    if (!SAFE.has(asked.method)) {
      const { status, headers } = response;
      const told = { status: status || 200, headers: [...headers] };
      event.waitUntil(changed(core, { do: "passed", ...asked, response: told }).catch(complain));
    }
    if (isKnown) {
      const wasAway = await core.read({ do: "reached", url: asked.url, did: true });
      if (wasAway) begin().catch(complain);
    }
    if (await isShell(request)) event.waitUntil(keepShell(request, response.clone()).catch(complain));
  } catch (error) {
    complain(error);
  }
  return response;
}

// Takes an edit: stored and acknowledged, or sent while the page waits.
async function edit(event, core, asked, location) {
  const body = asked.method === "DELETE" ? null : await bytesOf(event.request, MAX_EDIT);
  if (body === undefined) {
    return problem(413, `an edit has at most ${MAX_EDIT} bytes`);
  }
  const content = body && { ...await received(body), isEdit: true };
  const page = event.clientId || event.resultingClientId;
  const command = { do: "edit", ...asked, content: content?.name, page };
  return locked(location ?? asked.url, async () => {
    let taken;
    try {
      taken = await changed(core, command, content ? [content] : []);
    } catch (error) {
      complain(error);
      if (core.isRetired) return fetch(new Request(event.request, body ? { body } : {}));
      return problem(507, "the edit cannot be stored in this browser, and was not sent");
    }
    if (taken.reply) {
      // Chromium wakes the worker for this even if no page is open.
      self.registration.sync?.register("bitsy").catch(() => {});
      return reply(core, taken.reply, asked);
    }
    if (taken.pass) {
      return pass(event, core, new Request(event.request, body ? { body } : {}), asked, true);
    }
    return forward(event, core, taken.forward, body);
  });
}

// Sends an edit while its page waits. What became of it is stored, whatever the page does.
async function forward(event, core, { id, url, headers }, body) {
  const { request } = event;
  const told = async () => {
    const wasOnline = self.navigator.onLine;
    let response;
    try {
      response = await fetch(url, {
        method: request.method, headers: new Headers(headers), body: body ?? undefined, credentials: request.credentials,
        cache: "no-store", redirect: redirectOf(request.method), signal: AbortSignal.timeout(FORWARD_TIMEOUT),
      });
    } catch {
      return { told: await changed(core, { do: "forwarded", id, perhapsArrived: wasOnline }) };
    }
    if (isRedirected(response)) return { told: await changed(core, { do: "forwarded", id, perhapsArrived: true }) };
    const bytes = await bytesOf(response, MAX_RESPONSE).catch(() => undefined);
    const content = bytes && await received(bytes);
    const outcome = { ...statusAndHeaders(response), content: content?.name };
    const command = { do: "forwarded", id, response: outcome };
    // The server has answered, so the page learns of it even if the result cannot be stored.
    const told = await changed(core, command, content ? [content] : []).catch(complain);
    return { told, response, bytes };
  };
  const sending = told();
  event.waitUntil(sending.catch(complain));
  const { told: result, response, bytes } = await sending;
  if (result?.reply) return reply(core, result.reply, request);
  if (!response) return Response.error();
  const { status, statusText, headers: had } = response;
  if (bytes === undefined && !WITHOUT_BODY.has(status)) return Response.error();
  return new Response(WITHOUT_BODY.has(status) ? null : bytes, { status, statusText, headers: had });
}

// A browser turns a redirected POST into a GET, whose success would say nothing of the edit.
const redirectOf = (method) => (method === "POST" ? "manual" : "follow");

// Whether the response to an edit may be that of another request. A browser follows a redirection with GET, or hides it, and
// its success says nothing of the edit. So the edit is looked for at the server.
const isRedirected = ({ redirected, type }) => redirected || type === "opaqueredirect";

// Status and headers of a response, for commands. A redirection that a browser hides counts as one without an address.
// The address of a response that came from elsewhere is the base of its links.
function statusAndHeaders(response) {
  const { status, headers, redirected, type, url } = response;
  const named = [...headers];
  if (redirected && !headers.has("content-location")) named.push(["content-location", plain(url)]);
  return { status: type === "opaqueredirect" ? 301 : status, headers: named };
}

// A response of the store: whole, in part, or without a body, as was decided.
async function reply(core, { status, headers, body, part }, { method }) {
  const sent = new Headers(headers);
  if (WITHOUT_BODY.has(status)) return new Response(null, { status, headers: sent });
  if (body?.length !== undefined || body?.composed !== undefined) {
    sent.set("content-length", String(body.length ?? body.composed));
  }
  let bytes = null;
  if (body?.text !== undefined) bytes = body.text;
  else if (body?.composed !== undefined) bytes = core.decisions.takeComposed();
  else if (body?.content) {
    bytes = await core.database.content(body.content);
    if (bytes === undefined) {
      await core.forget(body.content).catch(complain);
      drain().catch(complain);
      return problem(504, "the stored response is gone, and is fetched again");
    }
  }
  if (part) {
    bytes = new Uint8Array(await new Response(bytes).arrayBuffer()).subarray(...part);
    sent.set("content-length", String(bytes.byteLength));
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
