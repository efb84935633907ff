// The switch that holds receipts back, and what waits because of it. It stays as it is when another page is opened.

import { button, make } from '../shell/dom.js';
import { HELD_MS_MAX } from '../shell/hold.js';
import { heldWords } from './describe.js';

export class HoldBack {
  #hold;
  #end;

  /** `announce(words)`: says something to who does not see the page. */
  constructor(hold, announce) {
    this.#hold = hold;
    this.switch = make('input', { type: 'checkbox', role: 'switch', onchange: () => hold.set(this.switch.checked) });
    this.next = button('Let go of the next', () => {
      if (hold.held.length === 0) return announce('No frame waits.');
      hold.next();
    }, { title: 'The receipt or OWN that waits first, and what is behind it' });
    this.words = make('span', { className: 'soft held', role: 'status' });
    this.element = make('div', { className: 'hold', role: 'group', 'aria-label': 'Receipts' },
      make('label', { className: 'check', title: `What the server says of your writes waits here, with all that comes `
        + `behind it, for at most ${HELD_MS_MAX / 1_000} seconds` }, this.switch, 'Hold back receipts'),
      this.next, this.words);
    this.#end = hold.follow(() => this.#show());
    this.#show();
  }

  close() {
    this.#end();
  }

  #show() {
    const { isOn, held } = this.#hold;
    this.switch.checked = isOn;
    this.next.hidden = !isOn;
    const words = isOn ? heldWords(held) : '';
    if (this.words.textContent !== words) this.words.textContent = words;
  }
}
