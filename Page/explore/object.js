// An object beside the table: its values, what it is related to, what has happened to it. It is live, as the table is.

import { button, make } from '../shell/dom.js';
import { ageText, labelText, millisecondsOf, momentText } from '../shell/format.js';
import { Field } from './fields.js';
import { isHidden, labelOf } from './paths.js';
import { askToDelete } from './remove.js';
import { ToMany, ToOne } from './related.js';
import { cellText } from './values.js';

/** Entries of the history of an object that are read at one time. */
const HISTORY_PAGE = 20;

/** `onClose()`, `onDeleted(id)`, `insert(entity, preset)`, `onEntity(name)`: the object is of an entity below. */
export class ObjectPanel {
  /** The model, or the part of it that the token reaches. @type {any} */
  model = null;
  /** What the token may do: paths.js. @type {any} */
  rights = null;
  #app;
  #writes;
  #on;
  #turn = 0;
  #live = null;
  #parts = [];
  #fields = new Map();

  constructor(app, writes, on) {
    this.#app = app;
    this.#writes = writes;
    this.#on = on;
    this.element = make('section',
      { className: 'object', 'aria-label': 'Object', hidden: true, tabIndex: -1, data: { region: 'object' } });
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape' && !event.defaultPrevented
        && !event.target.closest('textarea, input, select')) this.#on.onClose();
    });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  /** Whether something was typed that the server does not have. */
  get isDirty() {
    return [...this.#fields.values()].some((field) => field.isDirty);
  }

  close() {
    this.#turn += 1;
    this.#end();
    this.element.hidden = true;
    this.element.replaceChildren();
  }

  #end() {
    this.#live?.close();
    this.#live = null;
    for (const part of this.#parts) part.close?.();
    this.#parts = [];
    this.#fields.clear();
  }

  /** Shows an object. It may be of an entity below the one that is named. */
  async open(entityName, id) {
    const mine = ++this.#turn;
    this.#end();
    const { nest } = this.#app;
    this.element.hidden = false;
    this.element.replaceChildren(make('p', { className: 'soft', role: 'status' }, 'Loading…'));
    let found;
    try {
      found = await this.#find(id);
    } catch (error) {
      if (mine !== this.#turn) return;
      this.#showWords(`#${id}`,
        error.code === 'NOT_FOUND' ? 'There is no such object, or your token does not reach it.' : error.message);
      return;
    }
    if (mine !== this.#turn) return;
    if (found.entity !== entityName) this.#on.onEntity(found.entity);
    const owner = await nest.entity(found.entity);
    if (mine === this.#turn) this.#build(this.model.find(found.entity) ?? owner.description, owner, id);
  }

  /** An object as the server has it: one that a write of this window makes, or brings back, when that is done. */
  async #find(id) {
    const { nest } = this.#app;
    const writes = [...this.#writes.pending];
    return nest.object(id).catch(async (error) => {
      if (error.code !== 'NOT_FOUND' || writes.length === 0) throw error;
      await Promise.allSettled(writes.map(({ done }) => done));
      return nest.object(id);
    });
  }

  #showWords(title, text) {
    this.element.replaceChildren(make('header', {}, make('h2', {}, title), this.#closeButton()),
      make('p', { className: 'soft' }, text));
  }

  #closeButton = () =>
    button('×', () => this.#on.onClose(), { className: 'plain close', 'aria-label': 'Close the object' });

  #build(description, owner, id) {
    const app = this.#app;
    const { model } = this;
    const canWrite = app.can('write');
    const mine = this.#turn;
    // A failure stands where the write was made; in a message, if another object is shown meanwhile.
    const begin = (name, body, last = null) => this.#writes.make(name, body, {
      last, failed: (error, failed) => { if (mine !== this.#turn) this.#writes.tell(error, failed); },
    });
    const write = (name, body) => begin(name, body).done;
    const set = (property) => {
      let last = null;
      return (value) => {
        last = begin(`set ${property.name}`, (tx) => tx.update(owner, id, { [property.name]: value }),
          last?.state === 'refused' ? last : null);
        return last.done;
      };
    };
    const title = make('h2', {}, `#${id}`);
    const one = new Map();
    const values = make('div', { className: 'values' });
    for (const property of description.attributes) {
      const field = new Field(property, { canWrite, save: set(property) });
      this.#fields.set(property.name, field);
      values.append(field.element);
    }
    const shown = description.relationships.filter((property) => !isHidden(property));
    for (const property of shown.filter(({ isToMany }) => !isToMany)) {
      const part = new ToOne(app, model, property, { canWrite, write: set(property) });
      one.set(property.name, part);
      values.append(part.element);
    }
    const many = shown.filter(({ isToMany }) => isToMany).map((property) =>
      new ToMany(app, this.#writes, model, owner, id, property, {
      canWrite, canInsert: this.rights.canInsert(model.entity(property.destination)), write, add: (relationship) =>
        this.#on.insert(model.entity(relationship.destination), { relationship, owner: id }),
    }));
    this.#parts = many;
    const name = () => title.textContent;
    const remove = async () => {
      const label = name();
      if (!await askToDelete(app, model, description.name, id, label)) return;
      this.#writes.make(`delete ${label}`, (tx) => tx.delete(id), {
        failed: (error, failed) => {
          closeNotice();
          this.#writes.tell(error, failed);
        },
      });
      // The table does not show it any more; nor is it shown here.
      this.#on.onDeleted(id);
      const closeNotice = app.notice(`${label} was deleted`,
        { actions: [['Undo', () => app.attempt(() => this.#writes.takeBack('undo'))]] });
    };
    this.element.replaceChildren(
      make('header', {}, make('div', {}, title, make('p', { className: 'soft' }, `${description.name} ${id}`)),
        canWrite && app.root !== id && this.rights.canDelete
          ? button('Delete…', () => app.attempt(remove), { className: 'danger' }) : null,
        this.#closeButton()),
      this.gone = make('p', { className: 'fault', hidden: true, role: 'status' }), values,
      many.length > 0 ? make('div', { className: 'relations' }, many.map(({ element }) => element)) : '',
      this.#history(id));
    app.attempt(() => this.#follow(description, owner, id, title, one));
  }

  // MARK: Live values

  async #follow(description, owner, id, title, one) {
    const { model } = this;
    const labels = new Map([...one.keys()].flatMap((name) => {
      const label = labelOf(model.entity(description.find(name).destination));
      return label ? [[name, `${name}.${label.name}`]] : [];
    }));
    const own = description.properties.filter((property) => !property.isToMany).map(({ name }) => name);
    const label = labelOf(description);
    const mine = this.#turn;
    const live = await this.#writes.results(owner.where(`SELF == ${id}`).properties(...own, ...labels.values()));
    if (mine !== this.#turn) return live.close();
    this.#live = live;
    return live.subscribe((change) => {
      const { state } = live;
      if (live !== this.#live || state.revision === 0) return;
      const [row] = state.rows;
      this.gone.hidden = Boolean(row);
      if (!row) {
        this.gone.textContent = 'The object was deleted. What you see is what it was.';
        return;
      }
      const name = label ? cellText(row.get(label.name)) : '';
      title.textContent = name === '' ? `#${id}` : labelText(name);
      const who = change.own?.length ? null : change.authors?.at(-1)?.user ?? null;
      for (const [property, field] of this.#fields) field.show(row.get(property), who);
      for (const [property, part] of one) part.show(row.get(property),
        labels.has(property) ? row.get(labels.get(property)) : null);
    });
  }

  // MARK: History

  #history(id) {
    const list = make('ol', { className: 'history' });
    const words = make('p', { className: 'soft', role: 'status' });
    const more = button('Earlier', () => read(), { hidden: true });
    let before = 0;
    const read = async () => {
      words.textContent = 'Loading…';
      try {
        const entries = await this.#app.nest.history({ object: id, onlyMine: this.#app.root !== null, before,
          limit: HISTORY_PAGE });
        words.textContent = entries.length === 0 && before === 0 ? 'Nothing is known.' : '';
        for (const entry of entries) list.append(historyLine(entry));
        before = entries.at(-1)?.revision ?? before;
        more.hidden = entries.length < HISTORY_PAGE;
      } catch (error) {
        words.textContent = error.message;
      }
    };
    const details = make('details', { className: 'past' }, make('summary', {}, 'History'), list, words, more);
    details.addEventListener('toggle', () => {
      if (details.open && list.childElementCount === 0) read();
    });
    return details;
  }
}

function historyLine(entry) {
  const time = millisecondsOf(entry.time);
  const who = entry.user ? `${entry.userClaimed ? '~' : ''}${entry.user}` : `session ${entry.sessionNumber}`;
  return make('li', {}, make('a', { href: `/history/${entry.revision}` }, labelText(entry.name || entry.kind)), ' ',
    make('span', { className: 'soft' }, `${labelText(who)}, `,
      make('time', { dateTime: new Date(time).toISOString(), title: momentText(time) },
      ageText(time, Date.now()))));
}

