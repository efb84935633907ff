// How changes show: rows move to where they go, new ones appear, changed cells light up, and who did it stands beside
// them. With reduced motion nothing moves.

import { calm, make } from '../shell/dom.js';
import { labelText } from '../shell/format.js';
import { isSame } from './values.js';

const MOVE_MS = 320;
/** How long a cell lights up that has changed, in milliseconds. */
const LIGHT_MS = 2_200;
/** Of more rows that move, only those are seen to move that go further than one row makes room for another. */
const MOVING_MAX = 24;
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

const NONE = Object.freeze([]);

/** The cells of the columns that differ between two rows. */
function changedCells(element, columns, before, after) {
  if (before === after) return NONE;
  return element.cells_.filter((_, index) => {
    const { path, label } = columns[index];
    return !isSame(before.get(path), after.get(path)) || (label && !isSame(before.get(label), after.get(label)));
  });
}

function tag(element, who) {
  element.querySelector('.who')?.remove();
  const label = make('span', { className: 'who', 'aria-hidden': 'true' }, who);
  element.append(label);
  setTimeout(() => label.remove(), WHO_MS);
}

/**
 * What moves in a table. It begins with the next frame, before the browser paints what has changed: so it does not
 * delay the rows themselves, and changes of the same frame are one movement.
 */
export class Motion {
  #frame = null;
  /** How far from their places rows begin, in pixels, by element. */
  #away = new Map();
  #come = new Set();
  #lit = new Set();

  close() {
    cancelAnimationFrame(this.#frame);
  }

  /**
   * Shows how the rows came to be where they are. `elements`: rows by id. `old`, `now`: the lines by id, before and
   * now; `delta(id)`: how far above its place a row was that is in both. `change`: that of the list if somebody has
   * written; null: another query. `isWaiting(id)`: a write of this window that the server has not confirmed changes the
   * row; `isOwn(id)`: or did so before. Returns how many rows in view others have changed.
   */
  show(elements, { old, now, delta, columns, change, isWaiting, isOwn }) {
    const who = change ? authorOf(change) : null;
    // A hidden page has no frames.
    const isStill = calm.matches || document.hidden;
    let remote = 0;
    elements.forEach((element, id) => {
      const past = old.get(id);
      let isChanged = false;
      if (past === undefined) {
        if (old.size === 0) return;
        isChanged = true;
        if (!isStill) this.#come.add(element);
      } else {
        const by = isStill ? 0 : delta(id);
        if (by !== 0) this.#away.set(element, (this.#away.get(element) ?? 0) + by);
        if (change !== null) {
          const cells = changedCells(element, columns, past.row, now.get(id).row);
          isChanged = cells.length > 0;
          // People see what they write themselves; what became of it lights up if it is something else.
          if (!isStill && !isWaiting(id)) for (const cell of cells) this.#lit.add(cell);
        }
      }
      if (!isChanged || !change || isOwn(id)) return;
      if (who) tag(element, who);
      if (!change.own?.length) remote += 1;
    });
    if (this.#away.size + this.#come.size + this.#lit.size > 0) {
      this.#frame ??= requestAnimationFrame(() => this.#begin());
    }
    return { remote, who };
  }

  #begin() {
    this.#frame = null;
    const moved = [...this.#away].filter(([element, by]) => by !== 0 && element.isConnected && !this.#come.has(element));
    const isCrowd = moved.length > MOVING_MAX;
    for (const [element, by] of moved) {
      if (isCrowd && Math.abs(by) <= ROOM) continue;
      const from = Math.max(-FAR, Math.min(by, FAR));
      // The one before would go on unseen.
      element.glide_?.cancel();
      element.glide_ = element.animate([{ transform: `translateY(${from}px)` }, { transform: 'none' }],
        { duration: MOVE_MS, easing: 'ease-out' });
    }
    for (const element of this.#come) element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: MOVE_MS });
    // Of a shorthand, the browser would work out all that it stands for, in each frame.
    const light = { backgroundColor: 'var(--mark)' };
    for (const cell of this.#lit) {
      cell.animate([light, { ...light, offset: 0.3 }, { backgroundColor: 'transparent' }],
        { duration: LIGHT_MS, easing: 'ease-out' });
    }
    for (const all of [this.#away, this.#come, this.#lit]) all.clear();
  }
}
