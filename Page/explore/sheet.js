// The live table: of a result of any size the rows in view are in the document. Rows keep their elements by their ids,
// so that one can see where a row goes, and what is in view stays there when others change what is above it.

import { make, newID } from '../shell/dom.js';
import { describeColumns, fillCell, heads, totalWords, widths } from './columns.js';
import { Cursor } from './cursor.js';
import { lineCount, linesOf, rowAt, scale } from './layout.js';
import { CHANGE, QUERY, SCROLL } from './live.js';
import { Motion } from './motion.js';

const ROW = 34;
/** Rows drawn beyond the view on each side. */
const MARGIN = 8;
/** Rows of the first window, at least. */
const FIRST_ROWS = 60;

/**
 * `onSort(path, isMore)`, `onOpen(id)`, `onEdit(row, column, cell)`; `onWindow(window, settled)`: the rows that are
 * needed; `onRemote(count, who)`: rows in view that others have changed.
 */
export class Sheet {
  #on;
  #columns = [];
  #hasSections = false;
  #state = null;
  #lines = [];
  #byID = new Map();
  /** The elements of rows by id, and those of section heads by the number of the section. */
  #rows = new Map();
  #heads = new Map();
  #scale = scale(0, ROW, 0);
  /** Where one is, in pixels of all lines; and the same as the element is scrolled. */
  #top = 0;
  #place = 0;
  /** The height of what one sees, as it was measured last: asking the browser costs a layout. */
  #view = 0;
  #opened = null;
  #frame = null;
  #wanted = null;
  #guesses = { line: -1, count: 0 };
  /** The number of the newest drawing. */
  #drawing = 0;
  /** Where the rows that are drawn begin and end. */
  #drawn = { from: 0, to: 0 };
  #observer;
  #motion = new Motion();

  constructor(on) {
    this.#on = on;
    this.id = newID('sheet');
    // It has no cells before its columns are known.
    this.headRow = make('div', { role: 'row', className: 'sheet-row heads', 'aria-rowindex': 1, 'aria-busy': true });
    this.above = make('div', { className: 'undrawn above', 'aria-hidden': 'true' });
    this.below = make('div', { className: 'undrawn below', 'aria-hidden': 'true' });
    this.body = make('div', { role: 'rowgroup', className: 'runway' }, this.above, this.below);
    this.grid = make('div', { role: 'grid', className: 'sheet-grid', tabIndex: 0, 'aria-label': 'Result', id: this.id },
      make('div', { role: 'rowgroup', className: 'sheet-head' }, this.headRow), this.body);
    this.words = make('p', { className: 'empty', hidden: true });
    this.element = make('div', { className: 'sheet' }, this.grid, this.words);
    this.cursor = new Cursor(this);
    this.element.addEventListener('scroll', () => this.#later(), { passive: true });
    this.element.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    this.body.addEventListener('click', (event) => this.#click(event));
    this.body.addEventListener('dblclick', (event) => this.edit(event.target.closest('.cell')));
    this.#observer = new ResizeObserver(() => this.#resized());
    this.#observer.observe(this.element);
    this.#observer.observe(this.headRow);
  }

  close() {
    this.#observer.disconnect();
    this.#motion.close();
    cancelAnimationFrame(this.#frame);
  }

  // MARK: What the cursor and the page ask

  /** How many rows the first window has. */
  get rowsWanted() {
    return Math.max(FIRST_ROWS, Math.ceil(this.element.clientHeight / ROW) * 3);
  }

  /** How many lines there are: rows, and heads of sections. */
  get count() {
    return this.#state ? lineCount(this.#state, this.#hasSections) : 0;
  }

  get firstLine() {
    return Math.ceil(this.#top / ROW);
  }

  get linesInView() {
    return Math.max(1, Math.floor(this.#view / ROW));
  }

  get columnCount() {
    return this.#columns.length;
  }

  #measure() {
    this.#view = Math.max(0, this.element.clientHeight - this.headRow.offsetHeight);
  }

  cellID = (id, column) => `${this.id}-${id}-${column}`;
  lineOf = (id) => this.#byID.get(id)?.line ?? null;
  at = (line) => this.#lines.find((one) => one.line === line) ?? null;
  firstInView = () => this.#lines.find(({ line, row }) => row && line * ROW >= this.#top) ?? null;
  open = (id) => this.#on.onOpen(id);

  focus() {
    this.grid.focus({ preventScroll: true });
  }

  /** Scrolls a line into view. */
  reveal(line) {
    const top = line * ROW;
    if (top < this.#top) this.#setTop(top);
    else if (top + ROW > this.#top + this.#view) this.#setTop(top + ROW - this.#view);
    this.#later();
  }

  /** The row with an id and its cell of a path, `{ row, cell }`, if they are drawn. */
  find(id, path) {
    const element = this.#rows.get(id);
    const index = this.#columns.findIndex((column) => column.path === path);
    const row = this.#byID.get(id)?.row;
    return element && row && index >= 0 ? { row, cell: element.cells_[index] } : null;
  }

  /** Scrolls a row into view and draws it, if its window has it. */
  revealRow(id) {
    const line = this.lineOf(id);
    if (line === null) return;
    this.reveal(line);
    this.#draw();
  }

  /** Edits the value of a cell in its place. */
  edit(cell) {
    const row = cell?.closest('.sheet-row[data-id]');
    const column = row && this.#columns[[...row.children].indexOf(cell) - 1];
    if (column?.property) this.#on.onEdit(row.row_, column, cell);
  }

  /** Marks the row whose object is open beside the table. */
  mark(id) {
    this.#opened = id;
    for (const [each, row] of this.#rows) row.setAttribute('aria-selected', String(each === id));
    if (id !== null) this.cursor.set(id);
  }

  /** Says why there are no rows. */
  showWords(text) {
    this.words.hidden = text === null;
    this.words.textContent = text ?? '';
  }

  // MARK: States

  /** What is shown from now on; rows come with `show`. */
  describe(model, entity, paths, { sort, hasSections, label, isReadOnly }) {
    this.#columns = describeColumns(model, entity, paths);
    this.#hasSections = hasSections;
    const { template, least } = widths(this.#columns);
    this.grid.style.setProperty('--columns', template);
    this.grid.style.minWidth = `${least}rem`;
    this.grid.setAttribute('aria-colcount', this.#columns.length + 1);
    this.grid.setAttribute('aria-label', label);
    this.grid.setAttribute('aria-readonly', String(isReadOnly));
    const focused = document.activeElement?.closest?.('.sheet-head button')?.dataset.path;
    this.headRow.replaceChildren(...heads(this.#columns, sort, (path, isMore) => this.#on.onSort(path, isMore)));
    this.headRow.removeAttribute('aria-busy');
    if (focused) [...this.headRow.querySelectorAll('button')].find((each) => each.dataset.path === focused)?.focus();
    this.#drawing += 1;
    this.#forget(this.#heads);
    for (const element of this.#rows.values()) this.#fillAnew(element);
  }

  /** Shows a state. `cause`: of live.js; `change`: what the list has said. */
  show(state, { cause, change }) {
    const lines = linesOf(state, this.#hasSections);
    const byID = new Map();
    for (const one of lines) if (one.row) byID.set(one.row.id, one);
    const isMoved = (anchor) => anchor !== null && byID.get(anchor.row.id)?.line !== anchor.line;
    // The browser says where one is before each frame (`#later`). Asking it costs a layout, and is needed only if what
    // is at the top goes elsewhere, as one is then scrolled by how far.
    if (cause !== CHANGE || (this.#top > 0 && isMoved(this.firstInView()))) this.#readTop();
    if (cause === QUERY) this.#measure();
    const old = this.#byID;
    const top = this.#top;
    const anchor = cause !== QUERY && this.#top > 0 ? this.firstInView() : null;
    const past = this.#state;
    this.#state = state;
    this.#wanted = null;
    this.#lines = lines;
    this.#byID = byID;
    this.grid.setAttribute('aria-rowcount', this.count + 1);
    this.#resize();
    // What is in view stays where it is; at the beginning new rows are seen.
    const now = anchor && this.#byID.get(anchor.row.id);
    if (cause === QUERY) this.#setTop(0);
    else if (now && now.line !== anchor.line) this.#setTop(this.#top + (now.line - anchor.line) * ROW);
    this.#draw();
    if (cause !== SCROLL) {
      const isWaiting = (id) => pendingOf(state, id) !== 'none';
      const { remote, who } = this.#motion.show(this.#rows, {
        old, now: byID, delta: (id) => (old.get(id).line - byID.get(id).line) * ROW - (top - this.#top),
        columns: this.#columns, change: cause === CHANGE ? change : null, isWaiting,
        isOwn: (id) => isWaiting(id) || pendingOf(past, id) !== 'none',
      });
      if (remote > 0) this.#on.onRemote(remote, who);
    }
    this.#want();
  }

  /** Shows which rows wait for the server: the rows themselves are those of before. */
  showPending(state) {
    this.#state = state;
    this.#rows.forEach((element, id) => markPending(element, pendingOf(state, id)));
  }

  /** A row that is open or active stays in view when the window or the object beside it takes some of it. */
  #resized() {
    const line = this.lineOf(this.#opened ?? this.cursor.id);
    const wasInView = line !== null && line * ROW >= this.#top && (line + 1) * ROW <= this.#top + this.#view;
    this.#measure();
    if (this.#state) this.#resize();
    if (wasInView) this.reveal(line);
    this.#later();
  }

  #resize() {
    this.#scale = scale(this.count, ROW, this.#view);
    const height = `${this.#scale.runway}px`;
    if (this.body.style.height !== height) this.body.style.height = height;
    if (this.#top > this.#scale.most) this.#setTop(this.#scale.most);
  }

  // MARK: Scrolling

  /** Learns where the element has been scrolled to, if not by this object. */
  #readTop() {
    const { scrollTop, clientHeight } = this.element;
    // A table that is not shown has no place.
    if (clientHeight === 0 || Math.abs(scrollTop - this.#place) < 1) return;
    this.#place = scrollTop;
    this.#top = Math.min(scrollTop * this.#scale.factor, this.#scale.most);
  }

  #setTop(top) {
    this.#top = Math.max(0, Math.min(top, this.#scale.most));
    this.#place = Math.round(this.#top / this.#scale.factor);
    this.element.scrollTop = this.#place;
  }

  #later() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#readTop();
      if (!this.#state) return;
      this.#resize();
      this.#draw();
      this.#want();
    });
  }

  /** In a sheet that is longer than an element can be, the wheel goes by rows, and only the bar by share. */
  #wheel(event) {
    if (!this.#scale.isStretched || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    this.#setTop(this.#top + event.deltaY * [1, ROW, this.#view][event.deltaMode]);
    this.#later();
  }

  // MARK: The rows that are needed

  #want() {
    const { count } = this;
    const shown = this.linesInView + 2;
    const first = Math.floor(this.#top / ROW);
    const last = Math.min(count, first + shown);
    const from = this.#lines[0]?.line ?? 0;
    const to = (this.#lines.at(-1)?.line ?? -1) + 1;
    const spare = Math.floor(shown / 2);
    if (this.#state.total === 0 || (from <= Math.max(0, first - spare) && to >= Math.min(count, last + spare))) return;
    const key = `${first} ${last} ${from} ${to}`;
    if (key === this.#wanted) return;
    this.#wanted = key;
    const limit = shown * 3;
    // At the beginning the window stays there, so that rows that come first are seen.
    const settled = () => {
      const top = this.firstInView();
      return this.#top > ROW && top ? { around: top.row.id, before: shown, after: shown * 2 } : { offset: 0, limit };
    };
    const top = this.firstInView();
    if (top && top.line < last) return this.#on.onWindow(settled());
    this.#guesses = { line: first, count: this.#guesses.line === first ? this.#guesses.count + 1 : 0 };
    const row = rowAt(first, this.#state, this.#hasSections, this.#guesses.count);
    this.#on.onWindow({ offset: Math.max(0, row - shown), limit }, settled);
  }

  /** Asks again for rows that are needed and have not come. */
  check() {
    this.#wanted = null;
    if (this.#state) this.#want();
  }

  /** The window that was asked for is not to be had: its row has left the result. */
  lost() {
    if (!this.#state) return;
    const shown = this.linesInView + 2;
    const row = rowAt(Math.floor(this.#top / ROW), this.#state, this.#hasSections);
    this.#on.onWindow({ offset: Math.max(0, row - shown), limit: shown * 3 });
  }

  // MARK: Drawing

  /** Draws the row with an id, which was left as it was while it was edited. */
  redraw(id) {
    const one = this.#byID.get(id);
    if (one && this.#rows.has(id)) this.#row(one);
  }

  #draw() {
    const first = this.#top / ROW - MARGIN;
    const last = (this.#top + this.#view) / ROW + MARGIN;
    // In a stretched sheet, lines are where they are in view, not in the whole.
    const shift = this.#place - this.#top;
    this.#drawing += 1;
    let from = null;
    let to = 0;
    for (const one of this.#lines) {
      if (one.line < first || one.line > last) continue;
      const element = one.row ? this.#row(one) : this.#head(one);
      element.drawing_ = this.#drawing;
      const place = one.line * ROW + shift;
      from ??= place;
      to = place + ROW;
      if (element.place_ === place) continue;
      element.place_ = place;
      element.style.top = `${place}px`;
    }
    this.#forget(this.#rows);
    this.#forget(this.#heads);
    this.#showUndrawn(from ?? 0, to);
    this.cursor.draw();
  }

  /** Shows that there are lines above and below those that are drawn. */
  #showUndrawn(from, to) {
    const { above, below } = this;
    if (from !== this.#drawn.from) above.style.height = `${Math.max(0, from)}px`;
    if (to !== this.#drawn.to) below.style.top = `${to}px`;
    this.#drawn = { from, to };
  }

  /** Removes the elements that the newest drawing does not have. */
  #forget(elements) {
    elements.forEach((element, key) => {
      if (element.drawing_ === this.#drawing) return;
      // What is typed into a row stays as long as the row is there, seen or not.
      if (this.#byID.has(key) && element.querySelector('.editing')) return;
      element.remove();
      elements.delete(key);
    });
  }

  #row({ line, row }) {
    let element = this.#rows.get(row.id);
    if (!element) {
      element = make('div', { role: 'row', className: 'sheet-row', 'aria-selected': String(row.id === this.#opened),
        data: { id: String(row.id) } },
        make('div', { role: 'gridcell', className: 'cell id', id: this.cellID(row.id, 0), 'aria-colindex': 1 },
          String(row.id)));
      this.#fillAnew(element);
      this.#rows.set(row.id, element);
      this.body.append(element);
    }
    number(element, line);
    markPending(element, pendingOf(this.#state, row.id));
    if (element.row_ !== row && !element.querySelector('.editing')) {
      for (const [index, column] of this.#columns.entries()) fillCell(element.cells_[index], column, row);
      element.row_ = row;
    }
    return element;
  }

  /** Gives a row the cells of the present columns. */
  #fillAnew(element) {
    const id = Number(element.dataset.id);
    element.cells_ = this.#columns.map(({ isNumber }, index) => make('div', {
      role: 'gridcell', className: `cell${isNumber ? ' number' : ''}`, id: this.cellID(id, index + 1),
      'aria-colindex': index + 2,
    }));
    element.replaceChildren(element.firstElementChild, ...element.cells_);
    element.row_ = null;
  }

  #head({ line, section, index }) {
    let element = this.#heads.get(index);
    if (!element) {
      element = make('div', { role: 'row', className: 'sheet-row section' },
        make('div', { role: 'gridcell', className: 'cell', 'aria-colspan': this.#columns.length + 1,
          'aria-colindex': 1 }));
      this.#heads.set(index, element);
      this.body.append(element);
    }
    number(element, line);
    if (element.section_ !== section) {
      const name = section.key === null ? '(none)' : section.key === '' ? '(empty)' : String(section.key);
      element.firstElementChild.replaceChildren(make('b', {}, name), ...totalWords(section.totals));
      element.section_ = section;
    }
    return element;
  }

  #click(event) {
    const row = event.target.closest('.sheet-row[data-id]');
    if (!row || event.target.closest('input, textarea, select, button')) return;
    const id = Number(row.dataset.id);
    const column = [...row.children].indexOf(event.target.closest('.cell'));
    this.cursor.set(id, column < 0 ? undefined : column);
    if (event.target.closest('a') || String(getSelection()) !== '') return;
    this.focus();
    this.open(id);
  }
}

/** Gives a row the number of its line, if that is another one: the browser looks at each attribute that is set. */
function number(element, line) {
  if (element.line_ === line) return;
  element.line_ = line;
  element.setAttribute('aria-rowindex', line + 2);
}

/** Whether a row waits for the server: 'none', 'queued' or 'sent'. A list without own writes has none that does. */
const pendingOf = (state, id) => state?.pendingOf?.(id) ?? 'none';

/** A sign and words for a row that the server has not confirmed. */
const PENDING = { queued: ['…', 'waits to be sent'], sent: ['↑', 'on its way to the server'] };

function markPending(element, pending) {
  if ((element.pending_ ?? 'none') === pending) return;
  element.pending_ = pending;
  element.querySelector('.pending-mark')?.remove();
  if (pending === 'none') {
    delete element.dataset.pending;
    return;
  }
  element.dataset.pending = pending;
  const [sign, words] = PENDING[pending];
  element.firstElementChild.append(make('span', { className: 'pending-mark', title: words },
    make('span', { 'aria-hidden': 'true' }, sign), make('span', { className: 'quiet' }, `, ${words}`)));
}
