// Who did it: rows that others have changed light up for a while, with the name of who did. And words for people who
// listen to the page.

import { calm, make } from '../shell/dom.js';
import { colourOf, personText } from '../shell/people.js';
import { short } from './texts.js';

/** How long a row is lit, in milliseconds. */
const LIT_MS = 2_600;
/** Names in one message. */
const NAMES_MAX = 3;

/** The names of authors, each once, with what decides its colour: a user, or a session. */
export function namesOf(authors, own) {
  const names = new Map();
  for (const { sessionNumber, user, userClaimed } of authors) {
    if (sessionNumber === own) continue;
    names.set(personText({ user, userClaimed, sessionNumber }), user ?? sessionNumber);
  }
  return names;
}

const listOf = (names) => {
  const all = [...new Set(names)];
  return all.length > NAMES_MAX ? `${all.slice(0, NAMES_MAX).join(', ')} and others` : all.join(' and ');
};

export class Flash {
  #page;

  constructor(page) {
    this.#page = page;
  }

  /** Others have changed rows. */
  show({ authors = [], changed, gone }) {
    const names = namesOf(authors, this.#page.nest.server.sessionNumber);
    if (names.size === 0) return;
    const who = listOf(names.keys());
    const [first] = names.values();
    const { tree, rows, app } = this.#page;
    const lit = [...changed].filter((key) => rows.elementOf(key));
    for (const key of lit) this.#light(rows.elementOf(key), who, first);
    if (lit.length === 1) app.announce(`${who} changed “${short(tree.row(lit[0])?.title ?? '')}”`);
    else if (lit.length > 1) app.announce(`${who} changed ${lit.length} rows`);
    else if (gone.size > 0) app.announce(`${who} deleted ${gone.size === 1 ? 'a row' : `${gone.size} rows`}`);
  }

  #light(shown, who, first) {
    const { element, people } = shown;
    clearTimeout(shown.lightTimer);
    shown.byline?.remove();
    shown.byline = make('span', { className: 'byline', data: { colour: colourOf(first) } }, who);
    shown.cell.append(shown.byline);
    element.classList.add('lit');
    element.dataset.colour = colourOf(first);
    if (!calm.matches) shown.byline.animate({ opacity: [0, 1] }, 200);
    shown.lightTimer = setTimeout(() => {
      shown.byline.remove();
      shown.byline = null;
      element.classList.remove('lit');
      if (people.childElementCount === 0) delete element.dataset.colour;
    }, LIT_MS);
  }
}
