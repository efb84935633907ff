// Keys, and clicks on rows: what they do, in the field of a row and in the list of rows.

import { hasCommand, isMac } from '../shell/dom.js';

/** Rows that Page up and Page down go past beyond those in view. */
const PAGE_OVERLAP = 1;

export class Keyboard {
  #page;

  /** `page`: the parts of the outline page. */
  constructor(page) {
    this.#page = page;
    page.editor.element.addEventListener('keydown', (event) => this.#inField(event));
    page.editor.element.addEventListener('beforeinput', (event) => this.#willInput(event));
    page.rows.list.addEventListener('keydown', (event) => this.#inList(event));
    addEventListener('keydown', this.#elsewhere);
    addEventListener('mousemove', this.#dragged);
    page.editor.draggedOut = (event) => {
      page.acts.selectRow(page.editor.key, { reveal: false });
      this.#selecting = true;
      this.#dragged(event);
    };
    page.rows.list.addEventListener('focus', () => this.#entered());
    page.rows.element.addEventListener('mousedown', (event) => this.#pressed(event));
    page.rows.element.addEventListener('click', (event) => this.#clicked(event));
    page.rows.element.addEventListener('contextmenu', (event) => this.#wantsMenu(event));
  }

  close() {
    removeEventListener('keydown', this.#elsewhere);
    removeEventListener('mousemove', this.#dragged);
  }

  /** Keys while nothing has the keyboard, or a button of the page. */
  #elsewhere = (event) => {
    const isHere = event.target === document.body || event.target === this.#page.main
      || this.#page.app.tools.contains(event.target) || this.#page.path.element.contains(event.target);
    if (event.defaultPrevented || !isHere || document.querySelector('dialog[open]')) return;
    if (event.key === '/' && !hasCommand(event) && !event.altKey) this.#take(event, this.#page.acts.search());
    else if (hasCommand(event) || event.altKey) this.#take(event, this.#common(event));
    else if (event.key === 'ArrowDown' && event.target === document.body) this.#page.rows.list.focus();
  };

  /** The rows that a command is for. */
  get #targets() {
    const { editor, selection } = this.#page;
    if (editor.row) return [editor.row];
    return selection.rows;
  }

  // MARK: Keys for both

  /** A key that means the same in the field and in the list. Returns whether it was one. */
  #common(event) {
    const { page, key } = { page: this.#page, key: event.key };
    const command = hasCommand(event);
    const { shiftKey, altKey } = event;
    const isArrow = /^Arrow(Up|Down)$/.test(key);
    const letter = key.toLowerCase();
    if (command && !altKey && letter === 'z') return page.acts.undo(shiftKey ? 'redo' : 'undo');
    if (command && !altKey && letter === 'y' && !isMac) return page.acts.undo('redo');
    if (command && !shiftKey && !altKey && letter === 'k') return page.acts.search();
    if (command && !altKey && isArrow && shiftKey) return page.acts.shift(this.#targets, key === 'ArrowUp' ? -1 : 1);
    if (command && !altKey && isArrow) return page.acts.fold(this.#targets, key === 'ArrowDown');
    if (altKey && !command && !shiftKey && key === 'ArrowRight') return page.acts.zoom(this.#targets[0]);
    if (altKey && !command && !shiftKey && key === 'ArrowLeft') return page.acts.zoomOut();
    if (command && !altKey && !shiftKey && key === 'Enter') return page.acts.done(this.#targets);
    if (command && shiftKey && !altKey && key === 'Backspace') return page.acts.remove(this.#targets);
    if (key === 'Tab' && !command && !altKey) {
      return shiftKey ? page.acts.outdent(this.#targets) : page.acts.indent(this.#targets);
    }
    if (key === 'ContextMenu' || (key === 'F10' && shiftKey)) return page.acts.menu(this.#targets);
    return false;
  }

  #take(event, isDone) {
    if (isDone === false) return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  // MARK: In the field

  #inField(event) {
    const { editor } = this.#page;
    // Keys of an input method are its own.
    if (event.isComposing || event.keyCode === 229) return;
    if (this.#take(event, this.#common(event))) return;
    // A row that is far from what is shown comes back into view first.
    if (!editor.row && /^(Enter|Arrow|Backspace|Delete)/.test(event.key)) {
      return void this.#take(event, editor.typedAway(editor.key));
    }
    const { key, shiftKey, altKey } = event;
    if (hasCommand(event) || altKey || event.ctrlKey || event.metaKey) return;
    const own = {
      Enter: () => (shiftKey ? this.#page.acts.toggleNote() : this.#page.acts.enter()),
      Escape: () => this.#page.acts.selectRow(editor.key),
      ArrowUp: () => !shiftKey && this.#step(-1),
      ArrowDown: () => !shiftKey && this.#step(1),
      ArrowLeft: () => !shiftKey && this.#past(-1),
      ArrowRight: () => !shiftKey && this.#past(1),
      Backspace: () => this.#page.acts.joinBack(),
      Delete: () => this.#page.acts.joinForward(),
    }[key];
    if (own) this.#take(event, own());
  }

  /** On a phone Enter is not a key, but a line break. */
  #willInput(event) {
    if (event.inputType !== 'insertLineBreak' && event.inputType !== 'insertParagraph') return;
    if (this.#page.editor.field === 'note') return;
    event.preventDefault();
    this.#page.acts.enter();
  }

  /** ↑ and ↓: to another line of the text, or past its ends to another row, in the same column. */
  #step(by) {
    const { editor, tree } = this.#page;
    const { isFirst, isLast, left } = editor.lines;
    const column = editor.column ?? left;
    if (by < 0 ? !isFirst : !isLast) {
      editor.column = column;
      return false;
    }
    // From a title to its note and back.
    const { row } = editor;
    const line = by < 0 ? 'last' : 'first';
    if (editor.field === 'title' && by > 0 && row.note) this.#edit(row.key, 'note', column, line);
    else if (editor.field === 'note' && by < 0) this.#edit(row.key, 'title', column, line);
    else {
      const next = tree.at(tree.place(row.key) + by);
      if (!next) return undefined;
      this.#edit(next.key, by < 0 && next.note ? 'note' : 'title', column, line);
    }
    return undefined;
  }

  #edit(key, field, column, line) {
    const { editor } = this.#page;
    editor.open(key, { field, caret: { column, line } });
    editor.column = column;
  }

  /** ← and → past the ends of a text. */
  #past(by) {
    const { editor, tree } = this.#page;
    const [start, end] = editor.selection;
    editor.column = null;
    if (start !== end || (by < 0 ? start > 0 : end < editor.element.value.length)) return false;
    const next = tree.at(tree.place(editor.key) + by);
    if (next) editor.open(next.key, { caret: by < 0 ? 'end' : 0 });
    return undefined;
  }

  // MARK: In the list

  /** The keyboard has come to the list: a row is chosen. */
  #entered() {
    const { selection, tree, rows } = this.#page;
    if (selection.isActive || this.#page.editor.isOpen) return;
    const row = tree.at(rows.view.first) ?? tree.rows[0];
    if (row) selection.select(row.key, { reveal: false });
  }

  #inList(event) {
    if (event.target !== this.#page.rows.list) return;
    if (this.#page.tree.total === 0 && event.key === 'Enter') return void this.#take(event, this.#page.acts.append());
    if (event.key === 'Tab' && !this.#page.mayEdit) return;
    if (this.#take(event, this.#common(event))) return;
    const { selection, rows, tree } = this.#page;
    const { key, shiftKey: extend } = event;
    const command = hasCommand(event);
    if (command && key.toLowerCase() === 'a') return void this.#take(event, selection.all());
    if (command || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = rows.view.count - 1 - PAGE_OVERLAP;
    const own = {
      ArrowDown: () => selection.by(1, { extend }),
      ArrowUp: () => selection.by(-1, { extend }),
      PageDown: () => selection.by(page, { extend }),
      PageUp: () => selection.by(-page, { extend }),
      Home: () => selection.go(0, { extend }),
      End: () => selection.go(tree.total - 1, { extend }),
      ArrowRight: () => this.#page.acts.unfoldOrEnter(selection.row),
      ArrowLeft: () => this.#page.acts.foldOrLeave(selection.row),
      Enter: () => (this.#page.mayEdit ? this.#page.acts.edit(selection.key) : this.#page.acts.zoom(selection.row)),
      F2: () => this.#page.acts.edit(selection.key),
      ' ': () => this.#page.acts.done(selection.rows),
      Delete: () => this.#page.acts.remove(selection.rows),
      Backspace: () => this.#page.acts.remove(selection.rows),
      '/': () => this.#page.acts.search(),
      Escape: () => selection.select(selection.key),
    }[key];
    if (own) this.#take(event, own());
  }

  // MARK: The mouse

  /** Whether the mouse selects rows. */
  #selecting = false;

  #dragged = (event) => {
    if (!(event.buttons & 1)) this.#selecting = false;
    if (!this.#selecting) return;
    const under = document.elementFromPoint(event.clientX, event.clientY);
    const row = under && this.#page.rows.rowAt(under);
    if (row) this.#page.selection.select(row.key, { extend: true });
  };

  #pressed(event) {
    if (event.button !== 0 || event.target.closest('a, button, textarea')) return;
    const row = this.#page.rows.rowAt(event.target);
    if (!row) return;
    if (event.shiftKey && this.#page.acts.selectTo(row)) return void event.preventDefault();
    if (!this.#page.mayEdit || event.pointerType === 'touch') return;
    if (event.target.closest('.hashtag')) return;
    event.preventDefault();
    this.#page.selection.clear();
    this.#page.editor.press(event, row.key, event.target.closest('.note') ? 'note' : 'title');
  }

  #clicked(event) {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const row = this.#page.rows.rowAt(target);
    const tag = target.closest('.hashtag');
    if (tag) return void this.#page.acts.search(tag.dataset.tag);
    if (!row) return;
    if (target.closest('.fold')) this.#page.acts.fold([row], !row.isExpanded);
    else if (target.closest('.more')) this.#page.acts.menu(this.#rowsFor(row), target.closest('.more'));
    else if (target.closest('.chips, a')) return;
    else if (!this.#page.mayEdit && !getSelection().toString()) this.#page.selection.select(row.key, { reveal: false });
  }

  #wantsMenu(event) {
    const row = event.target.closest('.bullet, .more') ? this.#page.rows.rowAt(event.target) : null;
    if (!row) return;
    event.preventDefault();
    this.#page.acts.menu(this.#rowsFor(row), { x: event.clientX, y: event.clientY });
  }

  /** A row, or all that are selected if it is one of them. */
  #rowsFor(row) {
    const selected = this.#page.selection.rows;
    return selected.some(({ key }) => key === row.key) ? selected : [row];
  }
}
