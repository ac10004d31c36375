// Outcome of a scenario.

/** Default time limit of a scenario, in milliseconds. */
const LIMIT = 20_000;

/** Runs a scenario and ends its activities; returns its error and its duration in milliseconds. */
export async function outcome({ run, limit = LIMIT }, place) {
  const began = Date.now();
  const error = await within(limit, () => run(place));
  const took = Date.now() - began;
  await within(LIMIT, () => place.close());
  return { error, took };
}

/** Returns the error; exceeding the time limit is one, too. */
async function within(limit, run) {
  let late;
  const end = new Promise((_, fail) => {
    late = setTimeout(() => fail(new Error(`took more than ${limit} ms`)), limit);
  });
  try {
    await Promise.race([run(), end]);
  } catch (error) {
    return error ?? new Error('failed without a reason');
  } finally {
    clearTimeout(late);
  }
}
