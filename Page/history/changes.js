// What transactions have changed, from the feed of changes: how many objects each one, and which.

/** Objects that are counted of one reading; more are "at least". */
export const COUNTED_MAX = 100_000;
/** Objects that are listed of one transaction. */
export const LISTED_MAX = 200;

/**
 * Reads what the transactions from one revision to another have changed. Calls `each(revision, { inserted, updated,
 * deleted, objects, isMore })` for each of them, oldest first; `isMore`: the transaction has more objects than were
 * counted. `signal` ends it.
 */
export async function readChanges(nest, from, to, each, signal) {
  const feed = nest.changes({ since: { history: nest.server.historyID, revision: from - 1, place: 0 } });
  const end = () => feed.close().catch(() => {});
  signal?.addEventListener('abort', end, { once: true });
  let counted = 0;
  let sum = null;
  try {
    for await (const event of feed) {
      if (event.type === 'progress' && event.revision >= to) return;
      if (event.type !== 'changes') continue;
      if (event.revision > to) return;
      sum ??= emptySum();
      counted += event.objects.length;
      add(sum, event.objects);
      sum.isMore = counted > COUNTED_MAX && !event.isLast;
      if (event.isLast || sum.isMore) {
        each(event.revision, sum);
        if (sum.isMore || event.revision === to) return;
        sum = null;
      }
    }
  } finally {
    signal?.removeEventListener('abort', end);
    await end();
  }
}

export const emptySum = () => ({ inserted: 0, updated: 0, deleted: 0, objects: [], isMore: false });

/** Adds objects of a change set. */
export function add(sum, objects) {
  for (const object of objects) {
    sum[object.change] += 1;
    if (sum.objects.length < LISTED_MAX) sum.objects.push(object);
  }
}

export const totalOf = ({ inserted, updated, deleted }) => inserted + updated + deleted;

/** How many objects each transaction has changed: from the live feed, or read when its row is drawn. */
export class Counts {
  #nest;
  #known = new Map();
  #changed;
  #wanted = null;
  #isReading = false;
  #stop = new AbortController();
  /** What is at or before this revision cannot be read any more. */
  #floor = 0;

  /** `changed()` is called when there are more counts. */
  constructor(nest, changed) {
    this.#nest = nest;
    this.#changed = changed;
    this.#floor = nest.server.oldestRevision;
  }

  /** `{ total, isMore }`, null if it is not known yet, undefined if the journal no longer has it. */
  of(revision) {
    return this.#known.get(revision) ?? (revision <= this.#floor ? undefined : null);
  }

  note(revision, sum) {
    this.#known.set(revision, { total: totalOf(sum), isMore: sum.isMore });
  }

  /** Reads the counts of revisions that are not known: one reading at a time, always of the newest request. */
  want(revisions) {
    const missing = revisions.filter((each) => this.of(each) === null);
    if (missing.length === 0) return;
    this.#wanted = { from: Math.min(...missing), to: Math.max(...missing) };
    if (!this.#isReading) this.#read();
  }

  async #read() {
    this.#isReading = true;
    while (this.#wanted && !this.#stop.signal.aborted) {
      const to = this.#wanted.to;
      const from = Math.max(this.#wanted.from, this.#floor + 1);
      this.#wanted = null;
      try {
        await readChanges(this.#nest, from, to, (revision, sum) => this.note(revision, sum), this.#stop.signal);
      } catch (error) {
        if (error.code !== 'REVISION_DROPPED') break;
        // The journal ends somewhere between: the newer half may be there. What is left out is wanted again later.
        this.#floor = from;
        if (from < to) this.#wanted ??= { from: Math.floor((from + to) / 2) + 1, to };
      }
      this.#changed();
    }
    this.#isReading = false;
  }

  close() {
    this.#stop.abort();
  }
}
