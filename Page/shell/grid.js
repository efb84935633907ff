// A table of any length, of which only the rows in view are in the document. Rows have one height, keys of their own,
// and the focus: arrows, Page and Home move it, Enter opens a row.

import { make, newID } from './dom.js';

/** Rows beyond the view that are drawn, above and below. */
const MARGIN = 6;
/** The height of a row until one can be measured, in pixels. */
const HEIGHT = 36;

/**
 * `columns`: `{ name, text, className, sort, isQuiet }`; `sort`: its head is a button; `isQuiet`: its head is only for
 * screen readers. `fill(cells, item, row)` writes an item into the cells of a row, by column name. `keyOf(item)`: a
 * number or text that no other item has. `onOpen(item)`: Enter or a click. `onSort(name)`. `onEnd()`: the last rows are
 * in view. `empty`: the words of a table without rows.
 */
export class Grid {
  #options;
  #items = [];
  #index = new Map();
  /** The row elements in the document, by key. */
  #rows = new Map();
  #active = null;
  #opened = null;
  #height = HEIGHT;
  #frame = null;
  #body;
  #words;
  #observer;

  constructor(options) {
    this.#options = options;
    const { label, columns, empty = 'Nothing is here.', className = '' } = options;
    this.heads = new Map(columns.map((column) => [column.name, this.#head(column)]));
    this.#body = make('div', { className: 'grid-body', role: 'rowgroup' });
    this.#words = make('p', { className: 'empty', hidden: true }, empty);
    this.table = make('div', {
      role: 'grid', 'aria-label': label, 'aria-colcount': columns.length, 'aria-readonly': 'true',
    }, make('div', { role: 'rowgroup', className: 'grid-head' },
      make('div', { role: 'row', className: 'grid-row', 'aria-rowindex': 1 }, [...this.heads.values()])), this.#body);
    this.element = make('div', { className: `grid ${className}`, id: newID('grid') }, this.table, this.#words);
    this.element.addEventListener('scroll', () => this.#later(), { passive: true });
    this.#body.addEventListener('keydown', (event) => this.#key(event));
    this.#body.addEventListener('click', (event) => this.#click(event));
    this.#body.addEventListener('focusin', ({ target }) => this.#focused(target));
    this.#observer = new ResizeObserver(() => this.#later());
    this.#observer.observe(this.element);
  }

  get items() {
    return this.#items;
  }

  /** Shows items. Rows that stay keep their element and the focus, and their place on the screen once scrolled. */
  set(items) {
    const { keyOf } = this.#options;
    const first = this.#anchor();
    this.#items = items;
    this.#index = new Map(items.map((item, index) => [keyOf(item), index]));
    // The height comes first: it bounds how far one can scroll.
    this.#body.style.height = `${items.length * this.#height}px`;
    if (first) {
      const index = this.#index.get(first.key);
      if (index !== undefined) this.element.scrollTop += (index - first.index) * this.#height;
    }
    this.table.setAttribute('aria-rowcount', items.length + 1);
    this.#words.hidden = items.length > 0;
    if (!this.#index.has(this.#active)) this.#active = null;
    this.#draw(true);
  }

  /** Draws the rows in view again: what they show has changed. */
  refresh() {
    this.#draw(true);
  }

  /** Marks the row that is open elsewhere on the page; null: none. */
  mark(key) {
    this.#opened = key;
    for (const [each, row] of this.#rows) row.setAttribute('aria-selected', each === key);
    if (key !== null && this.#index.has(key)) this.#active = key;
  }

  /** Marks the column that the rows are sorted by. */
  markSort(name, isDescending) {
    for (const [each, head] of this.heads) {
      if (each === name) head.setAttribute('aria-sort', isDescending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    }
  }

  /** Gives a row the focus, and scrolls it into view. */
  focus(key = this.#active ?? (this.#items.length ? this.#options.keyOf(this.#items[0]) : null)) {
    const index = this.#index.get(key);
    if (index === undefined) return;
    this.#active = key;
    this.#reveal(index);
    this.#draw(false);
    this.#rows.get(key)?.focus({ preventScroll: true });
  }

  /** Whether the last row is in view. */
  get isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.element;
    return scrollTop + clientHeight >= scrollHeight - this.#height;
  }

  toEnd() {
    this.element.scrollTop = this.element.scrollHeight;
    this.#draw(false);
  }

  close() {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  #head({ name, text, className = '', sort, isQuiet }) {
    const words = isQuiet ? make('span', { className: 'quiet' }, text) : text;
    return make('div', { role: 'columnheader', className: `cell ${name} ${className}` },
      sort ? make('button', { type: 'button', onclick: () => this.#options.onSort(name) }, words) : words);
  }

  // MARK: Drawing

  /** The first row in view, once scrolled: it stays where it is when rows come above it. */
  #anchor() {
    const { scrollTop } = this.element;
    if (scrollTop <= 0 || this.#items.length === 0) return null;
    const index = Math.min(this.#items.length - 1, Math.floor(scrollTop / this.#height));
    return { index, key: this.#options.keyOf(this.#items[index]) };
  }

  #later() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#draw(false);
    });
  }

  #draw(isNew) {
    const { keyOf, onEnd } = this.#options;
    const from = Math.max(0, Math.floor(this.element.scrollTop / this.#height) - MARGIN);
    const to = Math.min(this.#items.length,
      Math.ceil((this.element.scrollTop + this.element.clientHeight) / this.#height) + MARGIN);
    const wanted = new Set();
    for (let index = from; index < to; index += 1) wanted.add(index);
    const active = this.#index.get(this.#active);
    if (active !== undefined) wanted.add(active);
    const kept = new Set([...wanted].map((index) => keyOf(this.#items[index])));
    for (const [key, row] of this.#rows) {
      if (kept.has(key)) continue;
      row.remove();
      this.#rows.delete(key);
    }
    const top = this.#items[Math.min(from, this.#items.length - 1)];
    const tabbable = this.#index.has(this.#active) ? this.#active : top && keyOf(top);
    this.#inOrder([...wanted].sort((a, b) => a - b).map((index) => this.#place(index, isNew, tabbable)));
    this.#measure();
    if (to === this.#items.length && this.element.clientHeight > 0) onEnd?.();
  }

  #place(index, isNew, tabbable) {
    const item = this.#items[index];
    const key = this.#options.keyOf(item);
    let row = this.#rows.get(key);
    const isMade = !row;
    if (isMade) {
      row = this.#make(key);
      this.#rows.set(key, row);
    }
    row.style.top = `${index * this.#height}px`;
    row.setAttribute('aria-rowindex', index + 2);
    row.tabIndex = key === tabbable ? 0 : -1;
    if (isNew || isMade) this.#options.fill(row.cells_, item, row);
    return row;
  }

  /** Puts rows into the document in their order, for screen readers. The row with the focus stays, and keeps it. */
  #inOrder(rows) {
    const { children } = this.#body;
    if (children.length === rows.length && rows.every((row, index) => row === children[index])) return;
    const focused = rows.findIndex((row) => row.contains(document.activeElement));
    if (focused < 0) return this.#body.append(...rows);
    rows[focused].before(...rows.slice(0, focused));
    rows[focused].after(...rows.slice(focused + 1));
  }

  #make(key) {
    const cells = Object.fromEntries(this.#options.columns.map(({ name, className = '' }) =>
      [name, make('div', { role: 'gridcell', className: `cell ${name} ${className}` })]));
    const row = make('div', { role: 'row', className: 'grid-row', 'aria-selected': String(key === this.#opened) },
      Object.values(cells));
    row.cells_ = cells;
    row.key_ = key;
    return row;
  }

  /** The style sheet decides the height of rows, and may change it with the width of the window. */
  #measure() {
    const [row] = this.#rows.values();
    const height = row?.offsetHeight ?? 0;
    if (height === 0 || height === this.#height) return;
    const top = this.element.scrollTop / this.#height;
    this.#height = height;
    this.#body.style.height = `${this.#items.length * height}px`;
    this.#draw(false);
    this.element.scrollTop = top * height;
  }

  // MARK: Keys and clicks

  #reveal(index) {
    const head = this.table.firstElementChild.offsetHeight;
    const top = index * this.#height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.#height + head > scrollTop + clientHeight) {
      this.element.scrollTop = top + this.#height + head - clientHeight;
    }
  }

  #rowOf(target) {
    const row = target.closest('.grid-row');
    return row && this.#body.contains(row) ? row : null;
  }

  #focused(target) {
    const row = this.#rowOf(target);
    if (!row || row.key_ === this.#active) return;
    this.#active = row.key_;
    for (const each of this.#rows.values()) each.tabIndex = each === row ? 0 : -1;
  }

  #key(event) {
    const row = this.#rowOf(event.target);
    if (!row || event.target !== row || event.ctrlKey || event.metaKey || event.altKey) return;
    const now = this.#index.get(row.key_);
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height) - 2);
    const to = {
      ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0,
      End: this.#items.length - 1,
    }[event.key];
    if (to !== undefined) {
      this.focus(this.#options.keyOf(this.#items[Math.max(0, Math.min(to, this.#items.length - 1))]));
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.#options.onOpen?.(this.#items[now]);
    } else return;
    event.preventDefault();
  }

  #click(event) {
    const row = this.#rowOf(event.target);
    if (!row || event.target.closest('button, a')) return;
    // A selection of text is no click.
    if (String(getSelection()) !== '') return;
    this.#active = row.key_;
    row.focus({ preventScroll: true });
    this.#options.onOpen?.(this.#items[this.#index.get(row.key_)]);
  }
}
