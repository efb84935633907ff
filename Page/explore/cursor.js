// The active cell of a sheet. The focus stays on the table, which names the cell to assistive technology; keys move it.

export class Cursor {
  #sheet;
  /** `{ id, column }`; column 0 is the id. */
  #active = null;
  /** A line whose row has not come yet. */
  #pending = null;

  constructor(sheet) {
    this.#sheet = sheet;
    sheet.grid.addEventListener('keydown', (event) => this.#key(event));
    sheet.grid.addEventListener('focus', () => this.#begin());
  }

  get id() {
    return this.#active?.id ?? null;
  }

  set(id, column = this.#active?.column ?? 0) {
    this.#active = { id, column };
    this.draw();
  }

  /** The element of the active cell, if it is drawn. */
  get cell() {
    return this.#active && document.getElementById(this.#sheet.cellID(this.#active.id, this.#active.column));
  }

  /** Marks the active cell; after each drawing. */
  draw() {
    this.#arrive();
    const { cell } = this;
    const { grid, body } = this.#sheet;
    for (const each of body.querySelectorAll('.active')) if (each !== cell) each.classList.remove('active');
    cell?.classList.add('active');
    if (cell) grid.setAttribute('aria-activedescendant', cell.id);
    else grid.removeAttribute('aria-activedescendant');
  }

  #begin() {
    const first = this.#active ? null : this.#sheet.firstInView();
    if (first) this.#active = { id: first.row.id, column: 0 };
    this.draw();
  }

  #key(event) {
    const sheet = this.#sheet;
    if (event.target !== sheet.grid || event.altKey || sheet.count === 0) return;
    const hasCommand = event.ctrlKey || event.metaKey;
    const line = sheet.lineOf(this.id) ?? this.#pending?.line ?? sheet.firstLine;
    const column = this.#active?.column ?? 0;
    const last = sheet.columnCount;
    const keys = {
      ArrowDown: () => this.#toLine(line + 1, 1), ArrowUp: () => this.#toLine(line - 1, -1),
      PageDown: () => this.#toLine(line + sheet.linesInView - 1, 1),
      PageUp: () => this.#toLine(line - sheet.linesInView + 1, -1),
      ArrowRight: () => this.#toColumn(Math.min(last, column + 1)),
      ArrowLeft: () => this.#toColumn(Math.max(0, column - 1)),
      Home: () => (hasCommand ? this.#toLine(0, 1) : this.#toColumn(0)),
      End: () => (hasCommand ? this.#toLine(sheet.count - 1, -1) : this.#toColumn(last)),
      Enter: () => this.#active && sheet.open(this.#active.id), ' ': () => this.#active && sheet.open(this.#active.id),
      F2: () => sheet.edit(this.cell),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    keys[event.key]();
    event.preventDefault();
  }

  #toColumn(column) {
    if (!this.#active) this.#begin();
    if (!this.#active) return;
    this.set(this.#active.id, column);
    this.cell?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  /**
   * Makes the row at a line active, or the next one in this direction if a head is there; when it comes, if it is not.
   */
  #toLine(line, by) {
    const to = Math.max(0, Math.min(line, this.#sheet.count - 1));
    this.#pending = { line: to, by };
    this.#sheet.reveal(to);
    this.draw();
  }

  #arrive() {
    if (!this.#pending) return;
    const { line, by } = this.#pending;
    const found = this.#sheet.at(line);
    if (!found) return;
    this.#pending = null;
    const row = found.row ? found : this.#sheet.at(line + by) ?? this.#sheet.at(line - by);
    if (!row?.row) return;
    this.#active = { id: row.row.id, column: this.#active?.column ?? 0 };
    if (row !== found) this.#sheet.reveal(row.line);
  }
}
