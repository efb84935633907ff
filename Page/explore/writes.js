// The writes of the explorer. They show at once, in every list of it; the server decides what stays (nest-client's
// optimistic writes). A visitor who may only read has plain lists.

import { optimistic } from '/client/optimistic.js';
import { labelText } from '../shell/format.js';
import { wordsOf } from '../shell/notice.js';
import { UNNAMED } from './unsettled.js';

/** The code of a write that was undone before it was sent: the server has not refused it. */
const UNDONE = 'CANCELLED';

export class Writes {
  #app;
  #local;

  constructor(app) {
    this.#app = app;
    this.#local = app.can('write') ? optimistic(app.nest) : null;
  }

  /** A live list of a request: one that shows own writes, if there can be any. */
  async results(request) {
    return this.#local ? this.#local.results(request) : this.#app.nest.results(request);
  }

  /** The writes that some list does not show as the server has them. */
  get pending() {
    return this.#local?.pending ?? [];
  }

  /** Calls a function after each change of `pending`. Returns what ends it. */
  follow(listener) {
    return this.#local?.subscribe(listener) ?? (() => {});
  }

  /**
   * Makes a write. `failed(error, write)`: it was refused, or it is not known whether it was made; without, a message
   * says so. `last`: a write that has failed, of which this is the correction.
   */
  make(name, body, { failed = this.tell, last = null } = {}) {
    const write = last ? last.again(body) : this.#local.transaction(name, body);
    return this.#watch(write, failed);
  }

  #watch(write, failed) {
    write.done.catch((error) => {
      if (error.code !== UNDONE) failed(error, write);
    });
    return write;
  }

  /** Says that a write has failed. What may have happened can be sent again: it then happens once. */
  tell = (error, write) => {
    const name = labelText(write.name || UNNAMED);
    if (write.state !== 'parked') {
      this.#app.notice(`“${name}” was refused: ${wordsOf(error)}`, { kind: 'fault' });
      return;
    }
    const actions = error.code === 'CLOSED' ? []
      : [['Send it again', () => this.#app.attempt(() => this.#watch(write.again(), this.tell))]];
    this.#app.notice(`It is not known whether “${name}” was stored: ${wordsOf(error)}`, { kind: 'fault', actions });
  };

  /** Takes back the newest change of this window, or does it again: 'undo' or 'redo'. Says what became of it. */
  async takeBack(which) {
    const write = this.#local[which]();
    const receipt = await write.done.catch((error) => {
      // What an undo finds nothing to do for is no fault of anybody.
      if (error.code !== UNDONE) throw error;
      return null;
    });
    const done = which === 'undo' ? 'Undone' : 'Redone';
    const name = labelText(receipt?.name || write.name || UNNAMED);
    if (receipt?.conflictCount > 0) {
      const left = `Left as others have changed it since: ${receipt.conflictCount}.`;
      this.#app.notice(`${done}: ${name}. ${left}`, { kind: 'warning' });
    } else this.#app.announce(`${done}: ${name}`);
  }
}
