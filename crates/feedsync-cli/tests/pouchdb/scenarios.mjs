// Unmodified PouchDB as a peer of a hub.
//
//   FEEDSYNC=target/debug/feedsync POUCHDB_MODULES=DIRECTORY node scenarios.mjs [NAME]
//
// FEEDSYNC is the program; DIRECTORY has the node_modules of package.json. Runs the scenarios whose names contain
// NAME, each on a separate database of a hub that is started here. Prints the Test Anything Protocol. SEED selects the
// random edits. With FEEDSYNC_LONG a hub is killed 100 times instead of 20.

import { inspect } from 'node:util';

import { Hub } from './hub.mjs';
import { outcome } from './outcome.mjs';
import { isAway } from './replicas.mjs';
import { Place, scenarios } from './suite.mjs';

import './replicating.mjs';
import './live.mjs';
import './conflicts.mjs';
import './histories.mjs';
import './attachments.mjs';
import './names.mjs';
import './filters.mjs';
import './feeds.mjs';
import './remote.mjs';
import './bulk.mjs';
import './queries.mjs';
import './views.mjs';
import './requested.mjs';
import './values.mjs';
import './checkpoints.mjs';
import './restarts.mjs';
import './kills.mjs';
import './crowds.mjs';
import './replicator.mjs';
import './program.mjs';
import './doors.mjs';
import './elsewhere.mjs';
import './plugin.mjs';
import './upkeep.mjs';
import './notes.mjs';
import './random.mjs';

// The scenario itself detects requests that failed with the hub, so rejections that nothing handles are only printed.
process.on('unhandledRejection', (error) => {
  console.log(`# left behind: ${isAway(error) ? error.message : inspect(error)}`);
});

const [part = ''] = process.argv.slice(2);
const chosen = scenarios.filter(({ name }) => name.includes(part));
const hub = await Hub.start();
console.log(`1..${chosen.length}`);
let failures = 0;
for (const [index, scenario] of chosen.entries()) {
  const { error, took } = await outcome(scenario, new Place(hub));
  console.log(`${error ? 'not ok' : 'ok'} ${index + 1} - ${scenario.name} # ${took} ms`);
  if (error) {
    failures += 1;
    console.log(inspect(error, { depth: 8 }).replaceAll(/^/gm, '    '));
  }
}
hub.remove();
console.log(`# ${chosen.length - failures} of ${chosen.length} hold`);
process.exit(failures ? 1 : 0);
