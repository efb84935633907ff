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
    // Of a shorthand, the browser would work out all that it stands for, in each frame.
    const light = { backgroundColor: 'var(--mark)' };
    element.cells_[index].animate([light, { ...light, offset: 0.3 }, { backgroundColor: 'transparent' }],
      { duration: LIGHT_MS, easing: 'ease-out' });
  }
  return isChanged;
}

/** Lets rows move to their places. */
function glide(elements, old, delta) {
  const moved = [];
  for (const [id, element] of elements) {
    const by = old.has(id) ? delta(id) : 0;
    if (by !== 0) moved.push({ element, by });
  }
  const isCrowd = moved.length > MOVING_MAX;
  for (const { element, by } of moved) {
    if (isCrowd && Math.abs(by) <= ROOM) continue;
    const { transform } = element.style;
    const from = Math.max(-FAR, Math.min(by, FAR));
    element.animate([{ transform: `${transform} translateY(${from}px)` }, { transform }],
      { duration: MOVE_MS, easing: 'ease-out' });
  }
}

function tag(element, who) {
  element.querySelector('.who')?.remove();
  const label = make('span', { className: 'who', 'aria-hidden': 'true' }, who);
  element.append(label);
  setTimeout(() => label.remove(), WHO_MS);
}

/**
 * Shows how the rows came to be where they are. `elements`: rows by id. `old`, `now`: the lines by id, before and now;
 * `delta(id)`: how far above its place a row was that is in both. `change`: that of the list if
 * somebody has written; null: another query. `isOwn(id)`: a write of this window changes the row. Returns how many rows
 * in view others have changed.
 */
export function animate(elements, { old, now, delta, columns, change, isOwn }) {
  const who = change ? authorOf(change) : null;
  let remote = 0;
  if (!calm.matches) glide(elements, old, delta);
  for (const [id, element] of elements) {
    const past = old.get(id);
    let isChanged = false;
    if (past === undefined) {
      if (old.size === 0) continue;
      isChanged = true;
      if (!calm.matches) element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS });
    } else if (change !== null) isChanged = flash(element, columns, past.row, now.get(id).row);
    if (!isChanged || !change || isOwn(id)) continue;
    if (who) tag(element, who);
    if (!change.own?.length) remote += 1;
  }
  return { remote, who };
}
