// The field for the row that is edited: one for all rows, over the text of the row. So an input method and the spell
// checker keep what they know, and a row that is drawn anew takes no focus with it.

import { make } from '../shell/dom.js';
import { indexAtPoint, linesAt, placeAtPoint, placeInLine } from './caret.js';

/** The least time between two looks at where the selection is, in milliseconds. */
const CARET_MS = 200;

export class Editor {
  #rows;
  #tree;
  #texts;
  #selecting = null;
  #caretTimer = null;
  /** The cell that says that the field is in it. */
  #owner = null;
  /** The column that ↑ and ↓ keep. */
  column = null;
  /** The number of the row among all, when it was last there. */
  lastPlace = null;
  key = null;
  field = null;
  text = null;
  /** Whether the row was made just now, and does not show yet. */
  isComing = false;
  /** Called when another row is edited, or the caret has moved. */
  moved = () => {};
  /** Called when the mouse, with its button down, leaves the row. */
  draggedOut = () => {};
  /** Called when somebody types into a row that is far from what is shown. */
  typedAway = () => {};

  constructor({ rows, tree, texts }) {
    this.#rows = rows;
    this.#tree = tree;
    this.#texts = texts;
    this.element = make('textarea', {
      className: 'editor', rows: 1, hidden: true, spellcheck: true, autocapitalize: 'sentences', enterKeyHint: 'enter',
      'aria-label': 'Title', 'aria-describedby': 'keys-hint', dir: 'auto', autocomplete: 'off',
    });
    rows.layer.append(this.element);
    const { element } = this;
    element.addEventListener('input', () => this.#typed());
    element.addEventListener('compositionstart', () => this.text && this.#texts.composing(this.text, true));
    element.addEventListener('compositionend', () => this.#composed());
    document.addEventListener('selectionchange', this.#selected);
    element.addEventListener('blur', () => this.text && this.#texts.flush(this.text));
    addEventListener('mousemove', this.#dragged);
    addEventListener('mouseup', this.#released);
  }

  remove() {
    this.close();
    document.removeEventListener('selectionchange', this.#selected);
    removeEventListener('mousemove', this.#dragged);
    removeEventListener('mouseup', this.#released);
  }

  get isOpen() {
    return this.key !== null;
  }

  get isComposing() {
    return Boolean(this.text?.isComposing);
  }

  get row() {
    return this.key === null ? null : this.#tree.row(this.key) ?? null;
  }

  /** The selection: the pair of its places. */
  get selection() {
    return [this.element.selectionStart, this.element.selectionEnd];
  }

  /**
   * Edits a row; `row`: what is known of one that is not here yet. `caret`: a place, a pair of places, 'end', or
   * `{ column, line: 'first' | 'last' }`.
   */
  open(key, { field = 'title', caret = 'end', row = this.#tree.row(key) } = {}) {
    if (!row) return;
    this.goOn();
    if (this.key !== key || this.field !== field) {
      if (this.isComposing) this.#texts.composing(this.text, false);
      if (this.text) this.#texts.close(this.text);
      this.key = key;
      this.field = field;
      this.text = this.#texts.open(key, field, row[field], this.#tree.revision);
      this.text.isOpen = true;
      this.isComing = !this.row;
      this.element.setAttribute('aria-label', field === 'title' ? 'Title' : 'Note');
    }
    if (this.element.value !== this.text.text) this.element.value = this.text.text;
    this.element.hidden = false;
    this.#rows.focus(key, field);
    // One that was made just now comes before the next frame.
    if (this.isComing) this.#rows.drawSoon();
    else {
      this.#rows.draw();
      this.#rows.reveal(key);
    }
    if (document.activeElement !== this.element) this.element.focus({ preventScroll: true });
    this.#setCaret(caret);
    this.moved();
  }

  /** Takes no text until another row is opened. */
  wait() {
    this.element.readOnly = true;
  }

  goOn() {
    this.element.readOnly = false;
  }

  /** Shows until a promise ends that then the caret may go elsewhere. Returns the promise's result. */
  async busy(end) {
    this.element.ariaBusy = 'true';
    try {
      return await end;
    } finally {
      this.element.ariaBusy = null;
    }
  }

  #setCaret(caret) {
    const under = this.#under;
    let [start, end] = Array.isArray(caret) ? caret : [caret, caret];
    if (caret === 'end') start = end = this.element.value.length;
    else if (caret?.line && under) start = end = placeInLine(under, caret.column, caret.line);
    const { length } = this.element.value;
    this.element.setSelectionRange(Math.min(start, length), Math.min(end, length));
    if (!caret?.line) this.column = null;
    this.text.selection = this.selection;
  }

  /** Ends editing. The keyboard goes to the list if `keepsFocus`. */
  close() {
    this.goOn();
    if (this.key === null) return;
    // An input method that still composes ends with the field.
    if (this.text.isComposing) this.#texts.composing(this.text, false);
    this.#texts.close(this.text);
    this.key = this.field = this.text = null;
    this.element.hidden = true;
    this.#rows.focus(null);
    this.moved();
  }

  /** The text under the field. */
  get #under() {
    return this.#rows.elementOf(this.key)?.[this.field] ?? null;
  }

  /**
   * Lays the field over the text again: after each drawing, and when what was typed changes the lines. `isLate`: says
   * where the field belongs, and does not ask where that is.
   */
  place({ isLate = false } = {}) {
    const under = this.key === null ? null : this.#under;
    if (!under) return;
    const number = this.#tree.place(this.key);
    if (number >= 0) this.lastPlace = number;
    const shown = this.#rows.elementOf(this.key);
    if (this.#owner !== shown.cell) {
      this.#owner?.removeAttribute('aria-owns');
      this.#owner = shown.cell;
      this.element.id = 'editor';
      shown.cell.setAttribute('aria-owns', 'editor');
    }
    if (isLate) return;
    const box = under.getBoundingClientRect();
    const layer = this.#rows.layer.getBoundingClientRect();
    const { style } = this.element;
    const isAway = shown.element.classList.contains('away') || box.bottom < layer.top || box.top > layer.bottom;
    this.element.classList.toggle('away', isAway);
    this.element.classList.toggle('note', this.field === 'note');
    this.element.classList.toggle('done', shown.element.classList.contains('done'));
    style.transform = `translate(${box.left - layer.left}px, ${isAway ? 0 : box.top - layer.top}px)`;
    style.width = `${box.width}px`;
    style.height = `${Math.max(box.height, 20)}px`;
  }

  /** A text has changed under the field: by a merge, or because theirs was taken. */
  refresh(text) {
    if (text !== this.text || this.element.value === text.text) return;
    const { selection } = text;
    this.element.value = text.text;
    if (selection) this.element.setSelectionRange(...selection);
  }

  #typed() {
    if (!this.text) return;
    this.column = null;
    // Drawn first: what is typed shows at once.
    this.#texts.typed(this.text, this.element.value, this.selection);
    this.#tree.refresh();
    this.#rows.draw({ isLate: true });
    if (!this.#rows.reveal(this.key)) this.typedAway(this.key);
  }

  #composed() {
    if (!this.text) return;
    this.#texts.typed(this.text, this.element.value, this.selection);
    this.#texts.composing(this.text, false);
    this.#texts.typed(this.text, this.text.text, this.text.selection);
    this.refresh(this.text);
    this.#tree.refresh();
    this.#rows.draw();
  }

  #selected = () => {
    if (!this.text || document.activeElement !== this.element) return;
    this.text.selection = this.selection;
    this.#caretTimer ??= setTimeout(() => {
      this.#caretTimer = null;
      this.moved();
    }, CARET_MS);
  };

  // MARK: Lines and columns

  /** Whether the caret is in the first, and in the last line. */
  get lines() {
    const under = this.#under;
    return under ? linesAt(under, this.element.selectionEnd) : { isFirst: true, isLast: true, left: 0 };
  }

  // MARK: The mouse

  /** The button went down on a text that is not edited yet: the caret goes there, and a selection begins. */
  press(event, key, field) {
    const before = this.#rows.elementOf(key)?.[field];
    const caret = before ? indexAtPoint(before, event.clientX, event.clientY) ?? 'end' : 'end';
    this.open(key, { field, caret });
    this.#selecting = { key, from: this.element.selectionStart };
  }

  #dragged = (event) => {
    if (!this.#selecting || this.#selecting.key !== this.key || !(event.buttons & 1)) return;
    const under = this.#under;
    if (!under) return;
    const { top, bottom } = this.#rows.elementOf(this.key).element.getBoundingClientRect();
    if (event.clientY < top || event.clientY > bottom) return this.draggedOut(event);
    const at = placeAtPoint(under, event.clientX, event.clientY);
    const { from } = this.#selecting;
    this.element.setSelectionRange(Math.min(from, at), Math.max(from, at), at < from ? 'backward' : 'forward');
    return undefined;
  };

  #released = () => {
    this.#selecting = null;
  };
}
