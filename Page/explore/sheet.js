// The live table: of a result of any size the rows in view are in the document. Rows keep their elements by their ids, so
// that one can see where a row goes; the focus stays on the table, and the active cell is named to assistive technology.

import { calm, make, newID } from '../shell/dom.js';
import { describeColumns, fillCell, heads, totalWords, widths } from './columns.js';
import { lineCount, linesOf, rowAt, scale } from './layout.js';
import { CHANGE, QUERY, SCROLL } from './live.js';
import { isSame } from './values.js';

const ROW = 34;
/** Rows drawn beyond the view on each side. */
const MARGIN = 8;
const MOVE_MS = 320;
/** How long a row shows who has changed it. */
const WHO_MS = 3_000;

/**
 * `onSort(path, isMore)`, `onOpen(id)`, `onEdit(row, column, cell)`: may return false; `onWindow(window, settled)`: the
 * rows that are needed.
 */
export class Sheet {
  #on;
  #columns = [];
  #model = null;
  #hasSections = false;
  #state = null;
  #lines = [];
  #byID = new Map();
  /** The elements of rows by id, and those of section heads by line. */
  #rows = new Map();
  #heads = new Map();
  #top = 0;
  #active = null;
  #opened = null;
  #frame = null;
  #wanted = null;
  #guesses = { line: -1, count: 0 };
  #observer;

  constructor(on) {
    this.#on = on;
    this.id = newID('sheet');
    this.headRow = make('div', { role: 'row', className: 'sheet-row heads', 'aria-rowindex': 1 });
    this.body = make('div', { role: 'rowgroup', className: 'runway' });
    this.grid = make('div', {
      role: 'grid', className: 'sheet-grid', tabIndex: 0, 'aria-label': 'Result', 'aria-readonly': 'true', id: this.id,
    }, make('div', { role: 'rowgroup', className: 'sheet-head' }, this.headRow), this.body);
    this.words = make('p', { className: 'empty', hidden: true });
    this.element = make('div', { className: 'sheet' }, this.grid, this.words);
    this.element.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.element.addEventListener('wheel', (event) => this.#wheel(event), { passive: false });
    this.grid.addEventListener('keydown', (event) => this.#key(event));
    this.grid.addEventListener('focus', () => this.#focused());
    this.body.addEventListener('click', (event) => this.#click(event));
    this.body.addEventListener('dblclick', (event) => this.#edit(this.#cellOf(event.target)));
    this.#observer = new ResizeObserver(() => this.#scrolled());
    this.#observer.observe(this.element);
  }

  close() {
    this.#observer.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  /** How many rows the first window has. */
  get rowsWanted() {
    return Math.max(60, Math.ceil(this.element.clientHeight / ROW) * 3);
  }

  /** What is shown from now on; rows come with `show`. */
  describe(model, entity, paths, { sort, hasSections, label }) {
    this.#model = model;
    this.#columns = describeColumns(model, entity, paths);
    this.#hasSections = hasSections;
    const { template, least } = widths(this.#columns);
    this.grid.style.setProperty('--columns', template);
    this.grid.style.minWidth = `${least}rem`;
    this.grid.setAttribute('aria-colcount', this.#columns.length + 1);
    this.grid.setAttribute('aria-label', label);
    const focused = document.activeElement?.closest?.('.sheet-head button')?.dataset.path;
    this.headRow.replaceChildren(...heads(this.#columns, sort, (path, isMore) => this.#on.onSort(path, isMore)));
    if (focused) [...this.headRow.querySelectorAll('button')].find((each) => each.dataset.path === focused)?.focus();
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    this.#clearHeads();
  }

  /** Marks the row whose object is open beside the table. */
  mark(id) {
    this.#opened = id;
    for (const [each, row] of this.#rows) row.setAttribute('aria-selected', String(each === id));
    if (id !== null) this.#active = { id, column: this.#active?.column ?? 0 };
  }

  focus() {
    this.grid.focus({ preventScroll: true });
  }

  /** Says why there are no rows. */
  showWords(text) {
    this.words.hidden = text === null;
    this.words.textContent = text ?? '';
  }

  // MARK: States

  /** Shows a state. `change`: what the list has said, for animations and for who has done it. */
  show(state, { cause, change }) {
    const before = this.#places();
    const old = this.#byID;
    const anchor = cause === QUERY ? null : this.#anchor();
    this.#state = state;
    this.#lines = linesOf(state, this.#hasSections);
    this.#byID = new Map(this.#lines.filter(({ row }) => row).map((one) => [one.row.id, one]));
    if (cause === QUERY) this.#setTop(0);
    else if (anchor) {
      const now = this.#byID.get(anchor.id);
      if (now) this.#setTop(this.#top + (now.line - anchor.line) * ROW);
    }
    const count = lineCount(state, this.#hasSections);
    this.grid.setAttribute('aria-rowcount', count + 1);
    this.#resize(count);
    this.#draw();
    if (cause !== SCROLL) this.#animate(before, old, change, cause);
    this.#want();
  }

  /** The first row in view that is known, if one has scrolled. */
  #anchor() {
    if (this.#top <= 0) return null;
    const first = this.#top / ROW;
    const one = this.#lines.find(({ line, row }) => row && line >= first);
    return one ? { id: one.row.id, line: one.line } : null;
  }

  #resize(count) {
    this.#scale = scale(count, ROW, this.#view);
    this.body.style.height = `${this.#scale.runway}px`;
    if (this.#top > this.#scale.most) this.#setTop(this.#scale.most);
  }

  #scale = scale(0, ROW, 0);

  get #view() {
    return Math.max(0, this.element.clientHeight - this.headRow.offsetHeight);
  }

  /** Scrolls to a place, in pixels of all lines. */
  #setTop(top) {
    this.#top = Math.max(0, top);
    this.#place = Math.round(this.#top / this.#scale.factor);
    this.element.scrollTop = this.#place;
  }

  /** Where the element has been scrolled to by this object. */
  #place = 0;

  #scrolled() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      const { scrollTop } = this.element;
      if (Math.abs(scrollTop - this.#place) >= 1) {
        this.#place = scrollTop;
        this.#top = Math.min(scrollTop * this.#scale.factor, this.#scale.most);
      }
      if (!this.#state) return;
      this.#resize(lineCount(this.#state, this.#hasSections));
      this.#draw();
      this.#want();
    });
  }

  /** In a sheet that is longer than an element can be, the wheel goes by rows, and only the bar by share. */
  #wheel(event) {
    if (!this.#scale.isStretched || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    const unit = [1, ROW, this.#view][event.deltaMode];
    this.#setTop(Math.min(this.#top + event.deltaY * unit, this.#scale.most));
    this.#scrolled();
  }

  // MARK: The rows that are needed

  #want() {
    const state = this.#state;
    const count = lineCount(state, this.#hasSections);
    const shown = Math.ceil(this.#view / ROW) + 1;
    const first = Math.floor(this.#top / ROW);
    const last = Math.min(count, first + shown);
    const known = this.#lines;
    const from = known[0]?.line ?? 0;
    const to = (known.at(-1)?.line ?? -1) + 1;
    const has = from <= Math.max(0, first - Math.floor(shown / 2)) && to >= Math.min(count, last + Math.floor(shown / 2));
    const limit = shown * 3;
    const top = known.find(({ line, row }) => row && line >= first);
    const isInView = top && top.line < last;
    // A window at the beginning stays there: what comes first is shown.
    const settled = () => {
      const now = this.#lines.find(({ line, row }) => row && line >= this.#top / ROW);
      return this.#top > ROW && now ? { around: now.row.id, before: shown, after: shown * 2 } : { offset: 0, limit };
    };
    if (has || state.total === 0) return;
    const key = `${first} ${last} ${state.revision} ${from} ${to}`;
    if (key === this.#wanted) return;
    this.#wanted = key;
    if (isInView) this.#on.onWindow(settled());
    else {
      this.#guesses = { line: first, count: this.#guesses.line === first ? this.#guesses.count + 1 : 0 };
      const row = rowAt(first, state, this.#hasSections, this.#guesses.count);
      this.#on.onWindow({ offset: Math.max(0, row - shown), limit }, settled);
    }
  }

  /** The window that was asked for is not to be had. */
  lost() {
    this.#wanted = null;
    if (this.#state) {
      const limit = (Math.ceil(this.#view / ROW) + 1) * 3;
      this.#on.onWindow({ offset: Math.max(0, rowAt(Math.floor(this.#top / ROW), this.#state, this.#hasSections) - limit / 3), limit });
    }
  }

  // MARK: Drawing

  #draw() {
    const first = this.#top / ROW - MARGIN;
    const last = (this.#top + this.#view) / ROW + MARGIN;
    // In a stretched sheet, lines are where they are in view, not in the whole.
    const shift = this.#place - this.#top;
    const kept = new Set();
    const heads_ = new Set();
    for (const one of this.#lines) {
      if (one.line < first || one.line > last) continue;
      const element = one.row ? this.#row(one) : this.#head(one);
      (one.row ? kept : heads_).add(one.row ? one.row.id : one.index);
      element.style.transform = `translateY(${one.line * ROW + shift}px)`;
    }
    for (const [id, row] of this.#rows) if (!kept.has(id)) this.#drop(this.#rows, id, row);
    for (const [index, head] of this.#heads) if (!heads_.has(index)) this.#drop(this.#heads, index, head);
    this.#nameActive();
  }

  #drop(map, key, element) {
    element.remove();
    map.delete(key);
  }

  #clearHeads() {
    for (const head of this.#heads.values()) head.remove();
    this.#heads.clear();
  }

  #row({ line, row }) {
    let element = this.#rows.get(row.id);
    if (!element) {
      const cells = this.#columns.map(({ isNumber }, index) => make('div', {
        role: 'gridcell', className: `cell${isNumber ? ' number' : ''}`, id: `${this.id}-${row.id}-${index + 1}`, 'aria-colindex': index + 2,
      }));
      const id = make('div', { role: 'gridcell', className: 'cell id', id: `${this.id}-${row.id}-0`, 'aria-colindex': 1 }, String(row.id));
      element = make('div', { role: 'row', className: 'sheet-row', 'aria-selected': String(row.id === this.#opened), data: { id: String(row.id) } },
        id, cells);
      element.cells_ = cells;
      this.#rows.set(row.id, element);
      this.body.append(element);
    }
    element.setAttribute('aria-rowindex', line + 2);
    if (element.row_ !== row) {
      for (const [index, column] of this.#columns.entries()) fillCell(element.cells_[index], column, row);
      element.row_ = row;
    }
    return element;
  }

  #head({ line, section, index }) {
    let element = this.#heads.get(index);
    if (!element) {
      element = make('div', { role: 'row', className: 'sheet-row section' },
        make('div', { role: 'gridcell', className: 'cell', 'aria-colspan': this.#columns.length + 1 }));
      this.#heads.set(index, element);
      this.body.append(element);
    }
    element.setAttribute('aria-rowindex', line + 2);
    if (element.section_ !== section) {
      const name = section.key === null ? '(none)' : section.key === '' ? '(empty)' : String(section.key);
      element.firstElementChild.replaceChildren(make('b', {}, name), ...totalWords(section.totals));
      element.section_ = section;
    }
    return element;
  }

  // MARK: Changes that one can see

  /** Where each row is on the screen. */
  #places() {
    return new Map([...this.#byID].filter(([id]) => this.#rows.has(id)).map(([id, { line }]) => [id, line * ROW - this.#top]));
  }

  #animate(before, old, change, cause) {
    const isCalm = calm.matches;
    const who = cause === CHANGE ? authorOf(change) : null;
    let remote = 0;
    for (const [id, element] of this.#rows) {
      const one = this.#byID.get(id);
      const past = before.get(id);
      const now = one.line * ROW - this.#top;
      let isChanged = false;
      if (past === undefined) {
        // A row that came into view by a move of the window is not new.
        if (!old.has(id) && before.size > 0) {
          isChanged = true;
          if (!isCalm) element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS });
        }
      } else {
        const delta = past - now;
        if (delta !== 0 && !isCalm) {
          const { transform } = element.style;
          element.animate([{ transform: `${transform} translateY(${delta}px)` }, { transform }], { duration: MOVE_MS, easing: 'ease-out' });
        }
        isChanged = cause === CHANGE && this.#flash(element, old.get(id).row, one.row);
      }
      if (isChanged && cause === CHANGE) {
        if (who) this.#tag(element, who);
        if (!change.own?.length) remote += 1;
      }
    }
    if (remote > 0) this.#on.onRemote(remote, who);
  }

  /** Marks the cells that differ; true if one does. */
  #flash(element, before, after) {
    if (before === after) return false;
    let isChanged = false;
    for (const [index, { path, label }] of this.#columns.entries()) {
      if (isSame(before.get(path), after.get(path)) && (!label || isSame(before.get(label), after.get(label)))) continue;
      isChanged = true;
      const cell = element.cells_[index];
      cell.classList.remove('changed');
      // The browser starts an animation again only if it has seen the cell without it.
      void cell.offsetWidth;
      cell.classList.add('changed');
    }
    return isChanged;
  }

  #tag(element, who) {
    element.querySelector('.who')?.remove();
    const tag = make('span', { className: 'who', 'aria-hidden': 'true' }, who);
    element.append(tag);
    setTimeout(() => tag.remove(), WHO_MS);
  }

  // MARK: Keys and clicks

  #cellOf(target) {
    const cell = target.closest?.('.cell');
    const row = cell?.closest('.sheet-row[data-id]');
    if (!row) return null;
    return { id: Number(row.dataset.id), column: [...row.children].indexOf(cell), cell, row: row.row_ };
  }

  #click(event) {
    const found = this.#cellOf(event.target);
    if (!found || event.target.closest('input, textarea, select, button')) return;
    this.#active = { id: found.id, column: found.column };
    this.#nameActive();
    if (event.target.closest('a') || String(getSelection()) !== '') return;
    this.focus();
    this.#on.onOpen(found.id);
  }

  #edit(found) {
    if (!found || found.column === 0) return;
    const column = this.#columns[found.column - 1];
    if (column.property) this.#on.onEdit(found.row, column, found.cell);
  }

  #focused() {
    if (!this.#active && this.#lines.length > 0) {
      const first = this.#lines.find(({ line, row }) => row && line * ROW >= this.#top);
      if (first) this.#active = { id: first.row.id, column: 0 };
    }
    this.#nameActive();
  }

  #nameActive() {
    const id = this.#active && `${this.id}-${this.#active.id}-${this.#active.column}`;
    const cell = id && document.getElementById(id);
    for (const each of this.body.querySelectorAll('.active')) if (each !== cell) each.classList.remove('active');
    cell?.classList.add('active');
    if (cell) this.grid.setAttribute('aria-activedescendant', id);
    else this.grid.removeAttribute('aria-activedescendant');
  }

  #key(event) {
    if (event.target !== this.grid || event.altKey) return;
    const { key } = event;
    const count = this.#state ? lineCount(this.#state, this.#hasSections) : 0;
    if (count === 0) return;
    const line = this.#byID.get(this.#active?.id)?.line ?? Math.ceil(this.#top / ROW);
    const page = Math.max(1, Math.floor(this.#view / ROW) - 1);
    const hasCommand = event.ctrlKey || event.metaKey;
    const columns = this.#columns.length;
    const column = this.#active?.column ?? 0;
    if (key === 'ArrowDown') this.#goTo(line + 1, 1);
    else if (key === 'ArrowUp') this.#goTo(line - 1, -1);
    else if (key === 'PageDown') this.#goTo(line + page, 1);
    else if (key === 'PageUp') this.#goTo(line - page, -1);
    else if (key === 'Home' && hasCommand) this.#goTo(0, 1);
    else if (key === 'End' && hasCommand) this.#goTo(count - 1, -1);
    else if (key === 'ArrowRight') this.#toColumn(Math.min(columns, column + 1));
    else if (key === 'ArrowLeft') this.#toColumn(Math.max(0, column - 1));
    else if (key === 'Home') this.#toColumn(0);
    else if (key === 'End') this.#toColumn(columns);
    else if ((key === 'Enter' || key === ' ') && this.#active) this.#on.onOpen(this.#active.id);
    else if (key === 'F2' && this.#active) this.editActive();
    else return;
    event.preventDefault();
  }

  /** Edits the active cell in its place. */
  editActive() {
    const cell = document.getElementById(`${this.id}-${this.#active?.id}-${this.#active?.column}`);
    if (cell) this.#edit(this.#cellOf(cell));
  }

  #toColumn(column) {
    if (!this.#active) this.#focused();
    if (!this.#active) return;
    this.#active = { ...this.#active, column };
    this.#nameActive();
    const cell = document.getElementById(this.grid.getAttribute('aria-activedescendant'));
    cell?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /** Makes the row at a line active, or the next one in this direction if a head is there; when it comes, if it is not. */
  #goTo(line, by) {
    const count = lineCount(this.#state, this.#hasSections);
    const to = Math.max(0, Math.min(line, count - 1));
    this.#reveal(to);
    const find = () => this.#lines.find((one) => one.line === to);
    const found = find();
    if (found?.row) this.#active = { id: found.row.id, column: this.#active?.column ?? 0 };
    else if (found) {
      const next = this.#lines.find((one) => one.line === to + by);
      if (next?.row) {
        this.#active = { id: next.row.id, column: this.#active?.column ?? 0 };
        this.#reveal(next.line);
      }
    } else this.#pending = { line: to, by };
    this.#scrolled();
    this.#nameActive();
  }

  #pending = null;

  #reveal(line) {
    const top = line * ROW;
    if (top < this.#top) this.#setTop(top);
    else if (top + ROW > this.#top + this.#view) this.#setTop(top + ROW - this.#view);
  }
}

/** Who has made a change, if it was one person and not this client. */
function authorOf({ own = [], authors = [] }) {
  const others = authors.filter(({ revision }) => !own.includes(revision));
  const names = new Set(others.map(({ user, userClaimed, sessionNumber }) =>
    (user ? `${userClaimed ? '~' : ''}${user}` : `session ${sessionNumber}`)));
  return names.size === 1 ? [...names][0] : null;
}
