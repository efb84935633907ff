// The box for a predicate: completion from the model, the server's fault at its place, and what was asked before.

import { button, make, newID } from '../shell/dom.js';
import { wordsOf } from '../shell/notice.js';
import { complete } from './complete.js';
import { faultRange } from './lex.js';

/** Predicates that are remembered for each entity. */
const HISTORY_MAX = 50;
/** After this time without a key the server is asked whether the text can be read, in milliseconds. */
const CHECK_MS = 350;

const key = (entity) => `nest-predicates-${entity}`;

/** The predicates of an entity, newest first. A browser that stores nothing has none. */
export function remembered(entity) {
  try {
    const list = JSON.parse(localStorage.getItem(key(entity)) ?? '[]');
    return Array.isArray(list) ? list.filter((text) => typeof text === 'string') : [];
  } catch {
    return [];
  }
}

export function remember(entity, text) {
  if (text.trim() === '') return;
  try {
    const list = [text, ...remembered(entity).filter((other) => other !== text)].slice(0, HISTORY_MAX);
    localStorage.setItem(key(entity), JSON.stringify(list));
  } catch {
    // It is only forgotten.
  }
}

/** `onRun(text)`: Enter, Ctrl+Enter or the button. `check(text)`: rejects with the server's fault. */
export class PredicateBox {
  #on;
  #model = null;
  #entity = null;
  #entries = [];
  #range = { from: 0, to: 0 };
  #chosen = -1;
  #timer = null;
  #checks = 0;
  /** Where one is in what was asked before; -1: at what was typed. */
  #past = -1;
  #typed = '';

  constructor(on) {
    this.#on = on;
    const list = newID('completion');
    this.fault = make('p', { className: 'fault predicate-fault', id: newID('fault'), role: 'status', hidden: true });
    this.field = make('textarea', {
      rows: 1, spellcheck: false, autocomplete: 'off', 'aria-label': 'Where: a predicate', 'aria-autocomplete': 'list',
      'aria-controls': list, 'aria-describedby': this.fault.id,
      placeholder: 'Where …   name == "Ann"',
    });
    this.field.setAttribute('autocapitalize', 'off');
    this.mirror = make('div', { className: 'mirror', 'aria-hidden': 'true' });
    this.list = make('ul',
      { id: list, className: 'completion', role: 'listbox', 'aria-label': 'Completions', hidden: true });
    this.element = make('div', { className: 'predicate' },
      make('div', { className: 'predicate-text' }, this.mirror, this.field, this.list),
      button('Run', () => this.#run(), { className: 'primary', title: 'Ctrl+Enter' }), this.fault);
    this.field.addEventListener('input', () => this.#edited());
    this.field.addEventListener('keydown', (event) => this.#key(event));
    this.field.addEventListener('click', () => this.#hide());
    this.field.addEventListener('blur', () => this.#hide());
    this.field.addEventListener('scroll', () => { this.mirror.scrollTop = this.field.scrollTop; });
    // The focus stays in the field.
    this.list.addEventListener('pointerdown', (event) => event.preventDefault());
    this.list.addEventListener('click', (event) => {
      const item = event.target.closest('[role=option]');
      if (item) this.#accept([...this.list.children].indexOf(item));
    });
  }

  get text() {
    return this.field.value;
  }

  describe(model, entity) {
    this.#model = model;
    this.#entity = entity;
    this.#past = -1;
  }

  /** Shows a predicate that was run. */
  set(text) {
    clearTimeout(this.#timer);
    this.#checks += 1;
    if (this.field.value !== text) this.field.value = text;
    this.showFault(null);
    this.#hide();
  }

  /** Shows why the server does not take the text; null: it does. */
  showFault(error) {
    const { text } = this;
    const isHere = error?.column != null;
    this.field.setAttribute('aria-invalid', String(error !== null));
    this.fault.hidden = error === null;
    this.fault.textContent = error ? wordsOf(error) : '';
    const { from, to } = isHere ? faultRange(text, error.column) : { from: 0, to: 0 };
    this.mirror.replaceChildren(text.slice(0, from),
      ...(isHere ? [make('mark', {}, text.slice(from, to) || ' ')] : []), text.slice(to));
    this.#grow();
  }

  close() {
    clearTimeout(this.#timer);
  }

  #grow() {
    this.field.style.height = 'auto';
    const height = Math.min(this.field.scrollHeight + 2, 160);
    this.field.style.height = `${height}px`;
  }

  #run() {
    clearTimeout(this.#timer);
    this.#checks += 1;
    this.#hide();
    this.#past = -1;
    this.#on.onRun(this.text);
  }

  // MARK: Typing

  #edited() {
    this.#past = -1;
    this.showFault(null);
    this.#offer();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#check(), CHECK_MS);
  }

  /** Asks the server about what has been typed. At the last word a fault may only be that it is not finished. */
  async #check() {
    const mine = ++this.#checks;
    const { text } = this;
    try {
      await this.#on.check(text);
      if (mine === this.#checks) this.showFault(null);
    } catch (error) {
      if (mine !== this.#checks || error.column == null) return;
      const isAtEnd = faultRange(text, error.column).to >= text.trimEnd().length;
      if (!isAtEnd || this.field !== document.activeElement) this.showFault(error);
    }
  }

  #offer() {
    const caret = this.field.selectionStart;
    if (!this.#model || caret !== this.field.selectionEnd) return this.#hide();
    const { from, to, entries } = complete(this.#model, this.#entity, this.text, caret);
    this.#range = { from, to };
    this.#entries = entries;
    this.#chosen = -1;
    this.list.replaceChildren(...entries.map(({ text, detail }, index) => make('li', {
      role: 'option', id: `${this.list.id}-${index}`, 'aria-selected': 'false',
    }, make('code', {}, text.trim()), make('span', { className: 'soft' }, detail))));
    this.list.hidden = entries.length === 0;
    this.#place(from);
  }

  /** Puts the list under the word that it completes. */
  #place(from) {
    if (this.list.hidden) return;
    const marker = make('span', {}, '\u200b');
    const { childNodes } = this.mirror;
    const kept = [...childNodes];
    this.mirror.replaceChildren(this.text.slice(0, from), marker);
    const left = marker.offsetLeft;
    this.mirror.replaceChildren(...kept);
    this.list.style.left = `${Math.max(0, Math.min(left, this.field.clientWidth - 220))}px`;
  }

  #hide() {
    this.list.hidden = true;
    this.#chosen = -1;
    this.field.removeAttribute('aria-activedescendant');
  }

  #choose(index) {
    const items = [...this.list.children];
    this.#chosen = (index + items.length) % items.length;
    for (const [at, item] of items.entries()) item.setAttribute('aria-selected', String(at === this.#chosen));
    const item = items[this.#chosen];
    item.scrollIntoView({ block: 'nearest' });
    this.field.setAttribute('aria-activedescendant', item.id);
  }

  #accept(index) {
    const { text, back } = this.#entries[index];
    const { from, to } = this.#range;
    this.field.focus();
    this.field.setSelectionRange(from, to);
    this.#insert(text);
    const caret = from + text.length - back;
    this.field.setSelectionRange(caret, caret);
    // A value in quotation marks is typed; after anything else there is more to choose.
    if (back === 0) this.#offer();
    else this.#hide();
  }

  /** As typed, so that the browser's own undo takes it back. */
  #insert(text) {
    if (!document.execCommand?.('insertText', false, text)) {
      this.field.setRangeText(text, this.field.selectionStart, this.field.selectionEnd, 'end');
      this.#edited();
    }
  }

  // MARK: Keys

  #key(event) {
    if (event.isComposing) return;
    const isOpen = !this.list.hidden;
    const { key: name } = event;
    if (name === 'Enter' && (event.ctrlKey || event.metaKey)) this.#run();
    else if (event.altKey && (name === 'ArrowUp' || name === 'ArrowDown')) this.#recall(name === 'ArrowUp' ? 1 : -1);
    else if (isOpen && name === 'ArrowDown') this.#choose(this.#chosen + 1);
    else if (isOpen && name === 'ArrowUp') this.#choose(this.#chosen < 0 ? -1 : this.#chosen - 1);
    else if (isOpen && (name === 'Enter' || name === 'Tab') && this.#chosen >= 0) this.#accept(this.#chosen);
    else if (isOpen && name === 'Tab' && !event.shiftKey) this.#accept(0);
    else if (isOpen && name === 'Escape') this.#hide();
    else if (!isOpen && name === 'ArrowDown' && this.text.indexOf('\n', this.field.selectionStart) < 0) this.#offer();
    else if (name === ' ' && event.ctrlKey) this.#offer();
    else if (name === 'Enter' && !event.shiftKey) this.#run();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #recall(by) {
    const past = remembered(this.#entity?.name ?? '');
    if (this.#past < 0) this.#typed = this.text;
    const to = Math.max(-1, Math.min(this.#past + by, past.length - 1));
    if (to === this.#past) return;
    this.field.value = to < 0 ? this.#typed : past[to];
    this.showFault(null);
    this.#hide();
    this.#past = to;
    this.field.setSelectionRange(this.text.length, this.text.length);
  }
}
