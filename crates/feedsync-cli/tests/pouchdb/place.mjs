// Where a scenario runs: a database of a hub, and clients.

let places = 0;

export class Place {
  constructor(hub, PouchDB) {
    this.hub = hub;
    this.PouchDB = PouchDB;
    this.number = ++places;
    this.name = `scenario-${this.number}`;
    this.clients = [];
    this.activities = [];
  }

  /** Where the database is. */
  get address() {
    return `${this.hub.base}/${this.name}`;
  }

  /** What a client is told of where it is. */
  get url() {
    return this.address;
  }

  /** A client that keeps its documents on this side. */
  local(options = {}) {
    const client = new this.PouchDB(`client-${this.number}-${this.clients.length}`, {
      adapter: this.adapter,
      ...options,
    });
    this.clients.push(client);
    return client;
  }

  /** The database of the hub, as a client sees it. */
  remote(options = {}) {
    return new this.PouchDB(this.url, options);
  }

  /** The same, and what it asks of the hub: method, path below the database, query and body. */
  watched(options = {}) {
    const requests = [];
    const fetch = async (url, init) => {
      const { pathname, searchParams: query } = new URL(url);
      const path = decodeURIComponent(pathname).split(`/${this.name}`)[1] ?? pathname;
      const request = { method: init?.method ?? 'GET', path, query, body: init?.body };
      requests.push(request);
      const answer = await this.PouchDB.fetch(url, init);
      request.status = answer.status;
      return answer;
    };
    return { remote: this.remote({ ...options, fetch }), requests };
  }

  /** A request as it stands, without a client: what it says is JSON text. */
  async raw(method, path, body, headers = {}) {
    const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
    const accept = { accept: 'application/json' };
    const answer = await fetch(this.address + path, {
      method,
      body,
      headers: { ...accept, ...type, ...headers },
    });
    const text = await answer.text();
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      // It is something else.
    }
    return { status: answer.status, headers: answer.headers, text, value };
  }

  /** Something that goes on until the scenario ends: a replication or a feed of changes. */
  while(activity) {
    activity.catch?.(() => {});
    this.activities.push(activity);
    return activity;
  }

  async close() {
    for (const activity of this.activities) activity.cancel();
    for (const client of this.clients) await client.destroy().catch(() => {});
  }
}
