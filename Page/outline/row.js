// One row of the outline, as elements. Its text is never read as code.

import { button, fill, icon, make } from '../shell/dom.js';

const FOLD = 'M6 4l4 4-4 4';
const MORE = 'M3.4 8h.2M7.9 8h.2M12.4 8h.2';
/** A sign and words for a row that the server has not confirmed, as in the explorer. */
const PENDING = { queued: ['…', 'waits to be sent'], sent: ['↑', 'on its way to the server'] };
/** Levels that are indented; deeper rows would leave no room for their texts. */
const INDENTS_MAX = 24;
/** What a text has besides words: tags and names to search for, and addresses. */
const PARTS = /(^|[\s(])([#@][\p{L}\p{N}_][\p{L}\p{N}_-]{0,60})|\bhttps?:\/\/[^\s<>"']{1,2000}/gu;
/** Characters that could make a text look like another one are shown as signs of their own. */
const TRAPS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** What `RowElement` shows of a row besides its place and its state. */
const SHOWN = ['key', 'depth', 'children', 'isExpanded', 'done', 'isNew', 'title', 'note'];
const NOTHING = Object.freeze({ row: null, editing: null });

/** A text with its traps visible. */
export const harmless = (text) => text.replace(TRAPS, (each) => {
  const code = each.codePointAt(0);
  return code < 0x20 ? String.fromCodePoint(0x2400 + code) : '�';
});

/** The parts of a text: strings, and elements for tags and addresses. */
export function partsOf(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(PARTS)) {
    const [whole, before = '', tag] = found;
    const start = found.index + before.length;
    if (start > end) parts.push(harmless(text.slice(end, start)));
    if (tag) parts.push(make('span', { className: 'hashtag', data: { tag } }, tag));
    else {
      const address = whole.replace(/[.,;:!?)\]]+$/, '');
      parts.push(make('a', { href: address, target: '_blank', rel: 'noopener noreferrer', tabIndex: -1 }, address));
      end = start + address.length;
      continue;
    }
    end = found.index + whole.length;
  }
  if (end < text.length) parts.push(harmless(text.slice(end)));
  return parts;
}

/** An element for a row; `fill` shows a row in it. `mayEdit`: whether it offers changes. */
export class RowElement {
  constructor({ mayEdit }) {
    this.fold = button('', null, { className: 'fold', tabIndex: -1, 'aria-label': 'Unfold' });
    this.fold.append(icon(FOLD));
    this.bullet = make('a', { className: 'bullet', tabIndex: -1, draggable: false });
    this.more = button('', null, { className: 'more', tabIndex: -1, 'aria-label': 'Actions', 'aria-haspopup': 'menu' });
    this.more.append(icon(MORE));
    this.title = make('div', { className: 'title', dir: 'auto' });
    this.note = make('div', { className: 'note', dir: 'auto' });
    this.chips = make('div', { className: 'chips' });
    this.chipsState = '|';
    this.people = make('div', { className: 'here', data: { who: '' } });
    this.mark = make('span', { className: 'pending-mark' });
    this.cell = make('div', { role: 'gridcell', className: 'cell' }, this.people, mayEdit ? this.more : null, this.fold,
      this.bullet, make('div', { className: 'body' }, this.title, this.note, this.chips), this.mark);
    this.element = make('div', { role: 'row', className: 'row' }, this.cell);
    this.row = null;
    this.texts = {};
    /** Attributes as they were set. */
    this.values = new Map();
    this.address = null;
    this.pending = 'none';
    /** What is shown; no row: nothing yet. */
    this.shown = NOTHING;
    /** Whether its height was read since. */
    this.isMeasured = false;
  }

  /**
   * Shows a row. `place`: its number among all; `editing`: the field that is edited here, or null; `siblings`: which of
   * how many it is, or null.
   */
  fill(row, { place, editing, siblings, isSelected }) {
    this.row = row;
    const { element } = this;
    // A row that is made gives all those below it another number: the browser looks at each attribute that is set.
    this.#set(element, 'aria-rowindex', place + 1);
    this.#set(element, 'aria-posinset', siblings?.place);
    this.#set(element, 'aria-setsize', siblings ? siblings.count : -1);
    this.#set(element, 'aria-selected', isSelected);
    this.#mark(row.pending);
    const { row: old, editing: was } = this.shown;
    if (old !== row || was !== editing) this.shown = { row, editing };
    if (old && was === editing && (old === row || SHOWN.every((name) => old[name] === row[name]))) return;
    this.isMeasured = false;
    element.dataset.key = row.key;
    // Until the rows have it as the server does, the page does not say that the object exists.
    if (row.isNew) delete element.dataset.id;
    else element.dataset.id = row.id;
    element.id = `row${row.key}`;
    element.style.setProperty('--depth', Math.min(row.depth, INDENTS_MAX));
    this.#set(element, 'aria-level', row.depth + 1);
    this.#set(element, 'aria-expanded', row.children > 0 ? row.isExpanded : null);
    element.classList.toggle('done', Boolean(row.done));
    element.classList.toggle('new', Boolean(row.isNew));
    element.classList.toggle('parent', row.children > 0);
    element.classList.remove('grey', 'wide');
    this.#set(this.fold, 'aria-label', row.isExpanded ? 'Fold' : 'Unfold');
    this.fold.hidden = row.children === 0;
    this.bullet.classList.toggle('full', row.children > 0 && !row.isExpanded);
    const address = row.isNew ? '' : `/outline/${row.id}`;
    if (this.address !== address) {
      this.address = address;
      set(this.bullet, 'href', address || null);
      this.bullet.setAttribute('aria-label', 'Open this row');
    }
    this.#show('title', row.title, editing === 'title');
    this.note.hidden = !row.note && editing !== 'note';
    this.#show('note', row.note ?? '', editing === 'note');
  }

  /** Sets an attribute that has another value; null and undefined: removes it. */
  #set(element, name, value) {
    const known = element === this.fold ? 'fold' : name;
    if (this.values.get(known) === value && this.values.has(known)) return;
    this.values.set(known, value);
    set(element, name, value);
  }

  /** Says that the server has not confirmed the row: `pending` is 'none', 'queued' or 'sent'. */
  #mark(pending) {
    if (this.pending === pending) return;
    this.pending = pending;
    set(this.element, 'data-pending', pending === 'none' ? null : pending);
    const [sign, words] = PENDING[pending] ?? [];
    this.mark.title = words ?? '';
    fill(this.mark, sign && make('span', { 'aria-hidden': 'true' }, sign),
      words && make('span', { className: 'quiet' }, words));
  }

  #show(field, text, isEdited) {
    const element = this[field];
    const shown = `${isEdited}${text}`;
    if (this.texts[field] === shown) return;
    this.texts[field] = shown;
    element.classList.toggle('edited', isEdited);
    set(element, 'aria-hidden', isEdited ? true : null);
    // The last line counts even if it is empty: the field over it has the same lines.
    if (isEdited) element.replaceChildren(`${text}\u200b`);
    else if (text === '') fill(element, field === 'title' && make('span', { className: 'none' }, '\u00a0'));
    else element.replaceChildren(...partsOf(text));
  }

  /** Shows that there is a row of which nothing is here yet. */
  grey(place) {
    const { element } = this;
    this.row = null;
    this.shown = NOTHING;
    this.texts = {};
    this.values.clear();
    this.address = null;
    element.className = place % 3 === 0 ? 'row grey wide' : 'row grey';
    element.id = `grey${place}`;
    delete element.dataset.key;
    delete element.dataset.id;
    this.#mark('none');
    element.style.setProperty('--depth', 0);
    element.setAttribute('aria-rowindex', place + 1);
    for (const name of ['aria-posinset', 'aria-setsize', 'aria-expanded', 'aria-selected', 'aria-level']) {
      element.removeAttribute(name);
    }
    this.fold.hidden = true;
    this.title.replaceChildren('\u00a0');
    this.note.hidden = true;
  }
}

function set(element, name, value) {
  if (value === null || value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, value);
}
