// Runs commands of the decision core: loads what they lack, and commits what they write.

const SWEEP_LIMIT = 200;
const SWEEP_INTERVAL = 10 * 60 * 1000;
// Documents up to this size are given to the core when they arrive, because it reads them at once.
const READ_AT_ONCE = 1024 * 1024;

// A command that cannot be read. It has changed nothing.
class Invalid extends Error {}

// Stored data that the command needs are damaged: rows with these keys, or the bytes with this digest.
class Damage extends Error {
  constructor({ keys, digest }) {
    super(keys ? `stored rows are damaged: ${keys.join(", ")}` : `the stored bytes ${digest} are gone or damaged`);
    Object.assign(this, { keys, digest });
  }
}
// Number of times that damage is handled for one command.
const MAX_REPAIRS = 20;

class Core {
  static async open() {
    const Decisions = await decisions();
    const database = await Database.open(Decisions);
    const core = new Core(database, new Decisions(JSON.stringify(await database.state())));
    const open = await self.clients.matchAll({ includeUncontrolled: true });
    await database.forgetPages(new Set(open.map(({ id }) => id)));
    return core;
  }

  constructor(database, decisions) {
    this.database = database;
    this.decisions = decisions;
    this.last = Promise.resolve();
    // Received contents of the running command, which are stored with its step.
    this.incoming = new Map();
    this.swept = 0;
    // Whether the decisions may be ahead of what is stored.
    this.isAhead = false;
  }

  // Whether this instance leaves everything to the browser.
  get isRetired() {
    return this.isReplaced || this.database.isClosed;
  }

  // Runs a command that changes nothing.
  read(command) {
    return repairing(() => this.result(fixed(command)), (damage) => this.exclusively(() => this.repair(damage)));
  }

  // Runs a command that may change something, after all earlier ones. It is committed when the promise is fulfilled.
  change(command, contents = []) {
    return this.exclusively(() => repairing(() => this.commit(command, contents), (damage) => this.repair(damage)));
  }

  // The edit that may leave next; null if there is none. Nothing is committed for it.
  async next(command) {
    return this.isAhead || this.isRetired ? null : this.result(fixed(command));
  }

  async commit(command, contents) {
    if (this.isAhead) await this.restore();
    this.incoming = new Map(contents.map(({ digest, bytes }) => [digest, bytes]));
    for (const [digest, bytes] of this.incoming) {
      if (bytes.byteLength <= READ_AT_ONCE) this.decisions.keepContent(digest, bytes);
    }
    try {
      const { result, writes } = await this.whole(fixed(command));
      if (writes || contents.length) {
        await this.database.commit(writes ?? { rows: [], isDurable: false }, contents);
      }
      await this.result(fixed({ do: "committed" }));
      return result;
    } catch (error) {
      if (error instanceof Invalid) throw error;
      this.isReplaced ||= error instanceof Retired || error instanceof WebAssembly.RuntimeError;
      this.isAhead = true;
      if (!this.isRetired) await this.restore().catch(complain);
      throw error;
    } finally {
      this.incoming = new Map();
    }
  }

  // Sets damaged rows aside, or treats what had damaged bytes as never stored: a response is fetched again, and an edit
  // becomes an error. To be called while no other command runs.
  async repair(damage) {
    complain(damage);
    const { keys, digest } = damage;
    const command = keys ? { do: "setAside", keys, uses: await this.database.usesBy(keys) }
      : { do: "damaged", digests: [digest], uses: await this.database.uses(digest) };
    await repairing(() => this.commit(command, []), (more) => this.repair(more));
    tell(this).catch(complain);
  }

  // Goes back to the last committed state.
  async restore() {
    this.decisions.restore(JSON.stringify(await this.database.state()));
    this.isAhead = false;
  }

  exclusively(act) {
    const done = this.last.then(act);
    this.last = done.catch(() => {});
    return done;
  }

  async result(command) {
    return (await this.whole(command)).result;
  }

  // Runs a command until nothing is missing.
  async whole(command) {
    const text = JSON.stringify(command);
    for (;;) {
      const out = JSON.parse(this.decisions.run(text));
      if (out.missing) await this.load(out);
      else if (out.damaged) throw new Damage({ keys: out.damaged });
      else if (out.lost) throw new Damage({ digest: out.lost });
      else if (out.invalid) throw new Invalid(`bitsy: ${out.invalid}`);
      else return out;
    }
  }

  async load({ missing, needed }) {
    const name = JSON.stringify(needed);
    if (missing.content) {
      const bytes = this.incoming.get(missing.content) ?? await this.database.content(missing.content);
      this.decisions.addContent(name, bytes);
    } else if (missing.row) {
      this.decisions.addRows(name, JSON.stringify(await this.database.row(missing.row)));
    } else {
      this.decisions.addRows(name, JSON.stringify(await this.database.rowsBeginning(missing.prefix)));
    }
  }

  // Handles bytes that are gone or damaged.
  forget(digest) {
    return this.exclusively(() => this.repair(new Damage({ digest })));
  }

  // Deletes contents that nothing refers to, from time to time.
  async sweep() {
    if (Date.now() - this.swept < SWEEP_INTERVAL) return undefined;
    this.swept = Date.now();
    return this.exclusively(async () => {
      const candidates = await this.database.candidates(SWEEP_LIMIT);
      if (!candidates.length) return;
      const command = fixed({ do: "sweep", candidates });
      const { writes, unused } = await repairing(() => this.result(command), (damage) => this.repair(damage));
      await this.database.commit(writes, [], unused);
    });
  }
}

// Runs a command, and again after each damage that was handled.
async function repairing(act, repair) {
  for (let repairs = 0; ; repairs += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Damage) || repairs >= MAX_REPAIRS) throw error;
      await repair(error);
    }
  }
}

// A command with the time and random bits that it keeps when it is repeated.
function fixed(command) {
  const random = crypto.randomUUID().replaceAll("-", "");
  return { ...command, now: Date.now(), random };
}

function complain(error) {
  console.error("bitsy:", error?.message ?? error);
}
