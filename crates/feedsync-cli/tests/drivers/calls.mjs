// Checks of calls of a driver, which are printed in the Test Anything Protocol.

import { createInterface } from 'node:readline';
import { inspect } from 'node:util';

const counts = { ok: 0, failed: 0 };

function report(name, error) {
  counts[error === undefined ? 'ok' : 'failed'] += 1;
  console.log(`${error === undefined ? 'ok' : 'not ok'} ${counts.ok + counts.failed} - ${name}`);
  if (error !== undefined) console.log(inspect(error, { depth: 4 }).replaceAll(/^/gm, '    '));
}

/** The call must succeed. Returns its result. */
export async function works(name, call) {
  try {
    const result = await call();
    report(name);
    return result;
  } catch (error) {
    report(name, error ?? new Error('failed without a reason'));
  }
}

/** The call must fail with this status and a reason that the pattern matches. */
export async function refused(name, status, pattern, call) {
  let result;
  try {
    result = await call();
  } catch (error) {
    const reason = `${error.error ?? ''} ${error.reason ?? ''} ${error.message ?? ''}`;
    const isExpected = (error.statusCode ?? error.status) === status && pattern.test(reason);
    return report(name, isExpected ? undefined : error);
  }
  report(name, new Error(`the call succeeds: ${inspect(result)}`));
}

/** Repeats a check until its result is true. */
export async function until(what, check, limit = 20_000) {
  const end = Date.now() + limit;
  while (!await check()) {
    if (Date.now() > end) throw new Error(`${what} takes more than ${limit} ms`);
    await new Promise((later) => setTimeout(later, 50));
  }
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks the test, which started this program, for a change of the hub, and waits until it is made. */
export async function change(what) {
  console.log(`# ${what}`);
  const { done } = await lines.next();
  if (done) throw new Error('the test has ended');
}

/** Prints the counts, and ends the program. */
export function end() {
  console.log(`# ${counts.ok} of ${counts.ok + counts.failed} hold`);
  process.exit(counts.failed === 0 ? 0 : 1);
}
