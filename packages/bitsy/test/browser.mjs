// Browsers: Chromium over its own protocol, and Firefox over WebDriver BiDi.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";
import { endLast } from "./left.mjs";

const PROGRAMS = { chrome: "/usr/bin/chromium", firefox: "/usr/bin/firefox-esr" };

export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class Browser {
  static async start(kind = "chrome") {
    const browser = new Browser();
    browser.kind = kind;
    browser.profile = await mkdtemp(join(tmpdir(), "bitsy-"));
    await browser.launch();
    return browser;
  }

  async launch() {
    const executablePath = PROGRAMS[this.kind];
    if (!existsSync(executablePath)) throw new Error(`${executablePath} is not installed`);
    const args = this.kind === "chrome" ? ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] : [];
    const options = {
      browser: this.kind, executablePath, headless: true, userDataDir: this.profile, args, pipe: this.kind === "chrome",
    };
    for (let attempts = 1; ; attempts += 1) {
      try {
        this.browser = await puppeteer.launch(options);
        const child = this.browser.process();
        endLast(() => child.kill("SIGKILL"));
        return;
      } catch (error) {
        if (attempts === 5) throw error;
        await pause(500);
      }
    }
  }

  async page(url) {
    const page = await this.browser.newPage();
    page.on("console", (message) => {
      if (process.env.BITSY_TRACE || message.type() === "error") console.log(`[${message.type()}] ${message.text()}`);
    });
    page.on("pageerror", (error) => console.log(`[page] ${error.message}`));
    await page.goto(url);
    return page;
  }

  // Ends the browser without a warning, and starts it again with the same profile.
  async kill() {
    const process = this.browser.process();
    const ended = new Promise((resolve) => process.once("exit", resolve));
    process.kill("SIGKILL");
    await ended;
    // The former launcher puts the profile of Firefox back into its former state.
    if (this.kind === "firefox") await pause(300);
    await this.launch();
  }

  async close() {
    await this.browser.close();
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

// A function that stops the workers of a page, without ending the browser (Chromium).
export async function stopper(page) {
  const session = await page.createCDPSession();
  const running = new Map();
  session.on("ServiceWorker.workerVersionUpdated", ({ versions }) => {
    for (const { versionId, runningStatus } of versions) running.set(versionId, runningStatus);
  });
  await session.send("ServiceWorker.enable");
  return async () => {
    for (const versionId of running.keys()) await session.send("ServiceWorker.stopWorker", { versionId }).catch(() => {});
  };
}

// Registers the worker, and waits until it controls the page.
export async function register(page) {
  await page.evaluate(async () => {
    await navigator.serviceWorker.register("/bitsy-worker.js");
    await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller) {
      await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve, { once: true }));
    }
  });
}

// Sends a message to the worker, and returns its answer. A worker that ends meanwhile gives none.
export function ask(page, message) {
  return page.evaluate((data) => new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    setTimeout(() => reject(new Error("the worker does not respond")), 10_000);
    port1.onmessage = ({ data: { value, failure } }) => failure ? reject(new Error(failure)) : resolve(value);
    navigator.serviceWorker.controller.postMessage(data, [port2]);
  }), message);
}

export const control = (page, method, path, body) => ask(page, { bitsy: "ask", method, path, body });

// Sends a request of the page, and returns its status, its headers and its text.
export function send(page, method, url, body) {
  return page.evaluate(async (method, url, body) => {
    const headers = body ? { "content-type": "application/atom+xml;type=entry" } : {};
    const response = await fetch(url, { method, headers, body });
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
  }, method, url, body);
}

// Sends a request with these headers and without a body, past the HTTP cache. Returns what `send` does.
export const fetched = (page, method, url, headers = {}) => page.evaluate(async (method, url, headers) => {
  const response = await fetch(url, { method, headers, cache: "no-store" });
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
}, method, url, headers);

export async function until(what, ask, timeout = 20_000) {
  const end = Date.now() + timeout;
  let last;
  for (;;) {
    try {
      last = await ask();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what} does not come: ${last?.message ?? JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
