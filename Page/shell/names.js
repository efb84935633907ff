// The names of people, their initials and the numbers of their colours. Pure.

import { labelText } from './format.js';

/** How many colours there are: page.css has the hues as --person-0 and so on, readable in both schemes. */
export const COLOURS = 8;

/** The number of the colour of a person: from a name, or the number of a session. */
export function colourOf(who) {
  let hash = 0x811c9dc5;
  for (const character of String(who)) hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193) >>> 0;
  return hash % COLOURS;
}

/** One or two letters for a name: "Ann Lee" is AL. */
export function initials(name) {
  const words = labelText(name).trim().split(/[\s._@-]+/u).filter(Boolean);
  const first = (word) => [...word][0] ?? '';
  const [only = '?'] = words;
  const letters = words.length > 1 ? first(only) + first(words.at(-1)) : [...only].slice(0, 2).join('');
  return letters.toLocaleUpperCase();
}

/** The name of an author or client. '~' marks a claim, as in nestc. */
export function personText({ user, userClaimed = false, sessionNumber = null, isMine = false }) {
  if (isMine) return user ? `you (${userClaimed ? '~' : ''}${labelText(user)})` : 'you';
  if (user) return `${userClaimed ? '~' : ''}${labelText(user)}`;
  return sessionNumber === null ? 'unknown' : `session ${sessionNumber}`;
}
