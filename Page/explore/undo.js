// Undo and redo of the explorer: in the bar, by name, and with keys. They show at once, as other writes do.

import { hasCommand, isField, isMac } from '../shell/dom.js';
import { labelText } from '../shell/format.js';
import { REDO, showNext, tool, UNDO } from '../shell/tool.js';
import { nextNames } from './unsettled.js';

export class UndoTools {
  #app;
  #writes;
  #states = null;
  #isClosed = false;
  #end;

  constructor(app, writes) {
    this.#app = app;
    this.#writes = writes;
    this.undo = tool('Undo', UNDO, () => this.#act('undo'), { disabled: true });
    this.redo = tool('Redo', REDO, () => this.#act('redo'), { disabled: true });
    app.tools.replaceChildren(this.undo, this.redo);
    this.#end = writes.follow(() => this.#show());
    app.attempt(async () => {
      const states = await app.nest.undoStates();
      if (this.#isClosed) return states.close();
      this.#states = states;
      states.subscribe(() => this.#show());
      this.#show();
      return undefined;
    });
  }

  close() {
    this.#isClosed = true;
    this.#end();
    this.#states?.close();
  }

  /** Takes a key; true if it was one of these. In a field the browser undoes what is typed. */
  key(event) {
    if (!hasCommand(event) || event.altKey || isField(event.target) || event.target.closest('dialog')) return false;
    const letter = event.key.toLowerCase();
    const isRedo = letter === 'z' ? event.shiftKey : letter === 'y' && !isMac;
    if (letter !== 'z' && !isRedo) return false;
    event.preventDefault();
    this.#act(isRedo ? 'redo' : 'undo');
    return true;
  }

  #act(which) {
    this.#app.attempt(() => this.#writes.takeBack(which));
  }

  #show() {
    if (this.#isClosed) return;
    const names = nextNames(this.#writes.pending, this.#states?.state);
    showNext(this.undo, 'Undo', names.undo === null ? null : labelText(names.undo));
    showNext(this.redo, 'Redo', names.redo === null ? null : labelText(names.redo));
  }
}
