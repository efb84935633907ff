/**
 * What the program sees of a list: the events of its view, and never a state that is older than the one before.
 * @module
 */

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./views.js').View} View */

export class Showing {
  /** @param {any} to the receiver of the events */
  constructor(to) {
    this.to = to;
    /** The current request. A window around an object names the object that it follows now. @type {any} */
    this.spec = null;
    /** @type {View | null} */
    this.view = null;
    /** The point of the state that it shows; revisions only grow. @type {import('./views.js').Point | null} */
    this.shown = null;
    /** Whether its view has a state that it does not show yet. */
    this.isBehind = false;
  }

  /** @param {Machine} m @param {{ type: string, [name: string]: any }} change that changes no state */
  emit(m, change) {
    m.emit({ type: 'change', to: this.to, change });
  }

  /**
   * The state will be replaced.
   * @param {Machine} m
   * @param {string} cause server, mismatch or request
   * @param {string} message
   */
  reset(m, cause, message) {
    this.emit(m, { type: 'reset', cause, message });
  }

  /**
   * Shows the state of the view. If an earlier state is later, this one is hidden until it has caught up, so that no
   * row goes back in time.
   * @param {Machine} m
   * @param {{ type: string, [name: string]: any }} change
   * @param {number} [bytes] of what arrived
   */
  show(m, change, bytes = 0) {
    const { head, state } = /** @type {any} */ (this.view);
    const { shown } = this;
    if (shown?.history === head.history && head.revision < /** @type {any} */ (shown).revision) {
      this.isBehind = true;
      return;
    }
    if (this.isBehind) change = { type: 'snapshot', reason: 'caughtUp' };
    this.isBehind = false;
    this.shown = { ...head };
    m.emit({ type: 'change', to: this.to, change, state, revision: head.revision, request: this.spec.request, bytes });
  }

  /** The held rows are those of the past if a difference follows. @param {Machine} m @param {View} view */
  resumed(m, view) {
    this.show(m, { type: 'resumed', revision: view.head?.revision, isExact: !view.isStale });
  }
}
