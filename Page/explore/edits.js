// Values that are edited in the table: each shows at once, and comes back into its cell if the server refuses it.

import { isField } from '../shell/dom.js';
import { EditCell } from './cell.js';
import { faultWords } from './fields.js';

export class Edits {
  #app;
  #writes;
  #sheet;
  #isClosed = false;

  constructor(app, writes, sheet) {
    this.#app = app;
    this.#writes = writes;
    this.#sheet = sheet;
  }

  close() {
    this.#isClosed = true;
  }

  /** Edits the value of a row in its cell. `entity`: what writes name. */
  open(entity, row, column, cell) {
    this.#field({ entity, id: row.id, path: column.path, property: column.property }, row, cell, null, true);
  }

  #field(place, row, cell, refusal, takesFocus) {
    const { property } = place;
    EditCell.open(cell, property, row.get(place.path), {
      takesFocus, refused: refusal,
      save: (value, text) => this.#save(place, value, text, refusal?.write ?? null),
      giveFocus: () => this.#sheet.focus(),
      onEnd: () => this.#sheet.redraw(place.id),
      onLeft: () => this.#tell(place, refusal),
    });
  }

  #save(place, value, text, last) {
    const { entity, id, property } = place;
    this.#app.attempt(() => this.#writes.make(`set ${property.name}`,
      (tx) => tx.update(entity, id, { [property.name]: value }), {
        last, failed: (error, write) => this.#failed(place, { write, text, words: faultWords(error, property), error }),
      }));
  }

  /** What was typed comes back, with the reason; where the keyboard is used meanwhile, it stays. */
  #failed(place, refusal) {
    const isElsewhere = this.#isClosed || EditCell.isOpen || refusal.write.state === 'parked';
    const found = isElsewhere ? null : this.#sheet.find(place.id, place.path);
    if (!found) return this.#tell(place, refusal);
    const { activeElement } = document;
    const isBusy = isField(activeElement) || activeElement?.closest('dialog, [role=menu]');
    const isThere = activeElement === this.#sheet.grid && this.#sheet.cursor.id === place.id;
    this.#field(place, found.row, found.cell, refusal, !isBusy && (isThere || activeElement === document.body));
  }

  /** The cell is not there, or another one is being edited: a message says it, and leads there. */
  #tell(place, refusal) {
    const { write, error, words } = refusal;
    if (this.#isClosed || write.state === 'parked') return this.#writes.tell(error, write);
    this.#app.notice(`${place.property.name} of #${place.id} was refused: ${words}`, {
      kind: 'fault', actions: [['Correct it', () => this.#correct(place, refusal)]],
    });
  }

  #correct(place, refusal) {
    if (this.#isClosed) return this.#writes.tell(refusal.error, refusal.write);
    this.#sheet.revealRow(place.id);
    const found = this.#sheet.find(place.id, place.path);
    if (found) return this.#field(place, found.row, found.cell, refusal, true);
    // The row is none of those that are shown now.
    this.#app.notice(`The table does not show #${place.id} now. What was refused: ${refusal.text}`,
      { kind: 'warning' });
  }
}
