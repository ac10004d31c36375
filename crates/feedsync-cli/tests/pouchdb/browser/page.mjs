// The page: what a test may ask of it.

import { outcome } from './outcome.mjs';
import { GOES_ON, found, until } from './replicas.mjs';
import { Place, PouchDB, scenarios } from './suite.mjs';

import './replicating.mjs';
import './live.mjs';
import './conflicts.mjs';
import './histories.mjs';
import './blobs.mjs';
import './names.mjs';
import './filters.mjs';
import './feeds.mjs';
import './bulk.mjs';
import './values.mjs';
import './checkpoints.mjs';

/** The names of all scenarios. */
const names = scenarios.map(({ name }) => name);

/** Runs the scenario of that place in the list, and says what went wrong, if anything did. */
async function run(index) {
  const { error } = await outcome(scenarios[index], new Place());
  return error ? `${error.name}: ${error.message} ${error.reason ?? ''}\n${error.stack}` : null;
}

/** A database that stays, and that of the hub. */
const place = Object.assign(new Place(), { name: 'notes' });
const here = new PouchDB('notes', { adapter: 'idb' });
const there = () => place.remote();

/** Replicates both ways, and says what was moved, and after which place changes of the hub were asked for first. */
async function sync() {
  const { remote, requests } = place.watched();
  const { push, pull } = await here.sync(remote);
  const moves = ['/_bulk_docs', '/_bulk_get'];
  return {
    pushed: push.docs_written,
    pulled: pull.docs_written,
    moves: requests.filter(({ path }) => moves.includes(path)).length,
    since: requests.find(({ path }) => path === '/_changes').query.get('since'),
  };
}

/** Begins to replicate both ways, and goes on until the page is left. */
function live() {
  here.sync(there(), GOES_ON);
}

/** Waits for a document. */
function comes(database, id) {
  return until(id, () => found(database, id), 10_000);
}

globalThis.page = { names, run, here, there, sync, live, comes };
