// People: their names, initials and colours. The same person has the same colour in every window.

import { make } from './dom.js';
import { labelText } from './format.js';

/** How many colours there are: page.css has the hues as --person-0 and so on, readable in both schemes. */
export const COLOURS = 8;

/** The number of the colour of somebody, from a name, or the number of a session. */
export function colourOf(who) {
  let hash = 0x811c9dc5;
  for (const character of String(who)) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193) >>> 0;
  return hash % COLOURS;
}

/** One or two letters for a name: "Ann Lee" is AL. */
export function initials(name) {
  const words = labelText(name).trim().split(/[\s._@-]+/u).filter(Boolean);
  const first = (word) => [...word][0] ?? '';
  const letters = words.length > 1 ? first(words[0]) + first(words.at(-1)) : [...(words[0] ?? '?')].slice(0, 2).join('');
  return letters.toLocaleUpperCase();
}

/**
 * The name of who wrote something. `user`: the label, or null; `claimed`: whether no server has checked it, which '~'
 * marks as nestc does.
 */
export function personText({ user, userClaimed = false, sessionNumber = null, isMine = false }) {
  if (isMine) return user ? `you (${userClaimed ? '~' : ''}${labelText(user)})` : 'you';
  if (user) return `${userClaimed ? '~' : ''}${labelText(user)}`;
  return sessionNumber === null ? 'somebody' : `session ${sessionNumber}`;
}

/** A round mark with the initials of somebody, in their colour. What it means must stand beside it, or in `title`. */
export const badge = (name, who = name) => make('span', {
  className: 'person', 'aria-hidden': 'true', data: { colour: colourOf(who) },
}, initials(name));
