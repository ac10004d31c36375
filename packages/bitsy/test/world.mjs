// A page whose collection is stored, and what tests do with it.

import assert from "node:assert/strict";
import { ask, control, register, send, until } from "./browser.mjs";
import { Origin, entry, titlesOf } from "./origin.mjs";

export const KINDS = (process.env.BITSY_BROWSERS ?? "chrome,firefox").split(",");

export class World {
  // Starts an origin with entries of these titles, and a page that has stored all of them.
  static async start(browser, titles = ["a", "b"], html = undefined) {
    const origin = await Origin.start(html);
    for (const title of titles) origin.entries.set(`/entry/${title}`, entry(title));
    return World.with(browser, origin);
  }

  // Opens a page of this origin that has stored all its entries.
  static async with(browser, origin) {
    const world = new World();
    Object.assign(world, { browser, origin });
    await world.open();
    const { status, body } = await world.control("POST", "/subscriptions", { feed: world.feed, follows: ["edit"] });
    assert.equal(status, 201, JSON.stringify(body));
    await world.stored();
    return world;
  }

  get feed() { return this.origin.url + this.origin.feedPath; }

  at(path) { return this.origin.url + path; }

  // Opens a page of the application that the worker controls.
  async open() {
    this.page = await this.browser.page(`${this.origin.url}/`);
    await register(this.page);
    await ask(this.page, { bitsy: "shell", urls: [`${this.origin.url}/`] });
    return this.page;
  }

  control(method, path, body) { return control(this.page, method, path, body); }

  send(method, path, body) { return send(this.page, method, this.at(path), body); }

  async outbox() { return (await this.control("GET", "/outbox")).body; }

  async errors() { return (await this.control("GET", "/errors")).body; }

  // Titles of the feed, as the page sees it.
  async titles() { return titlesOf((await this.send("GET", "/feed")).text).sort(); }

  stored() {
    return until("the first round", async () => {
      const { body } = await this.control("GET", "/subscriptions");
      return body.length > 0 && body.every(({ state }) => state === "WAITING");
    });
  }

  async online() {
    if (!this.origin.server.listening) await this.origin.listen();
    await ask(this.page, { bitsy: "online" });
  }

  async offline() { await this.origin.stop(); }

  // Waits until all edits have left.
  delivered() { return until("the empty outbox", async () => (await this.outbox()).length === 0, 60_000); }

  async end() {
    await this.page.close();
    if (this.origin.server.listening) await this.origin.stop();
    await this.origin.end();
  }
}
