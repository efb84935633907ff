// The line below the rows: how many there are, and what is not stored yet. And the chips at rows whose text waits.

import { button, make } from '../shell/dom.js';
import { numberText } from '../shell/format.js';
import { harmless } from './row.js';
import { short } from './texts.js';

const counted = (count, one, many) => `${numberText(count)} ${count === 1 ? one : many}`;

/** Sets a text that is another one: the browser lays out what is set, also if it is the same. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export class Status {
  #page;
  /** What the document says of it. */
  #state = null;

  constructor(page) {
    this.#page = page;
    this.count = make('span', {});
    this.waiting = make('span', { role: 'status' });
    this.element = make('footer', { className: 'status' }, this.count, this.waiting);
  }

  show() {
    const { tree, writes, texts, nest, rows } = this.#page;
    const { revision } = tree;
    const words = `${counted(tree.total, 'row', 'rows')} · revision ${revision}`;
    setText(this.count, tree.isLoaded ? words : 'Loading…');
    const unsent = texts.dirty.filter(({ sent }) => sent === null);
    const refused = unsent.filter(({ fault }) => fault).length;
    const waiting = writes.pending.length + unsent.length;
    const coming = waiting - refused;
    const isOffline = nest.state.phase !== 'ready';
    setText(this.waiting, [
      coming > 0 && (isOffline ? `${counted(coming, 'change waits', 'changes wait')} for the connection`
        : `saving ${counted(coming, 'change', 'changes')}…`),
      refused > 0 && `${counted(refused, 'change is', 'changes are')} not saved`,
    ].filter(Boolean).join(' · '));
    const state = `${revision} ${waiting}`;
    if (state !== this.#state) {
      this.#state = state;
      document.body.dataset.revision = revision;
      document.body.dataset.waiting = waiting;
      rows.list.dataset.waiting = waiting;
    }
    for (const text of texts.all) this.chips(text);
  }

  /** What a row says about its text: that it was refused, or that others have another one. */
  chips(text) {
    const { rows, texts, source } = this.#page;
    const shown = rows.elementOf(text.key);
    if (!shown) return;
    const parts = [];
    if (text.fault) {
      parts.push(make('span', { className: 'chip fault', role: 'alert' }, `Not saved: ${text.fault.message} `,
        button('Try again', () => { text.fault = null; texts.flush(text); this.show(); }),
        button('Discard', () => texts.revert(text))));
    }
    if (text.theirs !== null) {
      parts.push(make('span', { className: 'chip theirs', role: 'status' },
        make('span', {}, `Others wrote: “${harmless(short(text.theirs, 80))}” `),
        button('Take theirs', () => texts.takeTheirs(text)), button('Keep mine', () => texts.keepMine(text))));
    }
    const state = `${text.fault?.message ?? ''}|${text.theirs ?? ''}`;
    if (shown.chipsState === state) return;
    shown.chipsState = state;
    shown.isMeasured = false;
    shown.chips.replaceChildren(...parts);
    shown.chips.hidden = parts.length === 0;
    if (source) rows.draw();
  }
}
