// Requests to a collection of a hub.

import { Denied, HubFailed, Invalid, NotFound, Offline } from "./errors.mjs";

/** Maximum size of a response, in bytes. */
const MAX_BYTES = 64 << 20;
/** Maximum number of items of a page. */
const PAGE_ITEMS = 500;
/** Time after which a request without a response ends, in milliseconds. */
const TIMEOUT = 60_000;

export class Hub {
  #fetch;
  #headers;
  #signal;

  constructor(address, fetch, { headers = {}, signal } = {}) {
    const url = parsed(address);
    this.address = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
    this.#fetch = fetch;
    this.#headers = headers;
    this.#signal = signal;
  }

  /** The page of changes after a position; undefined if there are none. */
  async changes(since, etag) {
    const query = new URLSearchParams({ since, limit: PAGE_ITEMS });
    return this.read(`${this.address}/changes?${query}`, etag);
  }

  /** Address of the first part of the complete feed. */
  complete() {
    return `${this.address}/complete?limit=${PAGE_ITEMS}`;
  }

  async read(address, etag) {
    const response = await this.#request(address, { headers: etag ? { "if-none-match": etag } : {}, cache: "no-store" });
    if (response.status === 304) return undefined;
    if (!response.ok) throw await failed(response, this.address);
    const text = await textOf(response, this.address);
    const document = json(text, this.address);
    const window = document.sharing;
    if (typeof window?.until !== "string" || typeof window.since !== "string") throw this.#noHub("the feed has no window");
    const next = document.links?.find?.(({ rel }) => rel === "next")?.href;
    if (next !== undefined && !this.#isOwn(next)) throw this.#noHub("its pages lead to another server");
    return { text, window, next, etag: response.headers.get("etag") ?? undefined };
  }

  /** Ids of the items in a document. */
  idsOf(text) {
    const { items } = json(text, this.address);
    if (!Array.isArray(items)) throw this.#noHub("the feed has no items");
    return items.map((item) => item?.sync?.id).filter((id) => typeof id === "string");
  }

  /** Sends items. Returns the outcome of each, or why the hub did not take them. */
  async send(records) {
    const body = `{"items":[${records.map(({ text }) => text).join(",\n")}]}`;
    const headers = { "content-type": "application/json" };
    const response = await this.#request(`${this.address}/changes`, { method: "POST", headers, body });
    if (response.ok) {
      const answer = json(await textOf(response, this.address), this.address);
      if (typeof answer.since !== "string" || typeof answer.until !== "string") throw this.#noHub("the response has no window");
      return { ...answer, items: Array.isArray(answer.items) ? answer.items : [] };
    }
    const error = await failed(response, this.address);
    const hasReason = error.detail !== undefined;
    if (response.status === 413) return { isTooLarge: true };
    if ([400, 422].includes(response.status) && hasReason) return { refusal: error.detail };
    if ((response.status === 403 && hasReason) || [405, 415, 501].includes(response.status)) return { readOnly: error.message };
    throw error;
  }

  async #request(address, { headers, ...options }) {
    const signals = [AbortSignal.timeout(TIMEOUT), this.#signal].filter(Boolean);
    const request = {
      ...options, headers: { accept: "application/json", ...this.#headers, ...headers }, signal: AbortSignal.any(signals),
    };
    try {
      return await this.#fetch(address, request);
    } catch (error) {
      if (this.#signal?.aborted) throw error;
      throw new Offline(`${this.address} does not respond: ${error.cause?.message ?? error.message}`, { cause: error });
    }
  }

  #isOwn(next) {
    return URL.canParse(next) && next.startsWith(`${this.address}/`);
  }

  #noHub(reason) {
    return new HubFailed(`${this.address} did not answer as a hub does: ${reason}`);
  }
}

function parsed(address) {
  if (!URL.canParse(address, globalThis.location?.href)) throw new Invalid(`${JSON.stringify(address)} is no address`);
  const url = new URL(address, globalThis.location?.href);
  if (!["http:", "https:"].includes(url.protocol)) throw new Invalid("the address of a hub begins with http:// or https://");
  if (url.username || url.password) throw new Invalid("an address has no password: use the option headers");
  return url;
}

/** The text of a response, of a bounded size. */
async function textOf(response, address) {
  const [parts, decoder] = [[], new TextDecoder("utf-8", { fatal: true })];
  let size = 0;
  try {
    for (const reader = response.body.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > MAX_BYTES) {
        await reader.cancel();
        throw new HubFailed(`${address} sent more than ${MAX_BYTES} bytes`);
      }
      parts.push(decoder.decode(value, { stream: true }));
    }
    parts.push(decoder.decode());
  } catch (error) {
    if (error instanceof HubFailed) throw error;
    throw new Offline(`the response of ${address} ended too early: ${error.message}`, { cause: error });
  }
  return parts.join("");
}

function json(text, address) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new HubFailed(`${address} did not answer as a hub does: ${error.message}`, { cause: error });
  }
}

/** The error for a response that is not successful. Its `detail` is the reason that a hub gives. */
async function failed(response, address) {
  let detail;
  try {
    const problem = JSON.parse(await textOf(response, address));
    detail = problem.detail ?? problem.title;
  } catch {
    // A proxy answers with other documents.
  }
  const text = `${address}: ${response.status} ${response.statusText}${detail ? `: ${detail}` : ""}`;
  const [{ status }, pause] = [response, Number(response.headers.get("retry-after"))];
  const kind = { 401: Denied, 403: Denied, 404: NotFound, 410: NotFound }[status] ?? HubFailed;
  const error = new kind(text, pause > 0 ? { retryAfter: pause } : {});
  error.detail = detail;
  return error;
}
