// Editing a value in its cell of the table. Enter writes it, Escape leaves it; a value that the server refuses stays in
// the field with the words below.

import { make } from '../shell/dom.js';
import { faultWords } from './fields.js';
import { fieldText, isSame, readValue } from './values.js';

export class EditCell {
  /** The one that is open. */
  static #open = null;

  /**
   * `save(value)` rejects with the server's error; `onEnd(hadFocus)` when the field is gone. Relationships and data
   * are edited in the object.
   */
  static open(cell, property, value, { save, onEnd }) {
    if ('destination' in property || property.type === 'data') return;
    EditCell.#open?.end();
    EditCell.#open = new EditCell(cell, property, value, { save, onEnd });
  }

  constructor(cell, property, value, { save, onEnd }) {
    Object.assign(this, { cell, property, value, save, onEnd });
    this.kept = [...cell.childNodes];
    this.words = make('p', { className: 'fault cell-fault', role: 'alert', hidden: true });
    this.field = property.type === 'boolean'
      ? make('select', {}, [['true', 'yes'], ['false', 'no'], ...(property.isOptional ? [['', 'no value']]
        : [])].map(([each, text]) => make('option', { value: each }, text)))
      : make('input', { type: 'text', autocomplete: 'off', spellcheck: property.type === 'string' });
    this.field.setAttribute('aria-label', property.name);
    this.field.value = property.type === 'boolean' ? (value === null ? '' : String(value)) : fieldText(value);
    this.field.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      if (event.key === 'Enter') this.commit();
      else if (event.key === 'Escape') this.end();
      else return event.stopPropagation();
      event.preventDefault();
      return event.stopPropagation();
    });
    this.field.addEventListener('blur', () => this.commit());
    cell.classList.add('editing');
    cell.replaceChildren(this.field, this.words);
    this.field.focus();
    this.field.select?.();
  }

  async commit() {
    if (this.isSaving || this.isOver) return;
    let value;
    try {
      value = this.property.type === 'boolean' ? (this.field.value === '' ? null : this.field.value === 'true')
        : readValue(this.property, this.field.value);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return this.#refuse(error.message);
    }
    if (isSame(value, this.value) || (value === '' && this.value === null)) return this.end();
    this.isSaving = true;
    try {
      await this.save(value);
      this.end();
    } catch (error) {
      this.#refuse(faultWords(error, this.property));
    } finally {
      this.isSaving = false;
    }
  }

  #refuse(words) {
    this.words.textContent = words;
    this.words.hidden = false;
    this.field.setAttribute('aria-invalid', 'true');
    this.field.focus();
  }

  /** Gives the cell back. What the row has now, the table draws. */
  end() {
    if (this.isOver) return;
    this.isOver = true;
    EditCell.#open = null;
    const hadFocus = this.cell.contains(document.activeElement);
    this.cell.classList.remove('editing');
    if (this.cell.contains(this.field)) this.cell.replaceChildren(...this.kept);
    const row = this.cell.closest('.sheet-row');
    if (row) row.row_ = null;
    this.onEnd(hadFocus || document.activeElement === document.body);
  }
}
