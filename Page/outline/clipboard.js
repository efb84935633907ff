// Copies and pastes rows: as text, Markdown and OPML at once, so that each program takes what it knows.

import { isField } from '../shell/dom.js';
import { collected, exported } from './collect.js';
import { formatOf, readRows, written } from './formats/formats.js';
import { topsOf } from './overlay.js';

/** More rows than these are pasted as an import. */
const ROWS_MAX = 1_000;
/** Rows of folded sub-trees that a copy reads from the server, at most: the rest is for an export. */
const COPIED_MAX = 20_000;

const SIGNS = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\n': '<br>' };
const inHTML = (text) => text.replace(/[&<>\n]/g, (each) => SIGNS[each]);

/** Rows as a nested list, for programs that take formatted text. */
function listOf(rows) {
  let html = '';
  let last = -1;
  for (const { depth, title, done } of rows) {
    if (depth > last) html += '<ul>';
    else html += '</li>' + '</ul></li>'.repeat(last - depth);
    html += `<li>${done ? `<s>${inHTML(title)}</s>` : inHTML(title)}`;
    last = depth;
  }
  return html + '</li></ul>'.repeat(last + 1);
}

const TEXTS = {
  'text/plain': (rows) => written(rows, 'text').replace(/\n$/, ''),
  'text/html': listOf,
};
/** Types that only pages read. */
const OWN_TEXTS = { 'text/x-opml': (rows) => written(rows, 'opml'), 'text/markdown': (rows) => written(rows, 'md') };

export class Clipboard {
  #page;

  constructor(page) {
    this.#page = page;
    document.addEventListener('copy', this.#copied);
    document.addEventListener('cut', this.#cut);
    document.addEventListener('paste', this.#pasted);
  }

  close() {
    document.removeEventListener('copy', this.#copied);
    document.removeEventListener('cut', this.#cut);
    document.removeEventListener('paste', this.#pasted);
  }

  /** Whether the list of rows has the keyboard, and no text is selected. */
  get #isForRows() {
    const { rows, selection } = this.#page;
    return document.activeElement === rows.list && getSelection().isCollapsed && selection.isActive;
  }

  #copied = (event) => {
    if (this.#isForRows) this.#copy(event, this.#page.selection.rows);
  };

  #cut = (event) => {
    const { app, selection, mayEdit } = this.#page;
    if (!this.#isForRows || !mayEdit) return;
    const { rows } = selection;
    if (this.#copy(event, rows)) this.#page.acts.remove(rows);
    else app.notice('Some of these rows are folded. Unfold them, or copy and delete them.', { kind: 'warning' });
  };

  /** Copies what is here at once. Returns false if the server has to be asked. */
  #copy(event, rows) {
    event.preventDefault();
    const all = collected(this.#page.tree, rows);
    if (!all) {
      if (event.type === 'copy') this.copyRows(rows);
      return false;
    }
    for (const [type, made] of Object.entries({ ...TEXTS, ...OWN_TEXTS })) event.clipboardData.setData(type, made(all));
    this.#said(all.length);
    return true;
  }

  #said(count) {
    this.#page.app.announce(`${count} ${count === 1 ? 'row is' : 'rows are'} copied`);
  }

  /** Copies rows with all that is below them, also if it is folded. */
  copyRows(rows) {
    const { app, tree } = this.#page;
    return app.attempt(async () => {
      if (!navigator.clipboard?.write) {
        app.notice('On a page that is not secure, copy with the keys, and unfold the rows first.', { kind: 'warning' });
        return;
      }
      const all = collected(tree, rows) ?? this.#fromServer(rows);
      const blobs = Object.fromEntries(Object.entries(TEXTS).map(([type, made]) =>
        [type, Promise.resolve(all).then((read) => new Blob([made(read)], { type }))]));
      await navigator.clipboard.write([new ClipboardItem(blobs)]);
      this.#said((await all).length);
    });
  }

  async #fromServer(rows) {
    const all = [];
    for (const { key } of topsOf(this.#page.tree.rows, rows.map((row) => row.key))) {
      for await (const row of exported(this.#page, key)) {
        if (all.length >= COPIED_MAX) throw new Error(`More than ${COPIED_MAX} rows are below: export them as a file.`);
        all.push(row);
      }
    }
    return all;
  }

  // MARK: Paste

  #pasted = (event) => {
    const { editor, mayEdit } = this.#page;
    const { activeElement } = document;
    const isInField = activeElement === editor.element && editor.isOpen;
    if (!mayEdit || (!isInField && (activeElement !== this.#page.rows.list || isField(activeElement)))) return;
    const { clipboardData } = event;
    const opml = clipboardData.getData('text/x-opml');
    const text = opml || clipboardData.getData('text/plain');
    if (text === '') return;
    // A line of text goes into the text, and a note takes any.
    if (isInField && (editor.field === 'note' || (!opml && !/[\r\n]/.test(text.trim())))) return;
    let rows = [];
    try {
      rows = readRows(text, opml ? 'opml' : formatOf(text));
    } catch {
      rows = readRows(text, 'text');
    }
    if (rows.length === 0) return;
    const isLine = rows.length === 1 && !rows[0].title.includes('\n');
    if (isInField && isLine) return void this.#into(event, rows[0].title);
    event.preventDefault();
    this.paste(rows);
  };

  /** One row goes into the text. */
  #into(event, title) {
    event.preventDefault();
    const { element } = this.#page.editor;
    element.setRangeText(title, element.selectionStart, element.selectionEnd, 'end');
    element.dispatchEvent(new Event('input'));
  }

  /** Puts rows behind the one with the keyboard; an empty one is replaced. */
  paste(rows) {
    const { editor, selection, tree, commands, writes } = this.#page;
    const row = editor.row ?? selection.rows.at(-1) ?? null;
    const title = editor.isOpen ? editor.element.value : row?.title;
    const replaced = row && title === '' && row.children === 0 && !row.note ? row : null;
    const place = row ? commands.after(row) : { parent: tree.under };
    if (rows.length > ROWS_MAX) return this.#import(rows, place);
    if (replaced && editor.key === replaced.key) editor.close();
    return writes.named(commands.insertRows(rows, place, replaced), (key) => {
      if (key !== null) tree.whenShown(key, () => this.#page.acts.selectRow(key));
    });
  }

  #import(rows, { parent, after }) {
    const { app, writes, texts } = this.#page;
    return app.attempt(async () => {
      await texts.flushAll();
      await writes.idle();
      const { importRows } = await import('./files.js');
      await importRows(this.#page, rows, { parent, after });
    });
  }
}
