// Requests of the worker itself: rounds of subscriptions, and edits that wait.

const MAX_RESPONSE = 64 * 1024 * 1024;
// Documents are read into memory.
const MAX_DOCUMENT = 16 * 1024 * 1024;
const UNKNOWN_ELSEWHERE = new Set(["if-none-match", "if-modified-since", "cache-control", "idempotency-key"]);
const REQUEST_TIMEOUT = 5 * 60 * 1000;
const MAX_PAUSE = 30 * 1000;

const running = new Set();
let timer;

// Begins everything that is due, and waits until nothing runs.
async function drain() {
  await begin();
  while (running.size) await Promise.allSettled([...running]);
}

// Begins the requests that are due. Each result may make more requests due, and no request waits for another server.
async function begin() {
  const core = await opened();
  if (core.isRetired) return;
  const { tasks, nextWake } = await core.change({ do: "begin" });
  for (const task of tasks) start(core, task);
  clearTimeout(timer);
  if (nextWake !== null) {
    const pause = Math.min(Math.max(nextWake - Date.now(), 10), MAX_PAUSE);
    timer = setTimeout(() => begin().catch(complain), pause);
  }
  await tell(core);
  await core.sweep();
}

function start(core, task) {
  const done = perform(core, task).then(begin).catch(complain);
  running.add(done);
  done.finally(() => running.delete(done));
}

async function perform(core, task) {
  const { outcome, contents, damaged } = await sent(core, task);
  try {
    await core.change({ do: "finished", id: task.id, ...outcome }, contents);
  } catch (error) {
    if (error instanceof Retired || !contents.length) throw error;
    // The response did not fit into the store.
    await core.change({ do: "finished", id: task.id, noSpace: true });
  }
  // The edit is not under way any more, and becomes an error.
  if (damaged) await core.forget(damaged);
  await tell(core);
}

// Starts the next edit of a queue, if it may leave while the outcome of this one is stored.
async function startNext(core, id, response) {
  const task = await core.next({ do: "next", id, response: statusAndHeaders(response) });
  if (task) start(core, task);
}

async function sent(core, { id, method, url, headers, body, withCredentials, mayRedirect, bodyAfter }) {
  let bytes;
  if (body) {
    const digest = digestOf(body);
    bytes = await core.database.content(digest);
    // An edit whose bytes are gone or damaged is not sent.
    if (bytes === undefined) return { outcome: { noSpace: true }, contents: [], damaged: digest };
  }
  const isRead = method === "GET";
  const wasOnline = self.navigator.onLine;
  const isElsewhere = new URL(url).origin !== self.location.origin;
  // Other servers would have to allow these headers. The browser asks for changes itself.
  const sent = isElsewhere ? headers.filter(([name]) => !UNKNOWN_ELSEWHERE.has(name)) : headers;
  if (bodyAfter) core.database.readAhead(digestOf(bodyAfter));
  let response;
  try {
    response = await fetch(url, {
      method, headers: new Headers(sent), body: bytes, cache: isElsewhere && isRead ? "no-cache" : "no-store",
      // Another origin must not get what was registered for this one.
      redirect: mayRedirect ? redirectOf(method) : "manual",
      credentials: withCredentials ? "include" : "omit", signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
  } catch {
    return { outcome: { perhapsArrived: !isRead && wasOnline }, contents: [] };
  }
  if (!isRead && isRedirected(response)) return { outcome: { perhapsArrived: true }, contents: [] };
  if (!isRead) startNext(core, id, response).catch(complain);
  let answer;
  try {
    const isDocument = /xml|html|text/i.test(response.headers.get("content-type") ?? "xml");
    answer = await bytesOf(response, isDocument ? MAX_DOCUMENT : MAX_RESPONSE);
  } catch {
    if (isRead) return { outcome: { perhapsArrived: true }, contents: [] };
  }
  if (answer === undefined && isRead) return { outcome: { noSpace: true }, contents: [] };
  const content = answer && await received(answer);
  const outcome = { response: { ...statusAndHeaders(response), content: content?.name } };
  return { outcome, contents: content ? [content] : [] };
}
