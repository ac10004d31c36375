// Random edits on three replicas, after which all have the same.

import assert from 'node:assert/strict';

import { bytes, dice, found, pull, push, same, settle } from './replicas.mjs';
import { ADAPTERS, scenario } from './suite.mjs';

const SEEDS = process.env.SEED ? [Number(process.env.SEED)] : [1, 2, 3, 4, 5, 6];
const ROUNDS = 25;
const IDS = ['a', 'b', 'c/d', '\u{1f600}', '_design/e'];

for (const seed of SEEDS) {
  scenario(`random edits on three replicas, SEED=${seed}`, async (place) => {
    const roll = dice(seed);
    const one = place.local({ adapter: ADAPTERS[seed % 2] });
    const other = place.local({ adapter: ADAPTERS[(seed + 1) % 2], revs_limit: 20 });
    const hub = place.remote();
    const replicas = [hub, one, other];
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        for (let edits = roll(6); edits > 0; edits -= 1) {
          await anything(replicas[roll(3)], roll, `${round}.${edits}`);
        }
        const client = [one, other][roll(2)];
        await [push, pull][roll(2)](client, hub);
      }
      await settle(hub, one, other);
      await same(hub, one, other);
    } catch (error) {
      error.message = `with SEED=${seed}: ${error.message}`;
      throw error;
    }
  });
}

/** Does something to some document. */
async function anything(replica, roll, text) {
  const id = IDS[roll(IDS.length)];
  const document = await found(replica, id, { conflicts: true });
  const [action, which] = [roll(7), roll(2)];
  if (!document) {
    await replica.put({ _id: id, text });
    return;
  }
  const { _conflicts = [], ...kept } = document;
  switch (action) {
    case 0:
      await replica.remove(document);
      break;
    case 1:
      await replica.putAttachment(id, `data ${which}`, document._rev, bytes(100, which), 'image/png');
      break;
    case 2:
      await replica.put({ _id: id, _rev: document._rev, text });
      break;
    case 3:
      for (const rev of _conflicts) await replica.remove(id, rev);
      break;
    case 4: {
      const [rev] = _conflicts;
      if (rev) await replica.put({ _id: id, _rev: rev, text: `${text} of the loser` });
      break;
    }
    default: {
      const { ok } = await replica.put({ ...kept, text });
      assert.equal(ok, true);
    }
  }
}
