// /history[/REVISION or undo or redo]: the transactions as they happen, what each has changed, what taking it back
// would mean, and taking it back.

import { person, personText } from '../shell/people.js';
import { button, fill, make, style } from '../shell/dom.js';
import {
  ageText, count, labelText, millisecondsOf, momentText, numberText, shortNumber, whenText,
} from '../shell/format.js';
import { Grid } from '../shell/grid.js';
import { add, Counts, emptySum } from './changes.js';
import { conflictList, Detail } from './detail.js';
import { HistoryLog } from './log.js';
import { kindText } from './words.js';

/** Transactions of one request. */
const PAGE = 200;
/** Pages that are read to meet what is known; beyond that the older ones are forgotten. */
const GAP_PAGES_MAX = 5;
/** The least time between two readings of the newest transactions, in milliseconds. */
const LIVE_MS = 250;
/** How long a line is marked as new, in milliseconds. */
const NEW_MS = 2_500;

const KEYS = [{
  title: 'History',
  keys: [
    ['↑ ↓', 'The transaction after, the one before'], ['Enter', 'Open a transaction'], ['Escape', 'Close it'],
    ['Ctrl+Z', 'Undo'], ['Ctrl+Shift+Z', 'Redo'],
  ],
}];

export async function open(main, app, rest) {
  await style(import.meta.url, './page.css');
  const page = new HistoryPage(main, app);
  page.start();
  page.go(rest);
  return page;
}

class HistoryPage {
  keys = KEYS;
  #app;
  #nest;
  #log = new HistoryLog();
  #counts;
  #grid;
  #detail = null;
  #onlyMine;
  #undo = null;
  #feed = null;
  /** The first reading. */
  #ready = null;
  /** Counts addresses: only the last one is opened. */
  #turn = 0;
  #isClosed = false;
  #isReading = false;
  #isReadingOlder = false;
  #timers = new Set();
  /** The time until which a line is marked as new, by what names it. */
  #fresh = new Map();

  constructor(main, app) {
    this.#app = app;
    this.#nest = app.nest;
    // A confined token sees its own transactions only.
    this.#onlyMine = app.root !== null;
    this.#counts = new Counts(this.#nest, () => this.#grid.refresh());
    this.#grid = new Grid({
      label: 'Transactions, newest first', empty: 'Nothing has been changed yet.', className: 'transactions',
      columns: [
        { name: 'time', text: 'When' }, { name: 'who', text: 'Who' }, { name: 'name', text: 'What' },
        { name: 'objects', text: 'Objects', className: 'number' },
        { name: 'revision', text: 'Revision', className: 'number' },
      ],
      keyOf: ({ first }) => first, fill: (cells, line, row) => this.#fill(cells, line, row),
      onOpen: ({ entry }) => app.go(`/history/${entry.revision}`), onEnd: () => this.#readOlder(),
    });
    this.undoButton = button('Undo', () => this.#takeBack('undo'), { disabled: true });
    this.redoButton = button('Redo', () => this.#takeBack('redo'), { disabled: true });
    this.previewButton = button('Preview…', () => this.#preview(), { disabled: true, 'aria-haspopup': 'menu' });
    this.side = make('div', { className: 'side' });
    main.append(make('div', { className: 'head', data: { region: '' } }, make('h1', {}, 'History'), this.#filter(),
      app.can('write') && make('div', { className: 'undo-buttons', role: 'group', 'aria-label': 'Undo and redo' },
        this.undoButton, this.redoButton, this.previewButton)),
    make('div', { className: 'split' },
      make('div', { className: 'list', data: { region: '' } }, this.#grid.element), this.side));
    this.main = main;
    this.onKey = (event) => this.#key(event);
    main.addEventListener('keydown', this.onKey);
  }

  /** Begins to follow and to read. The page can be used meanwhile. */
  start() {
    this.#follow();
    this.#ready = this.#readNewest();
    this.#app.attempt(async () => {
      const undo = await this.#nest.undoStates();
      if (this.#isClosed) return undo.close();
      this.#undo = undo;
      undo.subscribe(() => this.#showUndo());
      return this.#showUndo();
    });
  }

  /** Opens what the address names. */
  async go([subject]) {
    const turn = (this.#turn += 1);
    const isWord = subject === 'undo' || subject === 'redo';
    const revision = isWord ? null : Number(subject);
    const isRevision = Number.isSafeInteger(revision) && revision > 0;
    if (subject === undefined || !(isWord || isRevision)) return this.#closeDetail();
    if (this.#detail?.subject === (revision ?? subject)) return undefined;
    await this.#ready;
    const entry = isWord ? null : await this.#entryOf(revision);
    if (this.#isClosed || turn !== this.#turn) return undefined;
    if (!isWord && !entry) {
      this.#closeDetail();
      this.#app.notice(`There is no transaction ${numberText(revision)} in this history.`, { kind: 'warning' });
      return this.#app.name('/history');
    }
    const hadFocus = this.side.contains(document.activeElement);
    this.#detail?.close();
    const line = this.#log.lineOf(revision);
    this.#detail = new Detail(this.#app, {
      subject: revision ?? subject, entry, siblings: line?.revisions ?? [],
      done: (receipt, kind) => this.#done(receipt, kind), close: () => this.#app.go('/history'),
    });
    this.side.replaceChildren(this.#detail.element);
    this.main.dataset.open = '';
    this.#grid.mark(line?.first ?? null);
    this.#app.title(entry ? `${labelText(entry.name)} · History` : 'History');
    if (isWord || hadFocus || getComputedStyle(this.side).position === 'absolute') this.#detail.title.focus();
    return undefined;
  }

  close() {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#feed?.close().catch(() => {});
    this.#undo?.close();
    this.#counts.close();
    this.#detail?.close();
    this.#grid.close();
    delete this.main.dataset.open;
    this.main.removeEventListener('keydown', this.onKey);
  }

  #closeDetail() {
    if (!this.#detail) return;
    const hadFocus = this.side.contains(document.activeElement);
    this.#detail.close();
    this.#detail = null;
    this.#grid.mark(null);
    delete this.main.dataset.open;
    this.#app.title('History');
    if (hadFocus) this.#grid.focus();
  }

  // MARK: Reading

  async #entryOf(revision) {
    const known = this.#log.entry(revision);
    if (known) return known;
    const [entry] = await this.#nest.history({ before: revision + 1, limit: 1, onlyMine: this.#app.root !== null })
      .catch(() => []);
    return entry?.revision === revision ? entry : null;
  }

  /** Reads the newest transactions, until they meet what is known. */
  async #readNewest() {
    if (this.#isReading) {
      this.isDue = true;
      return;
    }
    this.#isReading = true;
    const onlyMine = this.#onlyMine;
    try {
      const known = new Set(this.#log.lines.map(({ first }) => first));
      let page = await this.#nest.history({ limit: PAGE, onlyMine });
      let meets = this.#isCurrent(onlyMine) && this.#log.addNewest(page);
      for (let pages = 1; !meets && this.#isCurrent(onlyMine); pages += 1) {
        if (pages === GAP_PAGES_MAX) {
          this.#log.dropBefore(page.at(-1).revision);
          break;
        }
        page = await this.#nest.history({ before: page.at(-1).revision, limit: PAGE, onlyMine });
        meets = this.#isCurrent(onlyMine) && this.#log.addNewest(page);
      }
      if (this.#isCurrent(onlyMine)) this.#show(known);
    } catch (error) {
      // A lost link is shown in the bar, and the feed says when it is back.
      if (error.retry === 0 && !this.#isClosed) this.#app.fault(error);
    } finally {
      this.#isReading = false;
    }
    if (!this.isDue || this.#isClosed) return;
    this.isDue = false;
    this.#later(LIVE_MS, () => this.#readNewest());
  }

  #isCurrent(onlyMine) {
    return !this.#isClosed && onlyMine === this.#onlyMine;
  }

  async #readOlder() {
    const { isWhole, isFull, oldest } = this.#log;
    if (this.#isReadingOlder || this.#isReading || isWhole || isFull || oldest === 0) return;
    this.#isReadingOlder = true;
    const onlyMine = this.#onlyMine;
    try {
      const page = await this.#nest.history({ before: oldest, limit: PAGE, onlyMine });
      if (!this.#isCurrent(onlyMine)) return;
      this.#log.addOlder(page);
      this.#grid.set(this.#log.lines);
    } catch (error) {
      if (error.retry === 0 && !this.#isClosed) this.#app.fault(error);
    } finally {
      this.#isReadingOlder = false;
    }
  }

  /** Follows what all sessions write. */
  async #follow() {
    const isDue = () => this.#later(LIVE_MS, () => this.#readNewest());
    if (this.#app.root !== null) return;
    this.#feed = this.#nest.changes();
    let sum = emptySum();
    try {
      for await (const event of this.#feed) {
        if (event.type === 'changes') {
          add(sum, event.objects);
          if (!event.isLast) continue;
          this.#counts.note(event.revision, sum);
          sum = emptySum();
          this.#detail?.update();
          isDue();
        } else if (event.type === 'following' || event.type === 'resumed') {
          // Something may have been written after the last look, and before the feed began.
          isDue();
        }
      }
    } catch (error) {
      if (!this.#isClosed) this.#app.fault(error);
    }
  }

  /** Shows the lines. `known`: those that stood there before: others are marked as new, and said. */
  #show(known) {
    const { lines } = this.#log;
    if (known.size > 0) {
      const fresh = lines.filter(({ first }) => !known.has(first)).slice(0, PAGE);
      for (const { first } of fresh) this.#fresh.set(first, performance.now() + NEW_MS);
      const [newest] = fresh;
      if (newest && !newest.entry.isMine) {
        this.#app.announce(`${personText(newest.entry)}: ${labelText(newest.entry.name)}`);
      }
      if (fresh.length > 0) this.#later(NEW_MS + 100, () => this.#grid.refresh());
    }
    this.#grid.set(lines);
  }

  // MARK: Lines

  #fill(cells, line, row) {
    const { entry, revisions, isBlocked, first } = line;
    const time = millisecondsOf(entry.time);
    cells.time.textContent = whenText(time, Date.now());
    cells.time.title = `${momentText(time)}, ${ageText(time, Date.now())}`;
    fill(cells.who, person(entry));
    const kind = kindText(entry);
    const next = this.#nextOf(revisions);
    fill(cells.name,
      kind && make('span', { className: 'tag' }, kind), labelText(entry.name) || make('i', {}, 'no name'),
      revisions.length > 1 && make('span', { className: 'soft' }, ` ${count(revisions.length, 'transaction')}`),
      next && make('span', { className: 'tag next' }, next),
      isBlocked && make('span', { className: 'tag' }, 'blocked'));
    cells.objects.textContent = this.#objectsText(revisions);
    cells.revision.textContent = numberText(entry.revision);
    row.classList.toggle('fresh', (this.#fresh.get(first) ?? 0) > performance.now());
  }

  #nextOf(revisions) {
    const state = this.#undo?.state;
    if (state?.undo && revisions.includes(state.undo.revision)) return 'next undo';
    return state?.redo && revisions.includes(state.redo.revision) ? 'next redo' : null;
  }

  #objectsText(revisions) {
    if (this.#app.root !== null) return '';
    this.#counts.want(revisions);
    const all = revisions.map((each) => this.#counts.of(each));
    if (all.includes(undefined)) return '–';
    if (all.includes(null)) return '…';
    return shortNumber(all.reduce((sum, { total }) => sum + total, 0)) + (all.some(({ isMore }) => isMore) ? '+' : '');
  }

  // MARK: Undo and redo

  /** Offers what can be looked at before it is done. */
  #preview() {
    const { undo, redo } = this.#undo.state;
    const entry = (kind, verb, next) => next
      && { text: `${verb} “${labelText(next.name)}”`, act: () => this.#app.go(`/history/${kind}`) };
    this.#app.menu(this.previewButton, [entry('undo', 'Undo', undo), entry('redo', 'Redo', redo)].filter(Boolean));
  }

  #showUndo() {
    const state = this.#undo.state;
    this.#showNext(this.undoButton, 'Undo', state?.undo);
    this.#showNext(this.redoButton, 'Redo', state?.redo);
    this.previewButton.disabled = !state?.undo && !state?.redo;
    this.#detail?.update();
    if (this.#app.root !== null) this.#later(LIVE_MS, () => this.#readNewest());
    else this.#grid.refresh();
  }

  #showNext(element, verb, entry) {
    element.disabled = !entry;
    element.textContent = entry ? `${verb} ${labelText(entry.name)}` : verb;
    element.title = entry ? `${verb} “${labelText(entry.name)}”` : `There is nothing to ${verb.toLowerCase()}`;
  }

  async #takeBack(kind) {
    const expected = this.#undo?.state?.[kind]?.revision;
    if (expected === undefined || !this.#app.can('write')) return;
    const receipt = await this.#app.attempt(() => this.#nest[kind]({ expected }));
    if (receipt) this.#done(receipt, kind);
  }

  /** Says what was taken back, and what was left or overwritten. */
  #done(receipt, kind) {
    const { name, conflicts, conflictCount, isChanged, revision } = receipt;
    const verb = { undo: 'Undid', redo: 'Redid', revert: 'Took back' }[kind];
    const words = isChanged ? `${verb} “${labelText(name)}” as revision ${numberText(revision)}.`
      : `Nothing of “${labelText(name)}” was left to take back.`;
    this.#app.announce(words);
    if (conflictCount === 0) return this.#app.notice(words);
    return this.#app.ask({ title: words, body: [conflictList(conflicts, conflictCount)] });
  }

  #key(event) {
    if (event.defaultPrevented || event.target.closest('input:not([type=radio], [type=checkbox]), textarea')) return;
    const isCommand = event.ctrlKey || event.metaKey;
    if (event.key === 'Escape' && this.#detail) this.#app.go('/history');
    else if (isCommand && event.key.toLowerCase() === 'z') this.#takeBack(event.shiftKey ? 'redo' : 'undo');
    else return;
    event.preventDefault();
  }

  // MARK: Which ones

  #filter() {
    if (this.#app.root !== null) return make('p', { className: 'soft' }, 'The transactions of this session');
    const option = (text, onlyMine) => make('label', { className: 'check' }, make('input', {
      type: 'radio', name: 'whose', checked: onlyMine === this.#onlyMine, onchange: () => this.#setFilter(onlyMine),
    }), text);
    return make('fieldset', { className: 'filter' }, make('legend', { className: 'quiet' }, 'Whose'),
      option('All', false), option('Mine', true));
  }

  #setFilter(onlyMine) {
    this.#onlyMine = onlyMine;
    this.#log = new HistoryLog();
    this.#isReading = false;
    this.#readNewest();
  }

  // MARK: Timers

  #later(milliseconds, body) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (!this.#isClosed) body();
    }, milliseconds);
    this.#timers.add(timer);
  }
}
