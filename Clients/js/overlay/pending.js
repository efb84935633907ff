/**
 * The pending writes of a client, in local order, and what is known of each. No sockets, no clock, no rows.
 *
 *       open ─its group has ended─▶ queued
 *     queued ─send─▶ sent ─OWN or RECEIPT(r)─▶ committed(r) ─every list has reached r─▶ settled
 *       ▲            │ │ └─RECEIPT, unchanged─────────────────────────────────────────▶ settled
 *       └─not executed┤ └─ERROR──▶ refused
 *                    └─link lost─▶ doubtful ─sent again with its key─▶ (as sent)
 *     doubtful ─no server knows the key─▶ parked       queued, doubtful ─other history or model─▶ parked
 *
 * A write is laid over a list at revision h if it is open, queued, sent, doubtful, or committed with h < r.
 * @module
 */

/** @typedef {'open' | 'queued' | 'sent' | 'doubtful' | 'committed' | 'settled' | 'refused' | 'parked'} Phase */

/** A write: the program's object, with the fields that this module keeps. */
export class PendingWrite {
  /** @type {Phase} */
  phase = 'queued';
  /** The revision that it became; null if it is not known. @type {number | null} */
  revision = null;
  /** Whether lists show it: not before its ids are known, and not once it is to be taken back. */
  isShown = true;
  /**
   * Whether the server must refuse it, by what was known once. It is then not shown, also when the reason, such as an
   * own delete, is confirmed and forgotten.
   */
  isHopeless = false;
  /** The history for which it was made; null: that of the first server. @type {string | null} */
  history = null;
  /** Whether OWN has named its revision: then the frames that show it are on their way. */
  isNamed = false;
  /** Its place in the order of the program: one that is made anew may have that of a refused one. */
  place = 0;
  /** For an undo: the writes of the entry that it takes back, if they were not settled. @type {any[]} */
  targets = [];
}

const ENDED = new Set(['settled', 'refused', 'parked']);

/** @template {PendingWrite} W */
export class Pending {
  constructor() {
    /** Those that are not settled, refused or parked, in local order. @type {W[]} */
    this.writes = [];
    /** Those that every list has reached since lists were laid last. @type {W[]} */
    this.reachedNow = [];
  }

  /**
   * A write comes before those that were made after its place and are not sent; but not before the undo of a write that
   * is: the server would have to undo this one first.
   * @param {W} write
   */
  add(write) {
    const isLater = (/** @type {W} */ { phase, place }) =>
      (phase === 'queued' || phase === 'open') && place > write.place;
    const at = this.writes.findIndex((one) => isLater(one) && one.targets.every(isLater));
    if (at < 0) return void this.writes.push(write);
    this.writes.splice(at, 0, write);
    // These may depend on it.
    this.reconsider();
  }

  /** @param {W} write was put on the wire, or will be as soon as there is room */
  sent(write) {
    if (write.phase === 'queued') write.phase = 'sent';
  }

  /** The connection is lost. */
  lost() {
    for (const write of this.writes) if (write.phase === 'sent') write.phase = 'doubtful';
  }

  /** OWN has named the revision of a write. @param {W} write @param {number} revision */
  named(write, revision) {
    if (ENDED.has(write.phase)) return;
    write.phase = 'committed';
    write.isNamed = true;
    write.revision = Math.max(revision, write.revision ?? 0);
  }

  /** The receipt of a write. @param {W} write @param {{ revision: number, isChanged: boolean }} receipt */
  received(write, { revision, isChanged }) {
    if (ENDED.has(write.phase)) return;
    // What the server sends of it was sent before.
    write.isNamed = false;
    if (isChanged) {
      write.phase = 'committed';
      write.revision = revision;
    } else this.end(write, 'settled');
  }

  /** It was not executed, and will be sent again. @param {W} write */
  again(write) {
    if (write.phase === 'sent' || write.phase === 'doubtful') write.phase = 'queued';
  }

  /** It may have been executed, and will be sent again with its key. @param {W} write */
  doubted(write) {
    if (write.phase === 'sent') write.phase = 'doubtful';
  }

  /** @param {W} write @param {'settled' | 'refused' | 'parked'} phase */
  end(write, phase) {
    if (ENDED.has(write.phase)) return;
    write.phase = phase;
    this.writes = this.writes.filter((one) => one !== write);
    if (phase === 'refused') this.reconsider();
  }

  /** The server must refuse these writes, by what is known. @param {Iterable<W>} writes */
  foresaw(writes) {
    for (const write of writes) write.isHopeless = true;
  }

  /** A write is gone, or shown no more, that others may have been hopeless for. */
  reconsider() {
    for (const write of this.writes) write.isHopeless = false;
  }

  /**
   * The store has another history: revisions mean nothing there, and no write may be sent that was made for the old
   * one. Those that were already made for the new one stay.
   * @param {string} historyID of the new one
   * @returns {W[]} those that were not confirmed; they are parked
   */
  otherHistory(historyID) {
    const all = this.writes.filter(({ history }) => history !== historyID);
    const open = all.filter(({ phase }) => phase !== 'committed');
    for (const write of all) this.end(write, write.phase === 'committed' ? 'settled' : 'parked');
    return open;
  }

  /**
   * The writes that are laid over a list.
   * @param {number} head the revision at which the list's phase is exact
   * @returns {W[]}
   */
  over(head) {
    return this.writes.filter(({ isShown, isHopeless, phase, revision }) =>
      isShown && !isHopeless && (phase !== 'committed' || head < /** @type {number} */ (revision)));
  }

  /**
   * The writes that a list has got between two revisions, in the server's order.
   * @param {number} from
   * @param {number} to
   * @returns {W[]}
   */
  confirmed(from, to) {
    return [...this.reachedNow, ...this.writes]
      .filter(({ isShown, isHopeless, phase, revision }) => isShown && !isHopeless && revision !== null
        && (phase === 'committed' || phase === 'settled') && from < revision && revision <= to)
      .sort((a, b) => Number(a.revision) - Number(b.revision));
  }

  /**
   * Lists have reached revisions.
   * @param {readonly number[]} heads of all lists that follow the server
   * @returns {W[]} the writes that are settled by that
   */
  reached(heads) {
    const least = Math.min(...heads);
    const settled = this.writes.filter(({ phase, revision }) =>
      phase === 'committed' && /** @type {number} */ (revision) <= least);
    for (const write of settled) this.end(write, 'settled');
    this.reachedNow.push(...settled);
    return settled;
  }

  /**
   * Whether a write is between lists: OWN has named it, some lists have it, and others not yet. What is shown now would
   * show it twice or not at all.
   * @param {readonly number[]} heads
   */
  isBetween(heads) {
    return this.writes.some(({ isNamed, phase, revision }) =>
      isNamed && phase === 'committed' && heads.some((head) => head < /** @type {number} */ (revision)));
  }

  /** Whether it is not known what became of some writes. */
  get isDoubtful() {
    return this.writes.some(({ phase }) => phase === 'doubtful');
  }
}
