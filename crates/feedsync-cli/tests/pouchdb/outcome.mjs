// What becomes of a scenario.

/** How long one may take that does not say so itself. */
const LIMIT = 20_000;

/** Runs a scenario, and ends what goes on in its place: what went wrong, and how many milliseconds it took. */
export async function outcome({ run, limit = LIMIT }, place) {
  const began = Date.now();
  const error = await within(limit, () => run(place));
  const took = Date.now() - began;
  await within(LIMIT, () => place.close());
  return { error, took };
}

/** What went wrong; too much time is wrong, too. */
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
