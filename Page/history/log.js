// The transactions that /history shows: newest first, those of one undo entry in one line. Without a network or a page.

/** Transactions that are kept at most, however far the user scrolls. */
export const TRANSACTIONS_MAX = 50_000;

/**
 * A line: the newest `entry` of HISTORY that belongs to it, `first` (what names the line for good), `revisions` of all
 * its transactions that are known, newest first, and `isBlocked`.
 */
export class HistoryLog {
  /** Entries of HISTORY by revision. */
  #entries = new Map();
  /** The same, newest first, and their lines; null when they must be made again. */
  #sorted = null;
  #lines = null;
  /** Whether the oldest transaction of the history is among them. */
  isWhole = false;

  get isFull() {
    return this.#entries.size >= TRANSACTIONS_MAX;
  }

  /** The entries, newest first. */
  get entries() {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => b.revision - a.revision);
    return this.#sorted;
  }

  /** The oldest known revision, before which the next page begins; 0: from the newest. */
  get oldest() {
    return this.entries.at(-1)?.revision ?? 0;
  }

  /** Adds a page of older transactions; an empty one ends the history. */
  addOlder(page) {
    if (page.length === 0) this.isWhole = true;
    this.#add(page);
  }

  /**
   * Adds the newest page. Returns whether it meets what is known: if not, there are transactions between them, and the
   * caller reads on, before the last of this page.
   */
  addNewest(page) {
    const isKnown = ({ revision }) => this.#entries.has(revision);
    const meets = this.#entries.size === 0 || page.length === 0 || page.some(isKnown);
    this.#add(page);
    return meets;
  }

  /** Forgets everything before a revision: between it and what is known there are too many. */
  dropBefore(revision) {
    for (const each of this.#entries.keys()) if (each < revision) this.#entries.delete(each);
    this.isWhole = false;
    this.#forgetLines();
  }

  entry(revision) {
    return this.#entries.get(revision) ?? null;
  }

  /** The line with a transaction; null if it is not known. */
  lineOf(revision) {
    return this.lines.find(({ revisions }) => revisions.includes(revision)) ?? null;
  }

  get lines() {
    this.#lines ??= this.#folded();
    return this.#lines;
  }

  #add(page) {
    for (const entry of page) this.#entries.set(entry.revision, entry);
    if (page.length > 0) this.#forgetLines();
  }

  #forgetLines() {
    this.#sorted = null;
    this.#lines = null;
  }

  #folded() {
    const lines = new Map();
    for (const entry of this.entries) {
      const first = entry.entry ?? entry.revision;
      const line = lines.get(first);
      if (line) {
        line.revisions.push(entry.revision);
        line.isBlocked ||= entry.isBlocked;
      } else {
        lines.set(first, { entry, first, revisions: [entry.revision], isBlocked: entry.isBlocked });
      }
    }
    return [...lines.values()];
  }
}
