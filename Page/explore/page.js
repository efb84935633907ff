// /explore[/ENTITY[/ID]]: the entities, a live table of the objects that a predicate finds, an object beside it. All
// that is shown is in the address, so that a link shows the same.

import { button, make, style } from '../shell/dom.js';
import { menuButton } from '../shell/dialog.js';
import { totalWords } from './columns.js';
import { chooseColumns, chooseTotals, relatedSectionKeys, sectionKeys, sectionWords } from './choose.js';
import { javaScriptText, nestcText, swiftText } from './copy.js';
import { EditCell } from './cell.js';
import { Edits } from './edits.js';
import { Entities } from './entities.js';
import { showExplanation } from './explain.js';
import { insertObject } from './insert.js';
import { Live, QUERY } from './live.js';
import { modelView } from './model.js';
import { ObjectPanel } from './object.js';
import { labelOf, reachable, rightsOf } from './paths.js';
import { PredicateBox, remember } from './predicate.js';
import { EMPTY, isSameQuery, pathOf, readQuery, requestOf, sortedBy, usualColumns } from './query.js';
import { Sheet } from './sheet.js';
import { Status } from './status.js';
import { UndoTools } from './undo.js';
import { Writes } from './writes.js';

/** Beyond so many objects, the usual columns have no counts of related objects. */
const COUNTED_MAX = 20_000;
const COUNT_MS = 1_500;

/** For the help that `?` shows. */
const KEYS = [
  { title: 'Predicate', keys: [
    ['Ctrl+Enter', 'Run it; Enter does, too'], ['Tab', 'Take the first completion'], ['↑ ↓', 'Choose another one'],
    ['Alt+↑ Alt+↓', 'What was asked before'], ['/', 'To the predicate'],
  ] },
  { title: 'Table', keys: [
    ['↑ ↓ ← →', 'To another cell'], ['Enter', 'Open the object'], ['F2', 'Edit the value in its place'],
    ['Ctrl+Home Ctrl+End', 'To the first row, to the last row'], ['Escape', 'Close the object'],
    ['Ctrl+Z Ctrl+Shift+Z', 'Undo and redo your own changes, by name'],
  ] },
];

export async function open(main, app, rest) {
  await style(import.meta.url, './explore.css');
  const explorer = new Explorer(main, app);
  await explorer.start(rest);
  return explorer;
}

class Explorer {
  keys = KEYS;
  /** What is asked for, and what the rows shown are of. @type {any} */
  #query = null;
  #shown = null;
  #id = null;
  #model = null;
  #entity = null;
  /** The name of the entity whose usual columns are known and whose list is open. */
  #prepared = null;
  #base = null;
  #live = null;
  #turn = 0;
  #isClosed = false;

  constructor(main, app) {
    this.app = app;
    this.main = main;
    this.writes = new Writes(app);
    this.entities = new Entities();
    this.box = new PredicateBox({
      onRun: (text) => this.#run(text),
      check: async (text) => { if (this.#base) await app.nest.resolve(this.#base.where(text)); },
    });
    this.sheet = new Sheet({
      onSort: (path, isMore) =>
        this.#change({ sort: sortedBy(this.#model, this.#entity, this.#query.sort, path, isMore) }),
      onOpen: (id) => this.#openObject(id),
      onEdit: (row, column, cell) => this.#editCell(row, column, cell),
      onWindow: (window, settled) => this.#live?.scroll(window, settled),
      onRemote: (count, who) =>
        app.announce(`${who ?? 'Others'} changed ${count === 1 ? 'a row' : `${count} rows`} in view`),
    });
    this.edits = new Edits(app, this.writes, this.sheet);
    this.status = new Status(this.writes);
    this.undo = app.can('write') ? new UndoTools(app, this.writes) : null;
    this.panel = new ObjectPanel(app, this.writes, {
      onClose: () => this.#openObject(null),
      onDeleted: (id) => { if (id === this.#id) this.#openObject(null); },
      onEntity: (name) => app.name(pathOf({ ...(this.#query?.entity === name ? this.#query
        : { ...EMPTY, entity: name }) }, this.#id)),
      insert: (entity, preset) => this.#insert(entity.name, preset),
    });
    this.onKey = (event) => this.#key(event);
  }

  async start(rest) {
    const { app } = this;
    const { confinement } = app.nest.server;
    const model = await app.nest.model();
    this.#model = reachable(model, confinement);
    this.rights = rightsOf(model, confinement);
    Object.assign(this.panel, { model: this.#model, rights: this.rights });
    this.#build();
    addEventListener('keydown', this.onKey);
    await Promise.all([
      this.entities.open(app.nest, this.#model,
        (name) => app.go(name ? pathOf({ ...EMPTY, entity: name }) : '/explore')),
      this.go(rest),
    ]);
  }

  close() {
    removeEventListener('keydown', this.onKey);
    this.#turn += 1;
    this.#isClosed = true;
    this.edits.close();
    this.status.close();
    this.undo?.close();
    this.entities.close();
    this.#live?.close();
    this.sheet.close();
    this.box.close();
    this.panel.close();
  }

  #build() {
    const { app } = this;
    this.heading = make('h1', { className: 'quiet' }, 'Explore');
    this.title = make('h2', {});
    this.totals = make('p', { className: 'totals', hidden: true });
    this.crumb = make('p', { className: 'crumb', hidden: true });
    this.sections = menuButton('Sections', () => this.#sectionEntries(),
      { 'aria-label': 'Sections', className: 'plain' });
    const tools = make('div', { className: 'tools', role: 'toolbar', 'aria-label': 'What is shown' },
      button('Columns…', () => app.attempt(() => this.#columns()), { className: 'plain' }), this.sections,
      button('Totals…', () => app.attempt(() => this.#totals()), { className: 'plain' }),
      // A confined token may not ask for it.
      app.root === null ? button('Explain', () => app.attempt(() => showExplanation(app, this.#request())),
        { className: 'plain' }) : null,
      menuButton('Copy as', () => this.#copyEntries(), { className: 'plain' }),
      this.new = app.can('write')
        ? button('New…', () => app.attempt(() => this.#insert(this.#query.entity)), { className: 'plain' }) : null);
    this.result = make('section', { className: 'result', 'aria-label': 'Objects', hidden: true, data: { region: 'result' } },
      make('header', {}, this.title, this.crumb, this.status.element, tools), this.box.element, this.sheet.element,
        this.totals);
    this.main.replaceChildren(make('div', { className: 'explorer' }, this.heading, this.entities.nav,
      make('div', { className: 'entity-line' }, this.entities.select), this.result, this.panel.element));
    this.layout = this.main.firstElementChild;
  }

  // MARK: Addresses

  async go([entity = null, id = null]) {
    const mine = ++this.#turn;
    const number = id !== null && /^\d{1,15}$/.test(id) ? Number(id) : null;
    const known = entity === null ? null : this.#model.find(entity);
    this.entities.mark(known?.name ?? null);
    this.layout.classList.toggle('has-object', number !== null && Boolean(known));
    if (!known) {
      this.#showModel(entity);
      return;
    }
    const query = readQuery(entity, location.search);
    this.app.title(number === null ? entity : `${entity} ${number}`);
    this.layout.querySelector('.model')?.remove();
    // What was there before keeps its heading until the next one is there.
    if (this.result.hidden) this.title.textContent = entity;
    this.result.hidden = false;
    const isOther = number !== this.#id || entity !== this.#query?.entity;
    if (!isSameQuery(query, this.#query)) {
      this.#query = query;
      await this.#show(mine);
    }
    if (mine !== this.#turn) return;
    if (isOther || (number !== null && !this.panel.isOpen)) this.#showObject(number);
  }

  #showModel(entity) {
    this.#query = null;
    this.#live?.close();
    this.#live = null;
    this.#id = null;
    this.panel.close();
    this.result.hidden = true;
    this.layout.querySelector('.model')?.remove();
    this.result.after(modelView(this.#model));
    this.app.title('Explore');
    if (entity !== null) this.app.notice(`The model has no entity ${entity}.`, { kind: 'warning' });
  }

  #showObject(id) {
    this.#id = id;
    this.sheet.mark(id);
    if (id === null) this.panel.close();
    else this.panel.open(this.#query.entity, id);
    // In a narrow window the object takes the place of the table.
    if (id !== null && !this.result.checkVisibility()) this.panel.element.focus();
  }

  #openObject(id) {
    if (id === this.#id && (id === null) === !this.panel.isOpen) return;
    this.app.go(pathOf(this.#query, id));
    if (id === null) this.sheet.focus();
  }

  /** Goes to the same with something different. */
  #change(changes) {
    this.app.go(pathOf({ ...this.#query, ...changes }, this.#id));
  }

  /** What the server refuses does not become an address. */
  async #run(text) {
    const where = text.trim();
    const mine = this.#turn;
    try {
      await this.app.nest.resolve(this.#base.where(where));
    } catch (error) {
      if (mine === this.#turn) this.#refused(error, this.#query);
      return;
    }
    if (mine !== this.#turn) return;
    if (this.#query.where === where) this.#show(++this.#turn);
    else this.#change({ where });
  }

  // MARK: The result

  /** The query with its columns. */
  get #whole() {
    return { ...this.#query, columns: this.#query.columns ?? this.usual };
  }

  #request() {
    return requestOf(this.#model, this.#base, this.owner, this.#whole);
  }

  async #show(mine) {
    const { app } = this;
    const query = this.#query;
    const isOtherEntity = query.entity !== this.#prepared;
    this.#entity = this.#model.entity(query.entity);
    this.#base = await app.nest.entity(query.entity);
    this.owner = query.of ? await app.nest.entity(query.of.entity).catch(() => null) : null;
    if (isOtherEntity) {
      const count = await this.entities.countOf(query.entity, COUNT_MS);
      if (mine !== this.#turn) return;
      this.usual = usualColumns(this.#model.entity(query.entity), count !== undefined && count <= COUNTED_MAX);
    }
    if (mine !== this.#turn) return;
    if (this.new) this.new.hidden = !this.rights.canInsert(this.#entity);
    this.#describe(query);
    if (isOtherEntity || !this.#live) {
      this.#live?.close();
      this.#live = this.#newLive();
      this.#prepared = query.entity;
      this.#shown = null;
      this.sheet.showWords(null);
    }
    try {
      if (query.of && !this.owner) throw new RangeError(`The model has no entity ${query.of.entity}.`);
      const request = this.#request();
      this.asked = this.#whole;
      await this.#live.show(request, this.sheet.rowsWanted);
      if (mine !== this.#turn) return;
      this.box.showFault(null);
      remember(query.entity, query.where);
    } catch (error) {
      if (mine === this.#turn) this.#refused(error, query);
    }
  }

  /** What the address says, in the controls. */
  #describe(query) {
    this.title.textContent = query.entity;
    this.box.describe(this.#model, this.#entity);
    this.box.set(query.where);
    this.sections.textContent = query.section ? `Sections: ${sectionWords(query.section)}` : 'Sections';
    this.crumb.hidden = !query.of;
    if (!query.of) return;
    const { entity, id, relationship } = query.of;
    this.crumb.replaceChildren(make('span', { className: 'soft' }, `${relationship} of `),
      make('a', { href: pathOf({ ...EMPTY, entity }, id) }, `${entity} #${id}`), ' ',
      button('×', () => this.#change({ of: null }), { className: 'plain', 'aria-label': `All ${query.entity}` }));
  }

  /** A fault of the predicate is shown at its place; what was there before stays. */
  #refused(error, query) {
    if (error.code === 'CLOSED' || error.code === 'CANCELLED') return;
    if (error.code === 'INVALID_PREDICATE' || error.column != null) {
      this.box.showFault(error);
      this.box.field.focus();
    } else this.app.fault(error instanceof RangeError ? error.message : error);
    this.asked = this.#shown ?? this.#whole;
    if (this.#shown) return;
    this.#describeSheet();
    this.sheet.showWords('The request was refused.');
  }

  #newLive() {
    const live = new Live(this.app.nest, (request) => this.writes.results(request), {
      onState: (state, more) => {
        if (live !== this.#live) return;
        if (more.cause === QUERY || !this.#shown) this.#describeSheet();
        this.sheet.show(state, this.#shown && more.cause !== QUERY ? more : { ...more, cause: QUERY });
        this.#shown = this.asked;
        this.#count(state);
        EditCell.check();
      },
      onPending: (state) => {
        if (live !== this.#live) return;
        this.sheet.showPending(state);
        this.status.show(state);
      },
      onStatus: (status, error) => {
        if (live !== this.#live) return;
        this.result.dataset.status = status;
        this.status.showLink(status);
        if (error && this.#shown) this.app.fault(error);
      },
      onLost: () => this.sheet.lost(),
      onScrolled: () => this.sheet.check(),
    });
    return live;
  }

  #describeSheet() {
    const { asked } = this;
    this.sheet.describe(this.#model, this.#entity, asked.columns, {
      sort: asked.sort, hasSections: asked.section !== '', label: `Objects of ${asked.entity}`,
      isReadOnly: !this.app.can('write'),
    });
  }

  #count(state) {
    const { total } = state;
    this.status.show(state, this.asked.section !== '');
    this.totals.hidden = !state.totals;
    this.totals.replaceChildren(...totalWords(state.totals));
    const isNarrow = this.asked.where || this.asked.of;
    this.sheet.showWords(total > 0 ? null : isNarrow ? 'No object is found.'
      : `There are no objects of ${this.asked.entity} yet.`);
  }

  // MARK: What is shown

  async #columns() {
    const columns = await chooseColumns(this.#model, this.#entity, this.#whole);
    if (columns) this.#change({ columns: columns.length > 0 ? columns : null });
  }

  async #totals() {
    const totals = await chooseTotals(this.#model, this.#entity, this.#whole);
    if (totals) this.#change({ totals });
  }

  #sectionEntries() {
    const now = this.#query.section;
    const keys = [...sectionKeys(this.#entity), ...relatedSectionKeys(this.#model, this.#entity, labelOf)];
    return [{ text: 'None', isChecked: now === '', act: () => this.#change({ section: '' }) }, null,
      ...keys.map(([text, words]) =>
        ({ text: words, isChecked: text === now, act: () => this.#change({ section: text }) }))];
  }

  #copyEntries() {
    const { host, protocol, hostname } = location;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const texts = {
      nestc: () => nestcText(this.#entity, this.#whole),
      Swift: () => swiftText(this.#entity, this.#whole, { host: hostname }),
      JavaScript: () => javaScriptText(this.#entity, this.#whole,
        { address: `${protocol === 'https:' ? 'wss' : 'ws'}://${host}/nest`, zone }),
    };
    return [
      ...Object.entries(texts).map(([name, text]) => ({ text: name, act: () => this.#copy(name, text()) })), null,
      { text: 'A link to this', act: () => this.#copy('link', location.href) },
    ];
  }

  async #copy(name, text) {
    try {
      await navigator.clipboard.writeText(text);
      this.app.notice(name === 'link' ? 'The link is copied.' : `Copied for ${name}.`);
    } catch {
      // Not every page may write the clipboard: then people copy it.
      const field = make('textarea', { value: text, readOnly: true, rows: Math.min(14, text.split('\n').length + 1),
        className: 'mono', 'aria-label': 'Text' });
      await this.app.ask({ title: `For ${name}`, wide: true, body: [field], ready: () => field.select() });
    }
  }

  // MARK: Writing

  async #insert(entityName, preset = null) {
    await insertObject(this.app, this.writes, this.#model, entityName, preset, {
      // What was asked for is shown beside the table, also before the server has it.
      made: (id) => { if (!this.#isClosed && !preset) this.#openObject(id); },
      isOpen: () => !this.#isClosed,
      refused: (id) => { if (!this.#isClosed && !preset && id === this.#id) this.#openObject(null); },
    });
  }

  #editCell(row, column, cell) {
    if (this.app.can('write')) this.edits.open(this.#base, row, column, cell);
  }

  #key(event) {
    if (event.key === 'Escape' && this.sheet.grid === event.target && this.#id !== null) this.#openObject(null);
    if (this.undo?.key(event)) return;
    if (event.key !== '/' || event.target.closest('input, textarea, select, dialog') || event.ctrlKey || event.metaKey
      || event.altKey) return;
    if (!this.#query) return;
    event.preventDefault();
    this.box.field.focus();
    this.box.field.select();
  }
}
