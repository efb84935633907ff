// The rows that the page shows: those of a live outline, which has what was written here already; and over them what is
// being typed, and what is being folded.

import { folded, indexOf } from './overlay.js';

/** From one request for other rows to the next, in milliseconds; the newest counts. */
const SCROLL_MS = 50;
/** Rows that are asked for at once, at least and at most. */
const ROWS_MIN = 150;
const ROWS_MAX = 450;
/** Changes of the outline with a state. */
const ROWS = new Set(['snapshot', 'diff', 'position', 'totals', 'request', 'pending']);

/**
 * `rows`, `start`, `total` and `under` are what is to be shown; `revision` is that of the server's rows in it. A
 * listener gets what has changed: `{ isElsewhere, isReset, authors, changed, gone }`, where `changed` are keys of rows
 * that others have changed, and `gone` those of rows that are deleted or hidden.
 */
export class Tree {
  #outline;
  #source;
  #writes;
  #texts;
  #listeners = new Set();
  /** What rows of the outline look like here. */
  #shown = new WeakMap();
  #base = { rows: [], start: 0, total: 0, under: 0 };
  /** The object above the rows that the listeners know; null: they know none. */
  #told = null;
  /** Sets of rows that are folded at once, before the server has it. */
  #folding = new Set();
  #scroll = { at: -Infinity, timer: null, next: null, asked: null };
  /** A row that is waited for. */
  #wanted = { key: null, act: null };
  rows = [];
  start = 0;
  total = 0;
  under = 0;
  revision = 0;
  isLoaded = false;

  constructor({ outline, source, writes, texts }) {
    this.#outline = outline;
    this.#source = source;
    this.#writes = writes;
    this.#texts = texts;
    outline.subscribe((change) => this.#received(change));
  }

  subscribe(listener) {
    this.#listeners.add(listener);
  }

  get outline() {
    return this.#outline;
  }

  get status() {
    return this.#outline.status;
  }

  // MARK: What the outline says

  #received(change) {
    const { type, state } = change;
    if (!ROWS.has(type)) return this.#tell({ status: type, error: change.error ?? null });
    // Before the first rows nothing is shown.
    if (!this.isLoaded && type !== 'snapshot' && type !== 'diff') return undefined;
    this.isLoaded = true;
    const isNew = this.#writes.newness();
    this.#base = {
      rows: state.rows.map((row) => this.#row(row, state.pendingOf?.(row) ?? 'none', isNew)),
      start: state.start, total: state.total, under: state.under,
    };
    this.#reached();
    // The answer to a request for other rows leaves out some that exist.
    const isReset = type === 'snapshot' && change.reason !== 'request';
    return this.#tell({ isReset, ...whatOthersDid(change) });
  }

  /** The rows are those of the outline now, which is exact at its revision. */
  #reached() {
    this.revision = this.#outline.revision;
    this.#texts.rows(this.#base.rows, this.revision);
  }

  /** Revisions that change no row here call nobody. */
  catchUp() {
    if (!this.isLoaded || this.#outline.revision <= this.revision) return;
    this.#reached();
    this.#tell({});
  }

  #row(row, pending, newness) {
    const isNew = newness(row.id, pending !== 'none');
    let shown = this.#shown.get(row);
    if (!shown || shown.pending !== pending || shown.isNew !== isNew) {
      const { title, note, done, extra, parent } = this.#source;
      shown = {
        key: row.id, id: row.id, depth: row.depth, children: row.children, isExpanded: row.isExpanded, pending, isNew,
        title: row.get(title) ?? '', note: (note && row.get(note)) ?? '', done: (done && row.get(done)) ?? false,
        extra: (extra && row.get(extra)) ?? null, parent: row.get(parent)?.id ?? 0,
      };
      this.#shown.set(row, shown);
    }
    return shown;
  }

  #tell(change) {
    this.#lay();
    const isElsewhere = this.#told !== null && this.#told !== this.#base.under;
    if (this.isLoaded) this.#told = this.#base.under;
    for (const listener of this.#listeners) listener({ ...change, isElsewhere });
    const { key, act } = this.#wanted;
    if (key === null || !this.row(key)) return;
    this.#wanted = { key: null, act: null };
    act();
  }

  /** Calls `act` when a row shows; another call takes its place. */
  whenShown(key, act) {
    this.#wanted = { key, act };
  }

  #lay() {
    const { rows, start, total } = folded(this.#base, new Set([...this.#folding].flatMap((keys) => [...keys])));
    const edited = new Set(this.#texts.all.map(({ key }) => key));
    this.rows = rows.map((row) => (edited.has(row.key) ? { ...row, ...this.#texts.values(row.key) } : row));
    Object.assign(this, { start, total, under: this.#base.under });
  }

  /** A text is shown differently. */
  refresh() {
    this.#lay();
  }

  /** Folds or unfolds rows. What is folded goes at once; what is unfolded comes from the server. */
  async setExpanded(rows, isExpanded) {
    const keys = new Set(isExpanded ? [] : rows.map(({ key }) => key));
    this.#folding.add(keys);
    if (!isExpanded) this.#tell({});
    try {
      await this.#outline.setExpanded(rows.map(({ key }) => key), isExpanded);
    } finally {
      this.#folding.delete(keys);
      if (!isExpanded) this.#tell({});
    }
  }

  // MARK: Rows

  index(key) {
    return indexOf(this.rows, key);
  }

  row(key) {
    return this.rows[this.index(key)];
  }

  /** The row with a number among all; undefined: it is not here. */
  at(place) {
    return this.rows[place - this.start];
  }

  /** The number of a row among all; -1: it is not here. */
  place(key) {
    const index = this.index(key);
    return index < 0 ? -1 : this.start + index;
  }

  // MARK: Other rows

  /** The rows from `first` on are in view: asks for others when those around them are not here. */
  need(first, count) {
    if (!this.isLoaded) return;
    const size = Math.min(ROWS_MAX, Math.max(ROWS_MIN, count * 3));
    const before = Math.floor((size - count) / 2);
    const { start, total } = this.#base;
    const end = start + this.#base.rows.length;
    const margin = Math.floor(before / 2);
    const isMissing = (start > 0 && first - margin < start) || (end < total && first + count + margin > end);
    if (!isMissing) {
      this.#scroll.asked = null;
      return;
    }
    const { asked } = this.#scroll;
    if (asked !== null && Math.abs(asked - first) < margin / 2) return;
    this.#scroll.asked = first;
    // Around a row the window follows what is looked at, whatever others write above it.
    const held = this.at(first);
    const window = held && !held.isNew ? { around: held.id, before, after: size - before - 1 }
      : { offset: Math.max(0, first - before), limit: size };
    this.ask({ window });
  }

  /** Asks for other rows, at most every 50 ms: the newest counts. */
  ask(change) {
    const scroll = this.#scroll;
    scroll.next = change;
    if (scroll.timer !== null) return;
    scroll.timer = setTimeout(() => {
      scroll.timer = null;
      scroll.at = performance.now();
      // Refused because the row has gone, or the connection was lost: the next look asks again.
      this.#outline.change(scroll.next).catch(() => { scroll.asked = null; });
    }, Math.max(0, scroll.at + SCROLL_MS - performance.now()));
  }

  /** Shows other rows than before, such as those below another object. Resolves when the server has accepted it. */
  change(change) {
    clearTimeout(this.#scroll.timer);
    Object.assign(this.#scroll, { timer: null, asked: null });
    return this.#outline.change(change);
  }
}

/** What a change of the outline says about others: who they are, and which rows. And which rows have gone. */
function whatOthersDid({ type, diff, authors = [], own = [], state }) {
  if (type !== 'diff') return {};
  const changed = new Set();
  const gone = new Set(diff.deletedRows.filter(({ reason }) => reason !== 'outOfWindow').map(({ id }) => id));
  // A diff of a scroll or a fold has no author, one of several writes has some.
  const others = authors.filter(({ revision }) => !own.includes(revision));
  if (others.length > 0) {
    for (const { at } of diff.updates) changed.add(state.rows[at[1]]?.id);
    if (own.length === 0) {
      for (const { id } of diff.insertedRows) changed.add(id);
      for (const { to } of diff.moves) changed.add(state.rows[to[1]]?.id);
    }
  }
  return { authors: others, changed, gone };
}
