// Browsers: Chromium over its own protocol, and Firefox over WebDriver BiDi.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const PROGRAMS = { chrome: "/usr/bin/chromium", firefox: "/usr/bin/firefox-esr" };

export class Browser {
  static async start(kind = "chrome") {
    const browser = new Browser();
    browser.kind = kind;
    browser.profile = await mkdtemp(join(tmpdir(), "feedsync-"));
    await browser.launch();
    return browser;
  }

  async launch() {
    const executablePath = PROGRAMS[this.kind];
    if (!existsSync(executablePath)) throw new Error(`${executablePath} is not installed`);
    const args = this.kind === "chrome" ? ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] : [];
    this.browser = await puppeteer.launch({
      browser: this.kind, executablePath, headless: true, userDataDir: this.profile, args, pipe: this.kind === "chrome",
    });
  }

  async page(url) {
    const page = await this.browser.newPage();
    page.on("console", (message) => {
      if (process.env.FEEDSYNC_TRACE || message.type() === "error") console.log(`[${message.type()}] ${message.text()}`);
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
    await this.launch();
  }

  async close() {
    await this.browser.close();
    await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

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
