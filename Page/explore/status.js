// The line above the table: how many objects there are, and what the server has not said yet about what is shown.

import { make } from '../shell/dom.js';
import { numberText } from '../shell/format.js';
import { isSettled, STALE, unsettledWords } from './unsettled.js';

/** What is over within this time is not said, in milliseconds: most writes are. */
const SAY_MS = 400;

export class Status {
  #writes;
  #state = null;
  #link = 'connecting';
  #timer = null;
  #end;

  constructor(writes) {
    this.#writes = writes;
    this.counted = make('span', {});
    this.more = make('span', { className: 'result-more' });
    this.element = make('p', { className: 'result-status', role: 'status' }, this.counted, this.more);
    this.#end = writes.follow(() => this.#later());
  }

  close() {
    this.#end();
    clearTimeout(this.#timer);
  }

  /** `hasSections`: undefined if it is as before. */
  show(state, hasSections = this.hasSections) {
    this.#state = state;
    this.hasSections = hasSections;
    const { total } = state;
    const sections = hasSections ? `, ${numberText(state.position?.sectionTotal ?? 0)} sections` : '';
    const words = `${numberText(total)} ${total === 1 ? 'object' : 'objects'}${sections}`;
    // A screen reader says what changes.
    if (this.counted.textContent !== words) this.counted.textContent = words;
    this.#later();
  }

  showLink(status) {
    this.#link = status;
    this.#later();
  }

  #later() {
    if (isSettled(this.#unsettled)) {
      clearTimeout(this.#timer);
      this.#timer = null;
      this.more.textContent = '';
      return;
    }
    if (this.more.textContent !== '') return this.#say();
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#say();
    }, SAY_MS);
  }

  #say() {
    const words = unsettledWords(this.#unsettled);
    if (this.more.textContent !== words) this.more.textContent = words;
  }

  get #unsettled() {
    const { undecided = 0 } = this.#state ?? {};
    return { undecided, pending: this.#writes.pending.length, isCurrent: this.#isCurrent, status: this.#link };
  }

  /** A list without own writes says it by its status. */
  get #isCurrent() {
    if (!this.#state || this.#link === 'ended') return true;
    return this.#state.isCurrent ?? STALE[this.#link] === undefined;
  }
}
