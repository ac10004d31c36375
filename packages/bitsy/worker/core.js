// Runs commands of the decision core: loads what they lack, and commits what they write.

const SWEEP_LIMIT = 200;
// Documents up to this size are given to the core when they arrive, because it reads them at once.
const READ_AT_ONCE = 1024 * 1024;

class Core {
  static async open() {
    const [database, Decisions] = await Promise.all([Database.open(), decisions()]);
    const core = new Core(database, new Decisions(JSON.stringify(await database.state())));
    await core.sweep().catch(complain);
    return core;
  }

  constructor(database, decisions) {
    this.database = database;
    this.decisions = decisions;
    this.last = Promise.resolve();
  }

  // Runs a command that changes nothing.
  read(command) {
    return this.result(fixed(command));
  }

  // Runs a command that may change something, after all earlier ones. It is committed when the promise is fulfilled.
  change(command, contents = []) {
    return this.exclusively(async () => {
      for (const { digest, bytes } of contents) {
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
        await this.restore(error);
        throw error;
      }
    });
  }

  // Goes back to the last committed state. An instance that was replaced leaves everything to the browser from now on.
  async restore(error) {
    this.isRetired ||= error instanceof Retired;
    if (this.isRetired) return;
    this.decisions.restore(JSON.stringify(await this.database.state()));
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
      else if (out.lost) await this.lost(out.lost);
      else if (out.failed) throw new Error(`bitsy: ${out.failed}`);
      else return out;
    }
  }

  async load({ missing, needed }) {
    const name = JSON.stringify(needed);
    if (missing.content) {
      this.decisions.addContent(name, await this.database.content(missing.content));
    } else if (missing.row) {
      this.decisions.addRows(name, JSON.stringify(await this.database.row(missing.row)));
    } else {
      this.decisions.addRows(name, JSON.stringify(await this.database.rowsBeginning(missing.prefix)));
    }
  }

  // Handles a content whose bytes are gone. The command that needed it fails, and the next one finds it handled.
  async lost(digest) {
    const uses = await this.database.uses(digest);
    this.change({ do: "damaged", digests: [digest], uses }).catch(complain);
    throw new Error(`bitsy: the stored bytes ${digest} are gone`);
  }

  // Deletes contents that nothing refers to.
  sweep() {
    return this.exclusively(async () => {
      const candidates = await this.database.candidates(SWEEP_LIMIT);
      if (!candidates.length) return;
      const { writes, unused } = await this.result(fixed({ do: "sweep", candidates }));
      await this.database.commit(writes, [], unused);
    });
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
