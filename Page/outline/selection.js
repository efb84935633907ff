// Which rows are selected: one, or a range of them. The list has the keyboard then, not the field of a row.

export class Selection {
  #tree;
  #rows;
  /** The ends of the range: where it began, and where the keyboard is. */
  #anchor = null;
  key = null;
  /** The number of the row with the keyboard, and of one that is not here yet but will have it. */
  #place = 0;
  #wanted = null;
  /** Called when other rows are selected. */
  changed = () => {};

  constructor({ tree, rows }) {
    this.#tree = tree;
    this.#rows = rows;
  }

  get isActive() {
    return this.key !== null;
  }

  /** The rows selected, in their order. */
  get rows() {
    const { rows } = this.#tree;
    const [a, b] = [this.#tree.index(this.#anchor), this.#tree.index(this.key)];
    if (b < 0) return [];
    if (a < 0) return [rows[b]];
    return rows.slice(Math.min(a, b), Math.max(a, b) + 1);
  }

  get row() {
    return this.key === null ? null : this.#tree.row(this.key) ?? null;
  }

  /** Selects a row, or with `extends` all from where the selection began. */
  select(key, { extend = false, reveal = true } = {}) {
    if (!extend || this.#anchor === null) this.#anchor = key;
    this.key = key;
    this.#wanted = null;
    const place = this.#tree.place(key);
    if (place >= 0) this.#place = place;
    this.#show(reveal);
  }

  #show(reveal) {
    this.#rows.select(new Set(this.rows.map((row) => row.key)));
    this.#rows.focus(this.key);
    this.#rows.draw();
    if (reveal && this.key !== null) this.#rows.reveal(this.key);
    const { list } = this.#rows;
    if (this.key !== null) list.setAttribute('aria-activedescendant', `row${this.key}`);
    else list.removeAttribute('aria-activedescendant');
    this.changed();
  }

  clear() {
    if (this.key === null) return;
    this.key = this.#anchor = this.#wanted = null;
    this.#show(false);
  }

  /** Selects all rows that are here. */
  all() {
    const { rows } = this.#tree;
    if (rows.length === 0) return;
    this.#anchor = rows[0].key;
    this.key = rows.at(-1).key;
    this.#show(false);
  }

  /** Goes to the row with a number, also to one that is not here yet. */
  go(place, { extend = false } = {}) {
    const at = Math.max(0, Math.min(place, this.#tree.total - 1));
    const row = this.#tree.at(at);
    if (row) return this.select(row.key, { extend });
    // A range has rows that are here: it ends at the last of them.
    if (extend) return undefined;
    this.#wanted = at;
    this.#place = at;
    return this.#rows.revealPlace(at);
  }

  by(step, options) {
    return this.go(this.#place + step, options);
  }

  get place() {
    return this.#place;
  }

  /** The tree has other rows: the selection stays with its rows, or goes on with the next one. */
  follow(gone) {
    if (this.#wanted !== null) {
      const row = this.#tree.at(Math.min(this.#wanted, this.#tree.total - 1));
      if (row) return this.select(row.key);
    }
    if (this.key === null) return undefined;
    const place = this.#tree.place(this.key);
    if (place >= 0) this.#place = place;
    else if (gone === null || gone.has(this.key)) {
      const next = this.#tree.at(Math.min(this.#place, this.#tree.total - 1));
      if (next) return this.select(next.key, { reveal: false });
      this.key = this.#anchor = null;
    }
    return this.#show(false);
  }
}
