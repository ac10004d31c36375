// Requests of the worker itself: rounds of subscriptions, and edits that wait.

const MAX_RESPONSE = 64 * 1024 * 1024;
const REQUEST_TIMEOUT = 5 * 60 * 1000;
const MAX_PAUSE = 30 * 1000;

let draining = null;
let again = false;
let timer;

// Does everything that is due. Called again while it runs, it looks once more.
function drain() {
  again = true;
  draining ??= (async () => {
    try {
      while (again) {
        again = false;
        await round();
      }
    } finally {
      draining = null;
    }
  })();
  return draining;
}

async function round() {
  const core = await opened();
  if (core.isRetired) return;
  const { tasks, nextWake } = await core.change({ do: "begin" });
  await tell(core);
  clearTimeout(timer);
  if (nextWake !== null) {
    const pause = Math.min(Math.max(nextWake - Date.now(), 10), MAX_PAUSE);
    timer = setTimeout(() => drain().catch(complain), pause);
  }
  // Each result may make more requests due, so that nothing waits for the slowest one.
  await Promise.all(tasks.map(async (task) => {
    await perform(core, task);
    const { tasks: more } = await core.change({ do: "begin" });
    await Promise.all(more.map((next) => follow(core, next)));
  }));
}

async function follow(core, task) {
  let next = [task];
  while (next.length) {
    const [first, ...others] = next;
    const rest = others.map((other) => follow(core, other));
    await perform(core, first);
    ({ tasks: next } = await core.change({ do: "begin" }));
    await Promise.all(rest);
  }
}

async function perform(core, task) {
  const { outcome, contents } = await sent(core, task);
  try {
    await core.change({ do: "finished", id: task.id, ...outcome }, contents);
  } catch (error) {
    if (error instanceof Retired || !contents.length) throw error;
    // The response did not fit into the store.
    await core.change({ do: "finished", id: task.id, noSpace: true });
  }
  await tell(core);
}

async function sent(core, { method, url, headers, body, withCredentials }) {
  let bytes;
  if (body) {
    bytes = await core.database.content(body.split(" ", 1)[0]);
    // Bytes that are gone are not sent. The core learns of it when it needs them.
    if (bytes === undefined) return { outcome: { noSpace: true }, contents: [] };
  }
  const isRead = method === "GET";
  let response;
  try {
    response = await fetch(url, {
      method, headers: new Headers(headers), body: bytes, cache: "no-store", redirect: "follow",
      credentials: withCredentials ? "include" : "omit", signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });
  } catch {
    return { outcome: { perhapsArrived: !isRead && self.navigator.onLine }, contents: [] };
  }
  const { status } = response;
  const told = [...response.headers];
  let answer;
  try {
    answer = await bytesOf(response, MAX_RESPONSE);
  } catch {
    if (isRead) return { outcome: { perhapsArrived: true }, contents: [] };
  }
  if (answer === undefined && isRead) return { outcome: { noSpace: true }, contents: [] };
  const content = answer && await received(answer);
  const outcome = { response: { status, headers: told, content: content?.name } };
  return { outcome, contents: content ? [content] : [] };
}
