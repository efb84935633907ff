/**
 * The undo state of a client with a cache: a program sees the last one until the server has sent it. The cache keeps it
 * as a view whose only frame is UNDO_STATE. This module is loaded when a program follows the undo state.
 * @module
 */

import { fromHex, toHex, Writer } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { fnv1a, hashText } from '../wire/hash.js';
import { decode, encode, typeOf } from '../wire/messages.js';
import { sha256 } from '../wire/sha256.js';
import { handlers } from '../machine/frames.js';
import { T } from '../machine/types.js';
import '../machine/undo.js';

/** @typedef {import('./undo.js').UndoStates} UndoStates */
/** @typedef {import('../machine/machine.js').Machine} Machine */

/** The newest UNDO_STATE of each client, as it came. @type {WeakMap<Machine, Uint8Array>} */
const bodies = new WeakMap();

const handle = /** @type {any} */ (handlers.get(T.undoState));
handlers.set(T.undoState, (m, frame) => {
  // The bytes that came with it must not be kept for it.
  bodies.set(m, frame.body.slice());
  handle(m, frame);
});

/** The body of GET_UNDO_STATE: no fetch request has these bytes. */
export const UNDO_STATE_KEY = toHex(encode('getUndoState', { follows: true }));

/** The undo state is that of a session, too. @param {string} identity of the client @param {string} session */
function identityOf(identity, session) {
  const writer = new Writer();
  writer.raw(fromHex(identity, 8));
  writer.raw(sha256(fromHex(session, 16)).subarray(0, 16));
  return hashText(fnv1a(writer.done()));
}

const OTHER_HISTORY = 'the cached undo state is of another history of the store';
/** Nothing can be undone. */
const NOTHING = { undo: null, redo: null, undoCount: 0, redoCount: 0, blockedCount: 0, droppedCount: 0, group: null };

export class KeptUndo {
  #identity;
  #random;
  #keep;
  /** The body that the cache has, with its history. */
  #last = '';
  /**
   * What programs see of the cache, and its history.
   * @type {{ history: string, shown: Set<UndoStates> }}
   */
  #cached = { history: '', shown: new Set() };

  /**
   * @param {string} identity of the client
   * @param {string} session
   * @param {() => string} random a new number
   * @param {(change: any) => void} keep gives the cache something to keep
   */
  constructor(identity, session, random, keep) {
    this.#identity = identityOf(identity, session);
    this.#random = random;
    this.#keep = keep;
  }

  /**
   * Shows a cached state, unless the server has sent one.
   * @param {any} view of the cache, or null
   * @param {UndoStates} states
   * @param {string | undefined} history that of the server, if there was one
   */
  begin(view, states, history) {
    if (!view || states.state || states.isEnded) return;
    try {
      const state = this.#read(view, history);
      this.#cached.history = view.historyID;
      this.#cached.shown.add(states);
      // A group ends with its connection.
      states.receive({ change: { state: { ...state, group: null } } });
    } catch (error) {
      this.#remove(`the cached undo state cannot be used: ${/** @type {any} */ (error).message}`);
    }
  }

  /** @param {any} view @param {string | undefined} history @returns {any} */
  #read({ identity, historyID, digest, frames }, history) {
    const wrong = (/** @type {string} */ message) => {
      throw new NestError('MALFORMED', message);
    };
    if (identity !== this.#identity) wrong('it is of another token, store or session');
    if (history !== undefined && historyID !== history) wrong(OTHER_HISTORY);
    const [frame] = frames;
    if (frames.length !== 1 || frame.type !== typeOf('undoState')) wrong('it is not one UNDO_STATE');
    if (hashText(fnv1a(frame.body)) !== digest) wrong('its digest is another one');
    return decode('undoState', frame.body);
  }

  /** A connection to a server with this history. @param {string} history */
  connected(history) {
    const { history: old, shown } = this.#cached;
    if (shown.size === 0 || history === old) return;
    this.#remove(OTHER_HISTORY);
    for (const states of shown) if (!states.isEnded) states.receive({ change: { state: { ...NOTHING } } });
    shown.clear();
  }

  /** The server has sent a state. @param {Machine} m */
  received(m) {
    this.#cached.shown.clear();
    const body = bodies.get(m);
    if (!body) return;
    const { historyID, revision } = m.welcome;
    const text = `${historyID} ${toHex(body)}`;
    if (text === this.#last) return;
    this.#last = text;
    const frames = [{ type: typeOf('undoState'), body }];
    this.#keep({
      type: 'replace',
      view: { request: UNDO_STATE_KEY, identity: this.#identity, modelHash: '0'.repeat(16), historyID, revision,
        digest: hashText(fnv1a(body)), recording: this.#random(), sequence: 1, frames },
    });
  }

  /** @param {string} reason */
  #remove(reason) {
    this.#keep({ type: 'remove', request: UNDO_STATE_KEY, reason });
  }
}
