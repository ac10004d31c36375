// Environment of a scenario: a database of a hub, and clients.

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

  /** Address of the database. */
  get address() {
    return `${this.hub.base}/${this.name}`;
  }

  /** Address of the database as a client uses it. */
  get url() {
    return this.address;
  }

  /** Creates a client with a local database. */
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

  /** The database of the hub with a record of the requests: method, path below the database, query and body. */
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

  /** Sends a request without a client; a body that is a string is JSON. */
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
      // The body is not JSON.
    }
    return { status: answer.status, headers: answer.headers, text, value };
  }

  /** Registers an activity that ends with the scenario: a replication or a changes feed. */
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
