// People: their names, initials and colours. The same person has the same colour in every window.

import { make } from './dom.js';
import { colourOf, initials, personText } from './names.js';

export * from './names.js';

/** What the mark of a claimed name means. */
const CLAIM = 'The ~ marks a name that a client without a token has given itself: no server has checked it.';

/** A round mark with the initials of a person, in their colour. The name must stand beside it, or in `title`. */
export const badge = (name, who = name) => make('span', {
  className: 'person', 'aria-hidden': 'true', data: { colour: colourOf(who) },
}, initials(name));

/** The mark and the name of an author or client, as children of a cell. */
export function person(one) {
  const { user, userClaimed, sessionNumber, isMine } = one;
  const name = personText(one);
  return [badge(user ?? (isMine ? 'me' : name), user ?? sessionNumber), make('span', {
    className: 'person-name', title: user && userClaimed ? CLAIM : name,
  }, name)];
}
