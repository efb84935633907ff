// What somebody does in the outline, by keys, menus, buttons or the mouse: with the rows that are meant.

import { parentOf } from './overlay.js';

export class Acts {
  #page;

  constructor(page) {
    this.#page = page;
  }

  zoom(row) {
    if (!row || row.isNew) return false;
    this.#page.app.go(`/outline/${row.key}`);
    return true;
  }

  zoomOut() {
    const { app, path, source, tree } = this.#page;
    app.attempt(async () => {
      const above = await path.above(tree.outline.state.under);
      if (above) app.go(above === source.home ? '/outline' : `/outline/${above}`);
    });
  }

  // MARK: Folds

  fold(rows, isExpanded) {
    const changed = rows.filter((row) => row.children > 0 && row.isExpanded !== isExpanded);
    if (changed.length === 0) return;
    if (!isExpanded) this.#leaveFolded(changed);
    this.#page.app.attempt(async () => {
      await this.#page.tree.setExpanded(changed, isExpanded);
      this.#page.folds.keep(this.#page.tree.outline);
    });
  }

  /** The keyboard comes out of what is folded. */
  #leaveFolded(rows) {
    const { tree, editor } = this.#page;
    if (!editor.row) return;
    let index = tree.index(editor.key);
    const folded = new Set(rows.map(({ key }) => key));
    while ((index = parentOf(tree.rows, index)) >= 0) {
      if (folded.has(tree.rows[index].key)) return this.edit(tree.rows[index].key);
    }
    return undefined;
  }

  /** All of the outline: 'all' or 'none'. */
  expand(expand) {
    return this.#page.app.attempt(async () => {
      await this.#page.tree.change({ expand });
      this.#page.folds.keep(this.#page.tree.outline);
    });
  }

  unfoldOrEnter(row) {
    if (!row || row.children === 0) return;
    if (row.isExpanded) this.#page.selection.by(1);
    else this.fold([row], true);
  }

  foldOrLeave(row) {
    if (!row) return;
    const { tree, selection } = this.#page;
    if (row.children > 0 && row.isExpanded) return void this.fold([row], false);
    const index = parentOf(tree.rows, tree.index(row.key));
    if (index >= 0) selection.select(tree.rows[index].key);
    else if (row.depth > 0) this.#page.find(row.parent);
  }

  // MARK: The keyboard

  /** Edits a row. */
  edit(key, options) {
    if (!this.#page.mayEdit || !this.#page.tree.row(key)) return false;
    this.#page.selection.clear();
    this.#page.editor.open(key, options);
    return true;
  }

  /** Edits a row that was made just now: as soon as it shows, and what is typed before that is its text, too. */
  editNew(object, title, options) {
    const { editor, selection, writes } = this.#page;
    // Without a reserved id, which needs the connection, there is no row: nothing is typed anywhere else meanwhile.
    if (object.id === null) editor.wait();
    writes.named(object, (id) => {
      if (id === null) return editor.goOn();
      selection.clear();
      return editor.open(id, { ...options, row: { key: id, title, note: '' } });
    });
  }

  /** Selects a row instead of its text. */
  selectRow(key, options) {
    this.#page.editor.close();
    this.#page.rows.list.focus({ preventScroll: true });
    this.#page.selection.select(key, options);
  }

  /** Selects all rows from the one with the keyboard to another. */
  selectTo(row) {
    const from = this.#page.editor.key ?? this.#page.selection.key;
    if (from === null) return false;
    if (this.#page.editor.isOpen) this.selectRow(from, { reveal: false });
    this.#page.selection.select(row.key, { extend: true, reveal: false });
    this.#page.rows.list.focus({ preventScroll: true });
    return true;
  }

  // MARK: Writing

  /** Enter in a title or a note. */
  enter() {
    const { editor, tree, commands } = this.#page;
    const { row } = editor;
    if (editor.field === 'note') return false;
    const title = editor.element.value;
    const { rows } = tree;
    const index = tree.index(row.key);
    const next = rows[index + 1];
    // An empty last row below another goes out instead of becoming two.
    const isLast = row.depth > 0 && row.children === 0 && (!next || next.depth < row.depth);
    if (title === '' && isLast) return this.outdent([row]);
    const [, end] = editor.selection;
    const object = commands.split({ ...row, title }, title, editor.selection);
    if (object.id === row.key) this.edit(row.key, { caret: end });
    else this.editNew(object, title.slice(end), { caret: 0 });
    return undefined;
  }

  /** A new row at the end, or below the row that is shown. */
  append(title = '') {
    const { tree } = this.#page;
    const isWhole = tree.rows.length === tree.total;
    const tops = tree.rows.filter(({ depth }) => depth === 0);
    const after = isWhole ? tops.at(-1)?.key ?? null : null;
    this.editNew(this.#page.commands.insert({ place: { parent: tree.under, after }, title }), title);
  }

  toggleNote() {
    const { editor, source } = this.#page;
    if (!source.note) return;
    this.edit(editor.key, { field: editor.field === 'note' ? 'title' : 'note', caret: 'end' });
  }

  async #join(row) {
    const joined = await this.#page.commands.join(row);
    if (joined) this.edit(joined.key, { caret: joined.caret });
  }

  joinBack() {
    const { editor, tree } = this.#page;
    const [start, end] = editor.selection;
    if (start !== 0 || end !== 0) return false;
    if (editor.field === 'note') return editor.element.value === '' ? this.edit(editor.key) : false;
    if (tree.index(editor.key) < 1) return undefined;
    this.#join({ ...editor.row, title: editor.element.value });
    return undefined;
  }

  joinForward() {
    const { editor, tree } = this.#page;
    const [start, end] = editor.selection;
    if (editor.field === 'note' || start !== end || end < editor.element.value.length) return false;
    const next = tree.rows[tree.index(editor.key) + 1];
    if (next) this.#join(next);
    return undefined;
  }

  #structural(rows, body) {
    if (!this.#page.mayEdit || rows.length === 0) return;
    const selection = this.#page.editor.isOpen ? this.#page.editor.selection : null;
    Promise.resolve(body()).then((isDone) => {
      if (isDone === false) return;
      if (selection && this.#page.editor.isOpen) this.#page.rows.reveal(this.#page.editor.key);
      else if (this.#page.selection.isActive) this.#page.selection.select(this.#page.selection.key, { extend: true });
    }, this.#page.app.fault);
  }

  indent(rows) { return this.#structural(rows, () => this.#page.commands.indent(rows)); }
  outdent(rows) { return this.#structural(rows, () => this.#page.commands.outdent(rows)); }
  shift(rows, by) { return this.#structural(rows, () => this.#page.commands.shift(rows, by)); }

  done(rows) {
    if (this.#page.mayEdit && rows.length > 0) this.#page.commands.toggleDone(rows);
  }

  remove(rows) {
    if (!this.#page.mayEdit || rows.length === 0) return;
    const { tree, editor, selection } = this.#page;
    const gone = new Set(rows.map(({ key }) => key));
    const first = tree.index(rows[0].key);
    const last = tree.index(rows.at(-1).key);
    let after = last + 1;
    while (after < tree.rows.length && tree.rows[after].depth > tree.rows[last].depth) after += 1;
    const next = tree.rows[first - 1] ?? tree.rows[after];
    const isEditing = editor.isOpen;
    if (isEditing) editor.close();
    this.#page.commands.remove(rows);
    if (next && !gone.has(next.key)) {
      if (isEditing) this.edit(next.key);
      else selection.select(next.key);
    } else if (tree.total === 0) {
      selection.clear();
      this.#page.rows.list.focus({ preventScroll: true });
    }
  }

  undo(which = 'undo') {
    if (!this.#page.mayEdit) return;
    this.#page.app.attempt(async () => {
      await this.#page.texts.flushAll();
      const receipt = await this.#page.writes.takeBack(which);
      const done = which === 'undo' ? 'Undone' : 'Redone';
      if (receipt.conflictCount > 0) {
        const left = `Left as others have changed it since: ${receipt.conflictCount}.`;
        this.#page.app.notice(`${done}: ${receipt.name}. ${left}`, { kind: 'warning' });
      } else this.#page.app.announce(`${done}: ${receipt.name}`);
    });
  }

  menu(rows, at) {
    if (rows.length === 0) return;
    this.#page.tools.rowMenu(rows, at ?? this.#page.rows.elementOf(rows[0]?.key)?.more ?? this.#page.rows.list);
  }

  search(text) {
    return this.#page.app.attempt(async () => (await import('./search.js')).search(this.#page, text));
  }
}
