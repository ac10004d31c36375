// The page, and the functions that tests call in it.

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

/** Names of all scenarios. */
const names = scenarios.map(({ name }) => name);

/** Runs the scenario at this index; returns its error as text, or null. */
async function run(index) {
  const { error } = await outcome(scenarios[index], new Place());
  return error ? `${error.name}: ${error.message} ${error.reason ?? ''}\n${error.stack}` : null;
}

/** A persistent database, and the database of the hub. */
const place = Object.assign(new Place(), { name: 'notes' });
const here = new PouchDB('notes', { adapter: 'idb' });
const there = () => place.remote();

/**
 * Replicates in both directions. Returns counts of moved documents and of requests that move them, and the first
 * `since` that was sent to the hub.
 */
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

/** Starts to replicate continuously in both directions, until the page is left. */
function live() {
  here.sync(there(), GOES_ON);
}

/** Waits until a document exists. */
function comes(database, id) {
  return until(id, () => found(database, id), 10_000);
}

globalThis.page = { names, run, here, there, sync, live, comes };
