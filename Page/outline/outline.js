// The parts of the outline page, and what its commands do with them.

import { button, fill, make } from '../shell/dom.js';
import { Acts } from './acts.js';
import { Clipboard } from './clipboard.js';
import { Commands } from './commands.js';
import { Drag } from './drag.js';
import { Drafts } from './drafts.js';
import { Editor } from './editor.js';
import { Flash } from './flash.js';
import { Folds } from './folds.js';
import { Keyboard } from './keyboard.js';
import { parentOf } from './overlay.js';
import { Path } from './path.js';
import { People } from './people.js';
import { restore } from './restore.js';
import { Rows } from './rows.js';
import { Selection } from './selection.js';
import { Status } from './status.js';
import { Texts } from './texts.js';
import { Tools } from './tools.js';
import { Tree } from './tree.js';
import { nextNames } from '../explore/unsettled.js';
import { Writes } from './writes.js';

/** The rows that the first request asks for. */
const ROWS = 100;
/** A first visit unfolds rows as long as so few are shown. */
const FIRST_ROWS_MAX = 60;
/** How often the line below the rows is looked at, in milliseconds. */
const STATUS_MS = 1_000;

export class Outline {
  #closed = [];
  /** The row at which one arrives, if it is there; and one that is looked for until it is. */
  #arriving = null;
  #looksFor = null;
  #wasEditing = false;

  /** Opens the outline below an object in an element. */
  static async open(main, app, source, under) {
    const { nest } = app;
    const folds = new Folds(nest.server.historyID, source.name);
    const request = source.below(under).window(0, ROWS);
    const { kept } = folds;
    const writes = new Writes(nest, app.can('write'));
    const outline = await writes.outline(request, kept ?? {}).catch(() => {
      folds.drop();
      return writes.outline(request);
    });
    const page = new Outline(main, app, source, outline, folds, writes);
    if (!kept) page.unfoldsFor = FIRST_ROWS_MAX;
    return page;
  }

  constructor(main, app, source, outline, folds, writes) {
    const { nest } = app;
    Object.assign(this, { main, app, nest, source, folds, writes });
    this.mayEdit = app.can('write');
    this.drafts = new Drafts(nest.server.historyID);
    this.texts = new Texts({
      nest, source, writes, drafts: this.drafts, gone: (text) => this.#textGone(text),
      changed: (text, isConflict) => this.#textChanged(text, isConflict), wrote: () => this.status.show(),
    });
    this.tree = new Tree({ outline, source, writes, texts: this.texts });
    this.rows = new Rows(this.tree, this);
    this.editor = new Editor(this);
    this.selection = new Selection(this);
    this.commands = new Commands(this);
    this.acts = new Acts(this);
    this.path = new Path(this);
    this.status = new Status(this);
    this.tools = new Tools(this);
    this.empty = make('div', { className: 'empty', hidden: true });
    this.rows.drawn = (isLate) => this.#drawn(isLate);
    this.keyboard = new Keyboard(this);
    this.clipboard = new Clipboard(this);
    const hint = make('p', { id: 'keys-hint', className: 'quiet' },
      'Enter: a new row. Escape: select rows. ? explains the keys.');
    main.append(make('div', { className: 'outline-page' }, this.path.element, this.empty, this.rows.element,
      this.status.element, this.tools.bar, hint));
    this.path.renamed = (title) => app.title(title);
    this.flash = new Flash(this);
    this.people = new People(this);
    if (this.mayEdit) this.drag = new Drag(this);
    this.editor.moved = this.selection.changed = () => {
      this.people.say();
      this.#markRow();
    };
    this.editor.typedAway = (key) => this.#bring(key);
    this.tree.subscribe((change) => this.#show(change));
    this.#closed.push(nest.onState(() => this.status.show()), writes.subscribe(() => this.status.show()));
    const clock = setInterval(() => {
      this.tree.catchUp();
      this.status.show();
    }, STATUS_MS);
    this.#closed.push(() => clearInterval(clock));
    this.#showPath();
    restore(this).catch(app.fault);
    nest.undoStates().then((states) => {
      const show = () => this.tools.undoNames(nextNames(writes.pending, states.state));
      this.#closed.push(() => states.close(), writes.subscribe(show));
      states.subscribe(show);
      show();
    }, app.fault);
  }

  close() {
    for (const end of this.#closed) end();
    this.texts.flushAll();
    this.editor.remove();
    this.drafts.close();
    this.rows.close();
    this.keyboard.close();
    this.clipboard.close();
    this.tools.close();
    this.path.close();
    this.people.close();
    this.drag?.close();
    this.tree.outline.close();
  }

  // MARK: What shows

  #show(change) {
    const { tree } = this;
    if (change.status === 'ended') return this.#ended(change.error);
    if (change.status) return this.status.show();
    const { isElsewhere } = change;
    if (tree.under === this.#going) this.#going = null;
    if (isElsewhere) {
      this.#wasEditing = this.editor.isOpen;
      this.editor.close();
      this.selection.clear();
    }
    this.rows.show({ isElsewhere, animates: !change.isReset });
    if (isElsewhere) this.#arrived();
    else this.#keepFocus(change);
    if (change.changed) this.flash.show(change);
    this.status.show();
    this.#showEmpty();
    if (this.unfoldsFor && this.tree.isLoaded && this.writes.pending.length === 0) this.#unfoldFirst();
    if (tree.total > 0 || isElsewhere) this.#isChecked = false;
    if (tree.isLoaded && tree.total === 0 && !this.#isChecked) this.#checkPlace();
    return undefined;
  }

  /** Whether the server has ended it: another address opens another one. */
  isEnded = false;
  /** Called when the outline has to be opened again. */
  ended = () => {};
  /** How many rows a first visit may unfold, level by level. 0: the folds are those of last time. */
  unfoldsFor = 0;

  /** Unfolds rows from the first one on, as long as there is room for what is below them. */
  #unfoldFirst() {
    const { rows, total } = this.tree;
    let sum = total;
    const unfolded = [];
    for (const row of rows) {
      if (row.children === 0 || row.isExpanded || sum + row.children > this.unfoldsFor) continue;
      sum += row.children;
      unfolded.push(row);
    }
    if (unfolded.length === 0) this.unfoldsFor = 0;
    else this.acts.fold(unfolded, true);
  }

  #showEmpty() {
    const { tree } = this;
    const isEmpty = tree.isLoaded && tree.total === 0;
    if (this.empty.hidden === !isEmpty && this.empty.firstChild) return;
    this.empty.hidden = !isEmpty;
    const words = this.tools.hidesDone ? 'Nothing here is open.' : 'Nothing is written here yet.';
    fill(this.empty, make('p', {}, words),
      this.mayEdit && button('Write the first row', () => this.acts.append(), { className: 'primary' }));
  }

  #drawn(isLate) {
    this.editor.place({ isLate });
    if (!isLate) this.people?.show();
    this.#markRow();
  }

  /** The row that one writes in. */
  #markRow() {
    for (const { element, row } of this.rows.shown) {
      element.classList.toggle('active', row !== null && row.key === this.editor.key);
    }
  }

  /** The row with the keyboard may be gone, or elsewhere. */
  #keepFocus({ gone = null, isReset }) {
    const { editor, rows, selection } = this;
    if (editor.isOpen && !editor.row) {
      // One that the server does not have may be made anew: it is gone when its text is dropped.
      if (editor.text.isNew) editor.isComing = true;
      else if (gone?.has(editor.key) || (isReset && !editor.isComing)) this.#rowGone();
    } else if (editor.isOpen) {
      if (editor.isComing) rows.reveal(editor.key);
      editor.isComing = false;
    }
    selection.follow(isReset ? null : gone ?? new Set());
  }

  /** Others have deleted or hidden the row that is edited: the keyboard goes to the next one. */
  #rowGone() {
    const { editor, tree, rows, selection } = this;
    const hadFocus = document.activeElement === editor.element;
    editor.close();
    // Kept only for the keyboard, it would stay in the page.
    if (!hadFocus) return rows.draw();
    rows.list.focus({ preventScroll: true });
    const row = tree.at(Math.min(editor.lastPlace ?? rows.view.first, tree.total - 1)) ?? tree.at(rows.view.first);
    return row ? selection.select(row.key, { reveal: false }) : rows.draw();
  }

  /** What was typed into a row that is deleted. */
  #textGone({ text }) {
    if (text.trim() === '') return;
    this.app.notice(`Somebody has deleted the row that you wrote in: “${text}”`, {
      kind: 'warning', actions: [['Add it as a new row', () => this.acts.append(text)]],
    });
  }

  #textChanged(text, isConflict) {
    this.tree.refresh();
    const { editor } = this;
    if (editor.text === text && !editor.row && this.texts.get(text.key, text.field) !== text) this.#rowGone();
    this.editor.refresh(text);
    this.rows.draw();
    this.status.show();
    if (!isConflict) return;
    this.app.announce('Others have changed the text that you are writing. Yours stays; theirs is offered.');
  }

  // MARK: Where one is

  /** The object that one is on the way to, if the rows below it have not come; somebody may turn back before that. */
  #going = null;
  #turns = 0;

  async go(under) {
    const from = this.#going ?? this.tree.under;
    if (under === from) return;
    this.#going = under;
    const turn = this.#turns += 1;
    const isNewest = () => turn === this.#turns;
    const isOut = this.path.steps.some(({ id }) => id === under);
    this.#arriving = isOut ? from : null;
    if (isOut) this.path.back(under);
    else this.path.expect(this.#wayTo(under));
    try {
      // Texts go on to be stored, wherever one is.
      this.texts.flushAll();
      await (isOut ? this.tree.change({ under, window: { around: from, before: ROWS / 2, after: ROWS / 2 - 1 } })
        .catch(() => this.tree.change({ under, window: { offset: 0, limit: ROWS } }))
        : this.tree.change({ under, window: { offset: 0, limit: ROWS } }));
    } catch (error) {
      if (!isNewest()) return;
      this.#going = null;
      if (error.code !== 'NOT_FOUND') throw error;
      this.#goneUnder();
      return;
    }
    if (isNewest()) this.#showPath(under);
  }

  /** The rows from the top that is shown to a row: empty if it is not here. */
  #wayTo(key) {
    const { rows } = this.tree;
    const way = [];
    for (let at = this.tree.index(key); at >= 0; at = parentOf(rows, at)) way.unshift(rows[at]);
    return way;
  }

  /** Shows a row as soon as the page has arrived at its place. */
  arriveAt(id) {
    this.#arriving = id;
    this.#looksFor = id;
  }

  #arrived() {
    const { tree, rows, selection } = this;
    const key = this.#arriving;
    if (key !== null && !tree.row(key) && this.#looksFor !== null) this.find(this.#looksFor);
    this.#arriving = this.#looksFor = null;
    if (key !== null && tree.row(key)) rows.startAt(key);
    const row = tree.row(key) ?? tree.rows[0];
    // The keyboard goes on where it was: among the rows.
    if (document.activeElement !== document.body && !rows.element.contains(document.activeElement)) return;
    if (row && this.#wasEditing) this.editor.open(row.key);
    else {
      rows.list.focus({ preventScroll: true });
      if (row) selection.select(row.key, { reveal: false });
    }
  }

  async #showPath(under = this.tree.outline.state.under) {
    try {
      const title = await this.path.show(under);
      if (title !== null) this.app.title(title === 'Home' ? 'Outline' : title);
    } catch (error) {
      if (error.code === 'NOT_FOUND') this.#goneUnder();
      else this.app.fault(error);
    }
  }

  /** What the rows are below was deleted, or never was. */
  #goneUnder() {
    this.app.notice('There is no such row, or it was deleted. This is everything.', { kind: 'warning' });
    // A place without rows was no first visit.
    if (!this.folds.kept) this.unfoldsFor = FIRST_ROWS_MAX;
    this.app.go('/outline', { replace: true });
  }

  /** Whether it is known that what has no rows is there. */
  #isChecked = false;

  async #checkPlace() {
    this.#isChecked = true;
    const { under } = this.tree.outline.state;
    if (under === this.source.home) return;
    await this.nest.object(under).catch((error) => error.code === 'NOT_FOUND' && this.#goneUnder());
  }

  /** The server has ended the outline, or has refused it. */
  #ended(error) {
    this.isEnded = true;
    if (error?.code === 'NOT_FOUND') return this.#goneUnder();
    if (!error) return undefined;
    // Folds of last time may show more rows than the server takes.
    this.folds.drop();
    return this.app.notice(error.message, { kind: 'fault', actions: [['Open it again', () => this.ended()]] });
  }

  // MARK: Rows that are far away

  /** Brings a row into view that may be far away. Resolves with whether it is in the outline. */
  async #bring(key) {
    // A new row comes where it belongs when the server has it.
    if (this.writes.inserted.has(key)) return false;
    const window = { around: key, before: ROWS / 2, after: ROWS / 2 - 1 };
    await this.app.attempt(() => this.tree.change({ window }));
    if (!this.tree.row(key)) return false;
    this.rows.startAt(key);
    return true;
  }

  /** Brings a row into view, and selects it. */
  async find(key) {
    if (!await this.#bring(key)) return false;
    this.acts.selectRow(key);
    return true;
  }
}
