// Messages from a page to its worker.

const MESSAGE_TIMEOUT = 30_000;

/** Sends a message to the worker. Resolves to its answer. */
export async function message(data) {
  const { active, scope } = await navigator.serviceWorker.ready;
  // A page of Firefox may keep a worker that was replaced, which answers nothing. Requests reach the present one.
  if (active.state === "redundant") return requested(data, scope);
  return new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    const late = setTimeout(() => reject(new Error("the worker does not respond")), MESSAGE_TIMEOUT);
    port1.onmessage = ({ data: answer }) => {
      clearTimeout(late);
      port1.close();
      resolve(answer);
    };
    active.postMessage(data, [port2]);
  }).then(valueOf);
}

// Sends a message as a request, which the worker answers itself.
async function requested(data, scope) {
  const signal = AbortSignal.timeout(MESSAGE_TIMEOUT);
  const answer = await fetch(new URL("bitsy-message", scope), { method: "POST", body: JSON.stringify(data), signal })
    .then((response) => response.json())
    .catch(() => { throw new Error("the worker does not respond"); });
  return valueOf(answer);
}

function valueOf({ value, failure }) {
  if (failure !== undefined) throw new Error(failure);
  return value;
}
