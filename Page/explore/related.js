// The relationships of an object: links to one, live lists of many, and changes of both.

import { button, make } from '../shell/dom.js';
import { numberText } from '../shell/format.js';
import { wordsOf } from '../shell/notice.js';
import { findObject, nameOf } from './find.js';
import { entityOf } from './remove.js';
import { labelOf } from './paths.js';
import { EMPTY, pathOf } from './query.js';

/** Objects of a to-many relationship that are listed; the link to all of them has the rest. */
const LISTED_MAX = 8;

const objectPath = (model, row, other) =>
  pathOf({ ...EMPTY, entity: entityOf(model, row.get('@entity'), other).name }, row.id);

/** The other end of a to-one relationship. `write(value)` rejects with the server's error. */
export class ToOne {
  constructor(app, model, property, { canWrite, write }) {
    this.model = model;
    this.destination = model.entity(property.destination);
    this.property = property;
    this.write = write;
    this.link = make('span', { className: 'text' });
    this.fault = make('p', { className: 'fault', role: 'status', hidden: true });
    const choose = async () => {
      const row = await findObject(app, await app.nest.entity(this.destination.name),
        { title: `${property.name}: choose` });
      if (row) await this.#save(row.id);
    };
    this.element = make('div', { className: 'field', data: { property: property.name } },
      make('div', { className: 'name' }, make('span', {}, property.name), make('span', { className: 'soft type' },
        `→ ${this.destination.name}`, property.isOptional ? '' : ' · required')),
      make('div', { className: 'control' }, this.link, canWrite ? [
        button('Change…', () => app.attempt(choose), { 'aria-label': `Change ${property.name}` }),
        this.none = property.isOptional && app.root === null ? button('∅', () => this.#save(null),
          { className: 'plain', 'aria-label': `No ${property.name}`, title: `No ${property.name}` }) : null,
      ] : null), this.fault);
  }

  /** `label`: the name of the object there; null: it has none. */
  show(value, label) {
    const isNull = value === null || value === undefined;
    this.link.classList.toggle('none', isNull);
    if (this.none) this.none.hidden = isNull;
    this.link.replaceChildren(isNull ? 'none'
      : make('a', { href: pathOf({ ...EMPTY, entity: this.destination.name }, value.id) },
      label === null || label === undefined || label === '' ? `#${value.id}` : String(label)));
  }

  async #save(value) {
    this.fault.hidden = true;
    try {
      await this.write(value);
    } catch (error) {
      const own = error.faults?.filter((one) => one.property === this.property.number) ?? [];
      this.fault.textContent = own.length > 0 ? own.map(({ message }) => message).join('; ') : wordsOf(error);
      this.fault.hidden = false;
    }
  }
}

/** A to-many relationship: its number, its first objects, and a link to all. */
export class ToMany {
  #live = null;
  #isClosed = false;

  /** @param owner the entity of the object; `write(name, body)` is a transaction, `add()` inserts an object there */
  constructor(app, writes, model, owner, id, property, { canWrite, canInsert, write, add }) {
    const destination = model.entity(property.destination);
    const label = labelOf(destination);
    const inverse = destination.find(property.inverse);
    const all = pathOf({ ...EMPTY, entity: destination.name,
      of: { entity: owner.description.name, id, relationship: property.name } });
    const count = make('span', { className: 'count' });
    const list = make('ul', { className: 'many' });
    const more = make('a', { href: all, hidden: true });
    this.fault = make('p', { className: 'fault', role: 'status', hidden: true });
    const guarded = async (body) => {
      this.fault.hidden = true;
      try {
        await body();
      } catch (error) {
        this.fault.textContent = wordsOf(error);
        this.fault.hidden = false;
      }
    };
    // Only an object that may be without the owner can be taken out.
    // A confined token takes nothing out.
    const canLeave = canWrite && app.root === null && (!inverse || inverse.isToMany || inverse.isOptional);
    this.element = make('section', { className: 'related', data: { property: property.name } },
      make('h3', {}, make('a', { href: all }, property.name), ' ', count,
        make('span', { className: 'soft type' }, ` ${destination.name}`)),
      list, more, canWrite ? make('div', { className: 'line' },
        button('Add…', () => guarded(async () => {
          const row = await findObject(app, await app.nest.entity(destination.name),
            { title: `Add to ${property.name}` });
          if (row) await write(`add to ${property.name}`, (tx) => tx.relate(owner, id, property.name, row.id));
        }), { 'aria-label': `Add to ${property.name}` }),
        canInsert ? button(`New ${destination.name}…`, () => guarded(() => add(property))) : null) : null, this.fault);
    const request = owner.of(id, property.name).properties(...(label ? [label.name] : []), '@entity')
      .window(0, LISTED_MAX);
    const show = ({ state }) => {
      if (state.revision === 0) return;
      count.textContent = numberText(state.total);
      list.replaceChildren(...state.rows.map((row) =>
        make('li', {}, make('a', { href: objectPath(model, row, property.destination) }, nameOf(destination, row)),
        canLeave ? button('×', () =>
          guarded(() => write(`take out of ${property.name}`, (tx) => tx.unrelate(owner, id, property.name, row.id))),
          { className: 'plain', 'aria-label': `Take ${nameOf(destination, row)} out of ${property.name}` }) : null)));
      more.hidden = state.total <= state.count;
      more.textContent = `All ${numberText(state.total)}`;
    };
    app.attempt(async () => {
      const live = await writes.results(request);
      if (this.#isClosed) return live.close();
      this.#live = live;
      return live.subscribe(show);
    });
  }

  close() {
    this.#isClosed = true;
    this.#live?.close();
  }
}
