// Which objects exist at which revision: read from the feed of changes, beside the pages, from the first revision on.

import { connect } from '../../../Clients/js/node.js';
import { until } from '../../../Clients/js/test/live/nestd.js';

export class Lives {
  /** Follows a server from its first revision on. */
  static async follow(server) {
    const lives = new Lives();
    lives.nest = await connect({ url: `nest://${server.address}`, clientName: 'lives' });
    lives.done = lives.#follow().catch((error) => { lives.error = error; });
    return lives;
  }

  /** By object: the revisions at which it came into being and ceased to be, in turns. */
  #turns = new Map();
  /** Changes are complete up to this revision. */
  revision = 0;
  error = null;

  async #follow() {
    const { nest } = this;
    const feed = nest.changes({ since: { history: nest.server.historyID, revision: 0, place: 0 } });
    for await (const change of feed) {
      if (change.type === 'changes') for (const { change: kind, id } of change.objects) this.note(kind, id, change.revision);
      if (change.type === 'progress' || change.isLast) this.revision = change.revision;
    }
  }

  /** Something has happened to an object: 'inserted', 'updated' or 'deleted'. */
  note(kind, id, revision) {
    if (kind === 'updated') return;
    const turns = this.#turns.get(id) ?? [];
    if ((turns.length % 2 === 0) === (kind === 'inserted')) turns.push(revision);
    this.#turns.set(id, turns);
  }

  /** Whether an object exists at a revision. One without changes does: it is older than the feed. */
  has(id, revision) {
    const turns = this.#turns.get(id);
    if (!turns) return true;
    return turns.filter((turn) => turn <= revision).length % 2 === 1;
  }

  /** How often an object has come into being. One without changes is older than the feed. */
  births(id) {
    return Math.ceil((this.#turns.get(id) ?? [0]).length / 2);
  }

  /** Waits until everything up to a revision is known. */
  async reach(revision) {
    await until(() => this.error || this.revision >= revision, () => `${this.revision} of ${revision}`);
    if (this.error) throw this.error;
  }

  close() {
    this.nest.close();
    return this.done;
  }
}
