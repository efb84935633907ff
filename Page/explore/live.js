// The live list of the explorer: one subscription, whose request changes with the query, and whose window follows what
// is in view. It knows no elements.

/** Windows change at most this often, in milliseconds; of several only the newest is requested. */
const SCROLL_MS = 50;
/** After this time at one place the window follows the row at the top, so that changes above it move nothing. */
const SETTLE_MS = 250;

/** After this time the rows of a window must be there; if others are in view meanwhile, they are asked for. */
const AFTER_MS = 500;

/** Why a list shows other rows than before. */
export const QUERY = 'query';
export const SCROLL = 'scroll';
export const CHANGE = 'change';

/**
 * `results(request)` resolves with a list. `onState(state, { cause, change })`: new rows; `cause` is QUERY, SCROLL or
 * CHANGE. `onPending(state)`: the same rows, of which other ones wait for the server. `onStatus(status, error)`: live,
 * loading, disconnected, paused or ended. `onLost()`: the row that a window should follow is gone. `onScrolled()`: the
 * rows of the last window have had time to come.
 */
export class Live {
  #nest;
  #results;
  #on;
  #list = null;
  /** The last request for a list: an older one is for nothing. */
  #opening = null;
  #base = null;
  #wanted = null;
  /** What the next state without a revision of its own comes from. */
  #cause = QUERY;
  #timer = null;
  #settle = null;
  #after = null;
  #sentAt = -Infinity;
  #isClosed = false;

  constructor(nest, results, on) {
    this.#nest = nest;
    this.#results = results;
    this.#on = on;
  }

  get state() {
    return this.#list?.state ?? null;
  }

  /**
   * Shows another request from its first rows on. If the server refuses, this rejects, and what was there stays; a list
   * that has none yet ends.
   */
  async show(base, rows) {
    clearTimeout(this.#timer);
    clearTimeout(this.#settle);
    const request = base.window(0, rows);
    if (this.#list && this.#list.status !== 'ended' && this.#base.description === base.description) {
      // A predicate is checked first: a change would take the scrolled window away.
      await this.#nest.resolve(request);
      const cause = this.#cause;
      this.#cause = QUERY;
      try {
        await this.#list.change(request);
        this.#base = base;
        this.#wanted = request.shownWindow;
      } catch (error) {
        this.#cause = cause;
        throw error;
      }
      return;
    }
    await this.#open(base, request);
  }

  /** Resolves with the first state. */
  async #open(base, request, cause = QUERY) {
    this.#list?.close();
    this.#list = null;
    this.#base = base;
    this.#wanted = request.shownWindow;
    this.#cause = cause;
    this.#opening = request;
    const list = await this.#results(request);
    if (this.#isClosed || this.#opening !== request) {
      list.close();
      return;
    }
    this.#list = list;
    await new Promise((resolve, reject) => {
      list.subscribe((change) => {
        if (list !== this.#list || this.#isClosed) return resolve();
        if (change.type === 'ended') {
          // The row that the window followed has gone while there was no connection: the same rows, by their number.
          if (change.error?.code === 'NOT_FOUND' && list.request.shownWindow?.anchor) {
            const { position } = list.state;
            const { before, after } = list.request.shownWindow;
            this.#open(base, base.window(position?.start.row ?? 0, before + 1 + after), SCROLL).catch(() => {});
            return resolve();
          }
          if (change.error) reject(change.error);
          this.#on.onStatus('ended', change.error);
          return resolve();
        }
        this.#changed(list, change);
        if (list.state.revision > 0) resolve();
      });
    });
  }

  #changed(list, change) {
    const { type, state } = change;
    if (type === 'snapshot' || type === 'diff' || type === 'position' || type === 'totals' || type === 'request') {
      // A list with own writes says that another window has come by a snapshot.
      const isPlain = state.pendingOf === undefined;
      const isMine = type === 'snapshot' || type === 'request'
        || (isPlain && type === 'diff' && change.from === change.to);
      const cause = isMine ? this.#cause : CHANGE;
      // What comes again after a lost connection is not the answer to a query.
      if (isMine) this.#cause = SCROLL;
      this.#on.onState(state, { cause, change });
    } else if (type === 'pending') this.#on.onPending(state);
    this.#on.onStatus(list.status, null);
  }

  /**
   * Asks for other rows: `{ offset, limit }`, or `{ around, before, after }`, which follows an object. `settled`: what
   * to ask for when nothing else has been wanted for a moment.
   */
  scroll(window, settled = null) {
    this.#wanted = window;
    clearTimeout(this.#settle);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#send(window), Math.max(0, this.#sentAt + SCROLL_MS - performance.now()));
    if (settled) this.#settle = setTimeout(() => this.#send(settled()), SETTLE_MS);
  }

  async #send(window) {
    const list = this.#list;
    if (!window || !list || list.status === 'ended' || this.#isClosed) return;
    this.#sentAt = performance.now();
    const base = this.#base;
    const { offset, limit, around, before, after } = window;
    this.#cause = SCROLL;
    try {
      await list.change(around === undefined ? base.window(offset, limit) : base.around(around, before, after));
      clearTimeout(this.#after);
      this.#after = setTimeout(() => this.#on.onScrolled?.(), AFTER_MS);
    } catch (error) {
      // The row at the top has left the result meanwhile: the next scroll names another one.
      if (error.code === 'NOT_FOUND') this.#on.onLost?.();
      else if (error.code !== 'CANCELLED' && error.code !== 'CLOSED') this.#on.onStatus('ended', error);
    }
  }

  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#settle);
    clearTimeout(this.#after);
    this.#list?.close();
  }
}
