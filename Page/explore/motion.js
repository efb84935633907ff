// How changes show: rows move to where they go, new ones appear, changed cells light up, and who did it stands beside
// them. With reduced motion nothing moves.

import { calm, make } from '../shell/dom.js';
import { labelText } from '../shell/format.js';
import { isSame } from './values.js';

const MOVE_MS = 320;
/** How long a cell lights up that has changed, in milliseconds. */
const LIGHT_MS = 2_200;
/** Of more rows that move, only those are seen to move that go further than one row makes room for another. */
const MOVING_MAX = 60;
/** A row makes room by its height, in pixels. */
const ROOM = 34;
/** A row that comes from further away begins here, in pixels. */
const FAR = 900;
/** How long a row shows who has changed it, in milliseconds. */
const WHO_MS = 3_000;

/** Who has made a change, if it was one person and not this client. A name without a token has a tilde. */
export function authorOf({ own = [], authors = [] }) {
  const others = authors.filter(({ revision }) => !own.includes(revision));
  const names = new Set(others.map(({ user, userClaimed, sessionNumber }) =>
    (user ? `${userClaimed ? '~' : ''}${user}` : `session ${sessionNumber}`)));
  return names.size === 1 ? labelText([...names][0]) : null;
}

/** Marks the cells that differ between two rows; true if one does. */
function flash(element, columns, before, after) {
  if (before === after) return false;
  let isChanged = false;
  for (const [index, { path, label }] of columns.entries()) {
    if (isSame(before.get(path), after.get(path)) && (!label || isSame(before.get(label), after.get(label)))) continue;
    isChanged = true;
    if (calm.matches) continue;
    const light = { background: 'var(--mark)' };
    element.cells_[index].animate([light, { ...light, offset: 0.3 }, { background: 'transparent' }],
      { duration: LIGHT_MS, easing: 'ease-out' });
  }
  return isChanged;
}

function tag(element, who) {
  element.querySelector('.who')?.remove();
  const label = make('span', { className: 'who', 'aria-hidden': 'true' }, who);
  element.append(label);
  setTimeout(() => label.remove(), WHO_MS);
}

/**
 * Shows how the rows came to be where they are. `elements`: rows by id. `before`: id to place on the screen, of the
 * rows that were known; `place(id)`: where one is now. `old`, `now`: the lines by id. `change`: that of the list if
 * somebody has written; null: another query. `isOwn(id)`: a write of this window changes the row. Returns how many rows
 * in view others have changed.
 */
export function animate(elements, { before, place, old, now, columns, change, isOwn }) {
  const who = change ? authorOf(change) : null;
  let remote = 0;
  const isMoved = ([id]) => before.has(id) && before.get(id) !== place(id);
  const isCrowd = !calm.matches && [...elements].filter(isMoved).length > MOVING_MAX;
  for (const [id, element] of elements) {
    const past = before.get(id);
    let isChanged = false;
    if (past === undefined) {
      if (before.size === 0) continue;
      isChanged = true;
      if (!calm.matches) element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS });
    } else {
      const delta = Math.max(-FAR, Math.min(past - place(id), FAR));
      if (delta !== 0 && !calm.matches && !(isCrowd && Math.abs(delta) <= ROOM)) {
        const { transform } = element.style;
        element.animate([{ transform: `${transform} translateY(${delta}px)` }, { transform }],
          { duration: MOVE_MS, easing: 'ease-out' });
      }
      isChanged = change !== null && flash(element, columns, old.get(id).row, now.get(id).row);
    }
    if (!isChanged || !change || isOwn(id)) continue;
    if (who) tag(element, who);
    if (!change.own?.length) remote += 1;
  }
  return { remote, who };
}
