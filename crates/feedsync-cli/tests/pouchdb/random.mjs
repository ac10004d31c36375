// Random edits on three replicas, which are equal in the end.

import { anything, dice, pull, push, same, settle } from './replicas.mjs';
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
          await anything(replicas[roll(3)], IDS, roll, `${round}.${edits}`);
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
