// What the page says to people: messages that stay until they are read, and words for who does not see the page.

import { NestError } from '/client/index.js';
import { button, make } from './dom.js';

/** Messages that are shown at one time. The oldest goes first. */
const NOTICES_MAX = 4;
/** How long a message that asks for nothing stays, in milliseconds. */
const NOTICE_MS = 6_000;
/** The least time between two announcements of what others do, in milliseconds. */
const ANNOUNCEMENT_MS = 5_000;

/** The words of a failure, for people. */
export const wordsOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Shows a message. `kind`: 'done', 'warning' or 'fault'. `actions`: pairs of a text and what it does. A fault, and a
 * message with actions, stays until it is closed. Returns what closes it.
 */
export function notice(text, { kind = 'done', actions = [] } = {}) {
  const region = document.getElementById('notices');
  const close = () => element.remove();
  const element = make('div', { className: 'notice', role: kind === 'fault' ? 'alert' : 'status', data: { kind } },
    make('p', {}, text),
    actions.map(([name, act]) => button(name, () => { close(); act(); })),
    button('×', close, { className: 'plain', 'aria-label': 'Close this message' }));
  element.addEventListener('keydown', (event) => event.key === 'Escape' && close());
  while (region.childElementCount >= NOTICES_MAX) region.firstElementChild.remove();
  region.append(element);
  if (kind !== 'fault' && actions.length === 0) setTimeout(close, NOTICE_MS);
  return close;
}

/** Shows why something failed. A mistake of the page itself goes to the console, too. */
export function fault(error) {
  if (!(error instanceof NestError)) console.error(error);
  if (error?.code === 'CLOSED' || error?.code === 'CANCELLED') return;
  notice(wordsOf(error), { kind: 'fault' });
}

let announced = -Infinity;
let waiting = null;

/** Says something to who listens to the page. Of several in 5 seconds, the last one is said. */
export function announce(text) {
  const say = () => {
    announced = performance.now();
    document.getElementById('live').textContent = waiting;
    waiting = null;
  };
  const isFirst = waiting === null;
  waiting = text;
  if (isFirst) setTimeout(say, Math.max(0, announced + ANNOUNCEMENT_MS - performance.now()));
}
