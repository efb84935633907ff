// The rows that the page shows: those of a live outline, with what waits to be written laid over them.

import { indexOf, laid } from './overlay.js';

/** From one request for other rows to the next, in milliseconds; the newest counts. */
const SCROLL_MS = 50;
/** Rows that are asked for at once, at least and at most. */
const ROWS_MIN = 150;
const ROWS_MAX = 450;

/**
 * `rows`, `start`, `total` and `under` are what is to be shown; `revision` is that of the server's rows in it. A
 * listener gets what has changed: `{ isElsewhere, isReset, authors, changed, gone }`, where `changed` are keys of rows
 * that others have changed, and `gone` those of rows that are deleted or hidden.
 */
export class Tree {
  #outline;
  #source;
  #keys;
  #writes;
  #texts;
  #listeners = new Set();
  /** What rows of the server look like here. */
  #shown = new WeakMap();
  #base = { rows: [], start: 0, total: 0, under: 0 };
  /** Changes that wait until it is known which rows are the own ones; null: none wait. */
  #held = null;
  /** The object above the rows that the listeners know; null: they know none. */
  #told = null;
  /** Rows that are folded at once, before the server has it. */
  #folding = new Set();
  #scroll = { at: -Infinity, timer: null, next: null, asked: null };
  rows = [];
  start = 0;
  total = 0;
  under = 0;
  revision = 0;
  isLoaded = false;

  constructor({ outline, source, keys, writes, texts }) {
    this.#outline = outline;
    this.#source = source;
    this.#keys = keys;
    this.#writes = writes;
    this.#texts = texts;
    outline.subscribe((change) => this.#received(change));
    writes.subscribe(() => this.#written());
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

  // MARK: What the server sends

  #received(change) {
    if (change.type === 'diff' || change.type === 'snapshot') {
      this.#held ??= [];
      this.#held.push(change);
      this.#take();
    } else if (change.type === 'position' || change.type === 'request') {
      // The rows are the same: elsewhere among all, or the answer to a newer request, too.
      if (this.#held || !this.isLoaded) return;
      this.#base = this.#read(change.state);
      this.#reached();
      this.#tell({});
    } else this.#tell({ status: change.type, error: change.error ?? null });
  }

  #take() {
    const held = this.#held;
    const own = held.some(({ type }) => type === 'snapshot') ? null : held.flatMap((change) => change.own);
    if (own?.length !== 0 && this.#writes.mustWait(own)) return;
    this.#held = null;
    this.#base = this.#read(held.at(-1).state);
    this.isLoaded = true;
    this.#reached();
    this.#tell({
      isReset: held.some(({ type }) => type === 'snapshot'), ...this.#whatOthersDid(held),
    });
  }

  /** The rows are those of the outline now, which is exact at its revision. */
  #reached() {
    this.revision = this.#outline.revision;
    this.#writes.reached(this.revision);
    this.#texts.rows(this.#base.rows, this.revision);
  }

  /**
   * Revisions that change no row here call nobody. What was written by one of them is then no longer laid over the rows:
   * others may have taken it back in the same moment.
   */
  catchUp() {
    if (this.#held || !this.isLoaded || this.#outline.revision <= this.revision) return;
    this.#reached();
    this.#tell({});
  }

  #read(state) {
    return {
      rows: state.rows.map((row) => this.#row(row)), start: state.start, total: state.total, under: state.under,
    };
  }

  #row(row) {
    let shown = this.#shown.get(row);
    const key = this.#keys.of(row.id);
    if (!shown || shown.key !== key) {
      const { title, note, done, extra, parent } = this.#source;
      shown = {
        key, id: row.id, depth: row.depth, children: row.children, isExpanded: row.isExpanded,
        title: row.get(title) ?? '', note: (note && row.get(note)) ?? '', done: (done && row.get(done)) ?? false,
        extra: (extra && row.get(extra)) ?? null, parent: this.#keys.of(row.get(parent)?.id ?? 0),
      };
      this.#shown.set(row, shown);
    }
    return shown;
  }

  #whatOthersDid(changes) {
    const authors = [];
    const changed = new Set();
    const gone = new Set();
    for (const { type, diff, authors: each = [], own = [], state } of changes) {
      if (type !== 'diff') continue;
      for (const { id, reason } of diff.deletedRows) if (reason !== 'outOfWindow') gone.add(this.#keys.of(id));
      // A diff of a scroll or a fold has no author, one of several writes has some.
      const others = each.filter(({ revision }) => !own.includes(revision));
      if (others.length === 0) continue;
      authors.push(...others);
      for (const { at } of diff.updates) changed.add(this.#keys.of(state.rows[at[1]]?.id));
      if (own.length > 0) continue;
      for (const { id } of diff.insertedRows) changed.add(this.#keys.of(id));
      for (const { to } of diff.moves) changed.add(this.#keys.of(state.rows[to[1]]?.id));
    }
    return { authors, changed, gone };
  }

  #written() {
    if (this.#held) this.#take();
    else if (this.isLoaded && this.#outline.revision > this.revision) this.#reached();
    this.#tell({});
  }

  #tell(change) {
    this.#lay();
    const isElsewhere = this.#told !== null && this.#told !== this.#base.under;
    if (this.isLoaded) this.#told = this.#base.under;
    for (const listener of this.#listeners) listener({ ...change, isElsewhere });
  }

  #lay() {
    const under = this.#keys.of(this.#base.under);
    const { rows, start, total } = laid({ ...this.#base, under },
      [...this.#writes.steps, ...[...this.#folding].flat()]);
    const edited = new Set(this.#texts.all.map(({ key }) => key));
    this.rows = rows.map((row) => {
      if (!edited.has(row.key) && !row.isNew) return row;
      return { ...row, ...this.#texts.values(row.key), id: row.id ?? this.#keys.id(row.key) };
    });
    Object.assign(this, { start, total, under });
  }

  /** A text is shown differently. */
  refresh() {
    this.#lay();
  }

  /** Folds or unfolds rows. What is folded goes at once; what is unfolded comes from the server. */
  async setExpanded(rows, isExpanded) {
    const steps = isExpanded ? [] : rows.map(({ key }) => ({ kind: 'fold', key, isExpanded }));
    this.#folding.add(steps);
    if (!isExpanded) this.#tell({});
    try {
      await this.#outline.setExpanded(rows.map(({ key }) => this.#keys.id(key)), isExpanded);
    } finally {
      this.#folding.delete(steps);
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
    const window = held?.id ? { around: held.id, before, after: size - before - 1 }
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
