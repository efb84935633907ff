/**
 * Follows what the session can undo and redo.
 * @module
 */

import { decode, encode } from '../wire/messages.js';
import '../wire/messages-undo.js';
import { answerArrived, handlers } from './frames.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */

/** The server pushes the undo state of a connection, however many parts of a program show it. @param {Machine} m */
export const isFollowed = (m) => [...m.followers].some((one) => one instanceof UndoFollower);

/** Follows the undo state of the session, across connections. */
export class UndoFollower {
  /** @param {any} to the receiver of the events */
  constructor(to) {
    this.to = to;
    this.model = null;
    this.head = null;
  }

  /** @param {Machine} m */
  open(m) {
    if (m.error) return this.end(m, m.error);
    m.followers.add(this);
    this.begin(m);
  }

  /** @param {Machine} m */
  begin(m) {
    if (m.phase === 'ready') this.request(m, this, true);
  }

  /** @param {Machine} m @param {any} owner @param {boolean} follows */
  request(m, owner, follows) {
    const body = encode('getUndoState', { follows });
    m.table.submit({ owner, kind: 'connection', type: T.getUndoState, body, answer: T.undoState });
  }

  /** @param {Machine} m @param {any} state */
  answered(m, state) {
    if (m.followers.has(this)) m.emit({ type: 'change', to: this.to, change: { type: 'undoState', state } });
  }

  /** A push. @param {Machine} m @param {any} state */
  undoState(m, state) {
    this.answered(m, state);
  }

  /** @param {Machine} m @param {any} error */
  refused(m, error) {
    if (m.followers.has(this)) this.end(m, error);
  }

  mayWait() {
    return false;
  }

  lost() {}

  /** Ends it, without an event. @param {Machine} m */
  close(m) {
    if (m.followers.delete(this) && m.phase === 'ready' && !isFollowed(m)) this.request(m, null, false);
  }

  /** @param {Machine} m @param {any} error */
  end(m, error) {
    m.followers.delete(this);
    m.emit({ type: 'end', to: this.to, error });
  }
}

handlers.set(T.undoState, (m, frame) => {
  if (frame.id !== 0) return answerArrived(m, frame);
  for (const one of m.followers) one.undoState?.(m, decode('undoState', frame.body));
});
