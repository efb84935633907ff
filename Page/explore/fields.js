// Fields for the values of an object. A field keeps what was typed until the server has taken it; the server's words
// stand below it. A value that somebody else changes meanwhile is offered, and replaces nothing.

import { button, make, newID } from '../shell/dom.js';
import { wordsOf } from '../shell/notice.js';
import { cellText, fieldText, isSame, moreText, readValue } from './values.js';

/** The largest file for a value of data. */
const FILE_BYTES_MAX = 65_536;

/** What the server says about a property of an object, or about all of it. */
export function faultWords(error, property) {
  const own = (error?.faults ?? []).filter((one) => one.property === null || one.property === property.number);
  return own.length > 0 ? own.map(({ message }) => message).join('; ') : wordsOf(error);
}

/**
 * A field of an attribute. `save(value)`: writes it; rejects with the server's error. `canWrite`: whether it is more
 * than text. `element` is a row of the object; `show(value, who)` takes what the server has.
 */
export class Field {
  #property;
  #save;
  #value = null;
  /** Whether something was typed that the server does not have. */
  #isDirty = false;
  /** The write that the server has not answered yet: a promise of whether it took the value. */
  #saving = null;
  /** What the field had as the last write began; and the value before it, until that write is stored or given up. */
  #sent = '';
  #before;

  constructor(property, { canWrite, save, label = property.name, type = property.type }) {
    this.#property = property;
    this.#save = save;
    this.id = newID('field');
    this.fault = make('p', { className: 'fault', id: `${this.id}-fault`, role: 'status', hidden: true });
    this.offer = make('p', { className: 'offer', hidden: true });
    // Its bytes are sent by other programs.
    canWrite &&= !/^large/.test(property.type);
    this.control = canWrite ? this.#makeControl() : make('div', { className: 'text', id: this.id });
    this.more = make('span', { className: 'soft more' });
    this.tools = canWrite ? this.#makeTools() : [];
    this.element = make('div', { className: 'field', data: { property: property.name } },
      make('label', { for: this.id }, make('span', {}, label), make('span', { className: 'soft type' }, type,
        property.isOptional ? '' : ' · required')),
      make('div', { className: 'control' }, this.control, ...this.tools), this.more, this.fault, this.offer);
    this.canWrite = canWrite;
  }

  get isDirty() {
    return this.#isDirty;
  }

  #makeControl() {
    const { type, isOptional } = this.#property;
    const common = { id: this.id, 'aria-describedby': this.fault.id, autocomplete: 'off' };
    if (type === 'boolean') {
      const select = make('select', common,
        ...[['true', 'yes'], ['false', 'no'], ...(isOptional ? [['', 'no value']] : [])]
        .map(([value, text]) => make('option', { value }, text)));
      select.addEventListener('change', () => { this.#typed(); this.commit(); });
      return select;
    }
    if (type === 'data') return make('output', { id: this.id, className: 'text' });
    const isText = type === 'string' || type === 'uri';
    const field = isText ? make('textarea', { ...common, rows: 1, spellcheck: type === 'string' })
      : make('input', { ...common, type: 'text', spellcheck: false,
        inputMode: ['integer', 'integer16', 'integer32'].includes(type) ? 'numeric'
        : ['double', 'float', 'decimal'].includes(type) ? 'decimal' : 'text',
      placeholder: type === 'date' ? '2026-11-26 09:30, today …' : '' });
    field.addEventListener('input', () => this.#typed());
    field.addEventListener('blur', () => this.commit());
    field.addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      const isEnd = event.key === 'Enter' && (!isText || !event.shiftKey);
      if (isEnd) this.commit();
      else if (event.key === 'Escape' && this.#isDirty) this.revert();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return field;
  }

  #makeTools() {
    const { type, isOptional } = this.#property;
    const tools = [];
    if (type === 'data') {
      const file = make('input',
        { type: 'file', className: 'quiet', tabIndex: -1, 'aria-hidden': 'true', onchange: () => this.#file(file) });
      tools.push(file, button('Choose a file', () => file.click()),
        button('Download', () => this.#download(), { data: { needs: 'value' } }));
    }
    if (isOptional && type !== 'boolean') {
      tools.push(button('∅', () => this.#write(null),
        { className: 'plain', data: { needs: 'value' }, title: `No value for ${this.#property.name}`,
        'aria-label': `No value for ${this.#property.name}` }));
    }
    return tools;
  }

  // MARK: What the server has

  /** Takes the server's value. `who`: the person who has changed it, if another one has. */
  show(value, who = null) {
    const isNew = !isSame(value, this.#value);
    this.#value = value;
    if (this.#isDirty) {
      // A write that was refused gives its own value back.
      if (isNew && !this.#saving && !isSame(value, this.#before)) this.#offerTheirs(value, who);
      return;
    }
    this.#fill();
  }

  #fill() {
    const value = this.#value;
    const { type } = this.#property;
    this.offer.hidden = true;
    for (const tool of this.tools) if (tool.dataset.needs) tool.hidden = value === null;
    this.more.textContent = moreText(value) ?? (value === '' ? 'the empty text' : '');
    this.control.classList.toggle('none', value === null);
    if (!this.canWrite || type === 'data') {
      this.control.textContent = value === null ? 'no value' : cellText(value);
      return;
    }
    if (type === 'boolean') this.control.value = value === null ? '' : String(value);
    else {
      const text = fieldText(value);
      if (this.control.value !== text) this.control.value = text;
      if (type !== 'date') this.control.placeholder = value === null ? 'no value' : '';
    }
    this.#grow();
  }

  /** Browsers that size fields by their content need no help. */
  #grow() {
    if (this.control.localName !== 'textarea' || CSS.supports('field-sizing', 'content')) return;
    this.control.rows = Math.min(8, this.control.value.split('\n').length);
  }

  #offerTheirs(value, who) {
    this.offer.hidden = false;
    const text = value === null ? 'no value' : cellText(value).slice(0, 80);
    this.offer.replaceChildren(`${who ?? 'Somebody'} has changed it to “${text}”. `,
      button('Use that', () => { this.revert(); this.control.focus(); }));
  }

  // MARK: What is typed

  #typed() {
    this.#isDirty = true;
    this.showFault(null);
    this.#grow();
  }

  showFault(words) {
    this.fault.hidden = words === null;
    this.fault.textContent = words ?? '';
    this.control.setAttribute('aria-invalid', String(words !== null));
  }

  /** Back to what the server has. */
  revert() {
    this.#isDirty = false;
    this.#before = undefined;
    this.showFault(null);
    this.#fill();
  }

  /** The value that was typed. @throws RangeError with words */
  read() {
    const { type } = this.#property;
    if (type === 'boolean') return this.control.value === '' ? null : this.control.value === 'true';
    return readValue(this.#property, this.control.value);
  }

  /** Writes what was typed, if something was, after what is being written. Resolves with whether the server has it. */
  async commit() {
    while (this.#saving) {
      const isTaken = await this.#saving;
      if (!isTaken && this.control.value === this.#sent) return false;
    }
    if (!this.#isDirty) return true;
    let value;
    try {
      value = this.read();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.showFault(error.message);
      return false;
    }
    // No value stays none as long as nothing is typed.
    if (isSame(value, this.#value) || (value === '' && this.#value === null && this.#property.isOptional)) {
      this.revert();
      return true;
    }
    return this.#write(value);
  }

  #write(value) {
    const write = this.#send(value).finally(() => { if (this.#saving === write) this.#saving = null; });
    this.#saving = write;
    return write;
  }

  async #send(value) {
    const typed = this.control.value;
    this.#sent = typed;
    this.#before = this.#value;
    this.#isDirty = true;
    this.element.classList.add('saving');
    try {
      await this.#save(value);
      // More may have been typed meanwhile.
      this.#isDirty = this.control.value !== typed;
      this.#value = value;
      this.#before = undefined;
      this.showFault(null);
      if (!this.#isDirty) this.#fill();
      return true;
    } catch (error) {
      this.showFault(faultWords(error, this.#property));
      if (this.#property.type === 'data') this.#isDirty = false;
      return false;
    } finally {
      this.element.classList.remove('saving');
    }
  }

  // MARK: Data

  async #file(input) {
    const [file] = input.files;
    input.value = '';
    if (!file) return;
    if (file.size > FILE_BYTES_MAX) {
      this.showFault(`the file has ${file.size} bytes; a value has at most ${FILE_BYTES_MAX}`);
      return;
    }
    await this.#write(new Uint8Array(await file.arrayBuffer()));
  }

  #download() {
    if (!(this.#value instanceof Uint8Array)) return;
    const url = URL.createObjectURL(new Blob([this.#value]));
    make('a', { href: url, download: this.#property.name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  }
}
