// The buttons of the outline: in the bar, and above the keyboard of a phone. And the menus.

import { make } from '../shell/dom.js';
import { showKeys, keyText } from '../shell/keys.js';
import { REDO, showNext, tool, UNDO } from '../shell/tool.js';
import { keysFor } from './keys.js';
import { topsOf } from './overlay.js';
import { short } from './texts.js';

const SEARCH = 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3L14 14';
const MORE = 'M3.4 8h.2M7.9 8h.2M12.4 8h.2';
const INDENT = 'M3 4h10M7 8h6M7 12h6M2.5 7l2 2-2 2';
const OUTDENT = 'M3 4h10M7 8h6M7 12h6M4.5 7l-2 2 2 2';
const UP = 'M8 13V3M4 7l4-4 4 4';
const DOWN = 'M8 3v10M4 9l4 4 4-4';
const CHECK = 'M3 8.5l3.5 3.5L13 4.5';

export class Tools {
  #page;
  hidesDone = false;

  constructor(page) {
    this.#page = page;
    const { app, mayEdit } = page;
    this.undo = tool('Undo', UNDO, () => page.acts.undo('undo'), { disabled: true });
    this.redo = tool('Redo', REDO, () => page.acts.undo('redo'), { disabled: true });
    this.search = tool('Search', SEARCH, () => page.acts.search(), { title: `Search (${keyText('Ctrl')}+K)` });
    this.more = tool('More about this outline', MORE, () => this.#outlineMenu(), { 'aria-haspopup': 'menu' });
    app.tools.replaceChildren(...(mayEdit ? [this.undo, this.redo] : []), this.search, this.more);
    const rows = () => (page.editor.row ? [page.editor.row] : page.selection.rows);
    this.bar = make('div', { className: 'phone-bar', role: 'toolbar', 'aria-label': 'The row', hidden: true },
      tool('Outdent', OUTDENT, () => page.acts.outdent(rows())), tool('Indent', INDENT, () => page.acts.indent(rows())),
      tool('Move up', UP, () => page.acts.shift(rows(), -1)), tool('Move down', DOWN, () => page.acts.shift(rows(), 1)),
      page.source.done && tool('Done', CHECK, () => page.acts.done(rows())),
      tool('More', MORE, (event) => this.rowMenu(rows(), event.currentTarget), { 'aria-haspopup': 'menu' }));
    this.isCoarse = matchMedia('(pointer: coarse)');
    page.editor.element.addEventListener('focus', () => this.#showBar());
    page.editor.element.addEventListener('blur', () => this.#showBar());
    visualViewport?.addEventListener('resize', this.#placeBar);
    visualViewport?.addEventListener('scroll', this.#placeBar);
  }

  close() {
    visualViewport?.removeEventListener('resize', this.#placeBar);
    visualViewport?.removeEventListener('scroll', this.#placeBar);
  }

  #showBar() {
    this.bar.hidden = !this.isCoarse.matches || document.activeElement !== this.#page.editor.element;
    this.#placeBar();
  }

  /** Above the keyboard of a phone, which covers a part of the window. */
  #placeBar = () => {
    const { height = innerHeight, offsetTop = 0 } = visualViewport ?? {};
    this.bar.style.bottom = `${Math.max(0, innerHeight - height - offsetTop)}px`;
  };

  /** What one can undo and redo, by name. */
  undoNames({ undo, redo }) {
    showNext(this.undo, 'Undo', undo);
    showNext(this.redo, 'Redo', redo);
  }

  // MARK: Menus

  #outlineMenu() {
    const page = this.#page;
    const { source, mayEdit, app } = page;
    const { under } = page.tree.outline.state;
    const entries = [
      mayEdit && under !== source.home && { text: 'Rename this row…', act: () => this.#rename(under) },
      source.done && { text: 'Hide what is done', isChecked: this.hidesDone, act: () => this.#hideDone() },
      { text: 'Unfold everything', act: () => page.acts.expand('all') },
      { text: 'Fold everything', act: () => page.acts.expand('none') },
      null,
      ...(mayEdit ? [{ text: 'Import a file…', act: () => this.#files('importFile') }] : []),
      { text: 'Export as OPML', act: () => this.#files('exportFile', 'opml') },
      { text: 'Export as Markdown', act: () => this.#files('exportFile', 'md') },
      { text: 'Export as text', act: () => this.#files('exportFile', 'text') },
      null,
      { text: 'Keys', key: '?', act: () => showKeys(keysFor(mayEdit)) },
    ];
    app.menu(this.more, entries.filter((entry) => entry !== false), { label: 'Outline' });
  }

  #files(what, ...rest) {
    return this.#page.app.attempt(async () => (await import('./files.js'))[what](this.#page, ...rest));
  }

  /** The row that the others are below has no place among them: a dialog edits it. */
  #rename(under) {
    const { app, writes, source, path } = this.#page;
    return app.attempt(async () => {
      const title = await app.askText({ title: 'Rename', label: 'Title', value: path.steps.at(-1)?.title ?? '' });
      if (title === null) return;
      writes.make(`rename “${short(title)}”`, (tx) => tx.update(source.entity, under, { [source.title]: title }),
        { refused: app.fault });
    });
  }

  #hideDone() {
    const { app, tree, source } = this.#page;
    return app.attempt(async () => {
      const hides = !this.hidesDone;
      await tree.change({ where: hides ? `${source.done} == NO` : null });
      this.hidesDone = hides;
    });
  }

  /** Everything that can be done with rows. */
  rowMenu(rows, at) {
    const page = this.#page;
    const [row] = rows;
    if (!row) return;
    const { source, mayEdit, app, tree } = page;
    const key = (keys) => keyText(keys);
    const isOne = rows.length === 1;
    const tops = topsOf(tree.rows, rows.map((each) => each.key));
    const id = row.isNew ? null : row.key;
    const entries = [
      isOne && { text: 'Open', key: key('Alt+→'), isOff: !id, act: () => page.acts.zoom(row) },
      isOne && row.children > 0 && { text: row.isExpanded ? 'Fold' : 'Unfold',
        key: key(row.isExpanded ? 'Ctrl+↑' : 'Ctrl+↓'), act: () => page.acts.fold([row], !row.isExpanded) },
      ...(mayEdit ? [
        isOne && source.note && { text: row.note ? 'Edit the note' : 'Add a note', key: key('Shift+Enter'),
          act: () => page.acts.edit(row.key, { field: 'note' }) },
        source.done && { text: rows.every(({ done }) => done) ? 'Not done' : 'Done', key: key('Ctrl+Enter'),
          act: () => page.acts.done(rows) },
        null,
        { text: 'Indent', key: 'Tab', act: () => page.acts.indent(rows) },
        { text: 'Outdent', key: key('Shift+Tab'), isOff: tops[0]?.depth === 0, act: () => page.acts.outdent(rows) },
        { text: 'Move up', key: key('Ctrl+Shift+↑'), act: () => page.acts.shift(rows, -1) },
        { text: 'Move down', key: key('Ctrl+Shift+↓'), act: () => page.acts.shift(rows, 1) },
        { text: 'Move to…', act: () => this.#moveTo(rows) },
      ] : []),
      null,
      { text: 'Copy', key: key('Ctrl+C'), act: () => page.clipboard?.copyRows(rows) },
      isOne && id && { text: 'Copy the address', act: () => this.#copyAddress(id) },
      ...(mayEdit ? [
        null,
        { text: 'Delete', key: key('Ctrl+Shift+Backspace'), act: () => page.acts.remove(rows) },
      ] : []),
    ];
    app.menu(at, entries.filter((entry) => entry !== false), { label: isOne ? 'The row' : `${rows.length} rows` });
  }

  #moveTo(rows) {
    return this.#page.app.attempt(async () => (await import('./search.js')).moveTo(this.#page, rows));
  }

  #copyAddress(id) {
    return this.#page.app.attempt(async () => {
      const address = new URL(`/outline/${id}`, location.href).href;
      if (!navigator.clipboard) throw new Error(`This browser copies only on secure pages. The address is ${address}`);
      await navigator.clipboard.writeText(address);
      this.#page.app.announce('The address is copied');
    });
  }
}
