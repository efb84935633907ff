// Editing a value in its cell of the table. Enter writes it, and the table shows it at once; Escape leaves it. A value
// that the server has refused comes back into its cell, with the words below, to be corrected.

import { make } from '../shell/dom.js';
import { fieldText, isSame, readValue } from './values.js';

export class EditCell {
  /** The one that is open. @type {EditCell | null} */
  static #open = null;

  static get isOpen() {
    return EditCell.#open !== null;
  }

  /** Ends the one whose row is gone. */
  static check() {
    if (EditCell.#open && !EditCell.#open.cell.isConnected) EditCell.#open.end();
  }

  /**
   * `save(value, text)` writes; `giveFocus()` takes the keyboard that the field has; `onEnd()` when the field is gone.
   * Relationships and data are edited in the object. `refused`: `{ text, words }`, what the server has not accepted, and
   * why; `onLeft()`: the field is gone, and that was neither corrected nor given up. `takesFocus`: whether the keyboard
   * goes there.
   */
  static open(cell, property, value, given) {
    if ('destination' in property || /^(data|large)/.test(property.type)) return;
    EditCell.#open?.end();
    EditCell.#open = new EditCell(cell, property, value, given);
  }

  #isAnswered = false;

  constructor(cell, property, value, { save, giveFocus, onEnd, refused = null, onLeft = null, takesFocus = true }) {
    Object.assign(this, { cell, property, value, save, giveFocus, onEnd, refused, onLeft });
    this.kept = [...cell.childNodes];
    this.words = make('p', { className: 'fault cell-fault', role: 'alert', hidden: true });
    this.field = property.type === 'boolean'
      ? make('select', {}, [['true', 'yes'], ['false', 'no'], ...(property.isOptional ? [['', 'no value']]
        : [])].map(([each, text]) => make('option', { value: each }, text)))
      : make('input', { type: 'text', autocomplete: 'off', spellcheck: property.type === 'string' });
    this.field.setAttribute('aria-label', property.name);
    const text = property.type === 'boolean' ? (value === null ? '' : String(value)) : fieldText(value);
    this.field.value = refused?.text ?? text;
    this.field.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      if (event.key === 'Enter' || event.key === 'Tab') this.commit();
      else if (event.key === 'Escape') this.#giveUp();
      else return event.stopPropagation();
      event.preventDefault();
      return event.stopPropagation();
    });
    this.field.addEventListener('blur', ({ relatedTarget }) => {
      // What was refused is not sent again because the keyboard goes elsewhere.
      if (this.field.value !== this.refused?.text) this.commit(relatedTarget);
    });
    this.row = cell.closest('.sheet-row');
    this.row.classList.add('edited');
    cell.classList.add('editing');
    cell.replaceChildren(this.field, this.words);
    if (refused) this.#showWords(refused.words);
    if (!takesFocus) return;
    this.field.focus();
    this.field.select?.();
  }

  /** `next`: what gets the keyboard by a click, if that takes keys. Otherwise the table has it again. */
  commit(next = null) {
    if (this.isOver) return;
    let value;
    try {
      value = this.property.type === 'boolean' ? (this.field.value === '' ? null : this.field.value === 'true')
        : readValue(this.property, this.field.value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#showWords(error.message);
      this.field.focus();
      return;
    }
    this.#isAnswered = true;
    const isAsBefore = isSame(value, this.value) || (value === '' && this.value === null && !this.refused);
    this.#leave(next);
    if (!isAsBefore) this.save(value, this.field.value);
    this.end();
  }

  #giveUp() {
    this.#isAnswered = true;
    this.end();
  }

  #showWords(words) {
    this.words.textContent = words;
    this.words.hidden = false;
    this.row.classList.add('faulty');
    this.field.setAttribute('aria-invalid', 'true');
  }

  /**
   * Ends the editing, before anything else changes in the document: giving the keyboard to another element, and
   * removing the one that has it, make the browser lay out all that has changed until then.
   */
  #leave(next) {
    this.isOver = true;
    EditCell.#open = null;
    const { activeElement } = document;
    const isTaken = next !== null && next.tabIndex >= 0;
    if (!isTaken && (this.cell.contains(activeElement) || activeElement === document.body)) this.giveFocus();
  }

  /** Gives the cell back. What the row has now, the table draws. */
  end() {
    if (this.isEnded) return;
    this.isEnded = true;
    if (!this.isOver) this.#leave(null);
    this.row.classList.remove('edited', 'faulty');
    this.cell.classList.remove('editing');
    if (this.cell.contains(this.field)) this.cell.replaceChildren(...this.kept);
    this.row.row_ = null;
    this.onEnd();
    if (this.refused && !this.#isAnswered) this.onLeft?.();
  }
}
