// What the server has not confirmed yet, in words: of rows, and of writes. Pure.

import { count } from '../shell/format.js';

/** What a change without a name is called. */
export const UNNAMED = 'a change';

/** Why rows may be old, by the status of their list. */
export const STALE = {
  disconnected: 'no connection: what is shown may be old', paused: 'paused: what is shown may be old',
  loading: 'the rows are being read anew',
};

/** Whether nothing is unsettled about the rows that are shown: `unsettledWords` has no words for it. */
export const isSettled = ({ pending, undecided, isCurrent }) => isCurrent && pending === 0 && undecided === 0;

/**
 * What is not settled about the rows that are shown, in words; '' if everything is. `pending`: writes that the server
 * has not confirmed; `undecided`: how many rows may differ from what the server will answer; `isCurrent`: whether the
 * rows follow the server; `status`: of the list.
 */
export function unsettledWords({ pending, undecided, isCurrent, status }) {
  const words = [];
  if (!isCurrent) words.push(STALE[status] ?? STALE.loading);
  if (pending > 0) words.push(`${count(pending, 'change')} of yours ${pending === 1 ? 'is' : 'are'} not stored yet`);
  if (undecided > 0) words.push(`${count(undecided, 'row')} may still change when the server answers`);
  return words.join('; ');
}

/**
 * What can be undone and redone next, by name; null: nothing. `pending`: writes that the server's `state` may not have.
 */
export function nextNames(pending, state) {
  const undo = [];
  const redo = [];
  let isNew = false;
  for (const { kind, name } of pending) {
    if (kind === 'transaction') {
      undo.push(name || UNNAMED);
      redo.length = 0;
      isNew = true;
    } else if (kind === 'undo') redo.push(undo.pop() || name || state?.undo?.name || UNNAMED);
    else undo.push(redo.pop() || state?.redo?.name || UNNAMED);
  }
  return {
    undo: undo.at(-1) ?? (state?.undo ? state.undo.name || UNNAMED : null),
    redo: redo.at(-1) ?? (state?.redo && !isNew ? state.redo.name || UNNAMED : null),
  };
}
