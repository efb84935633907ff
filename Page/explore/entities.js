// The entities of the model with their live counts.

import { make } from '../shell/dom.js';
import { numberText } from '../shell/format.js';
import { entityTree } from './paths.js';
import { pathOf, EMPTY } from './query.js';

/** Entities whose counts are followed: each is a subscription of the connection. */
const COUNTS_MAX = 100;

export class Entities {
  #lists = new Map();
  #counts = new Map();
  /** Functions that are called with the first count of an entity. */
  #waiting = new Map();
  #current = null;

  constructor() {
    this.nav = make('nav', { className: 'entities', 'aria-label': 'Entities', data: { region: 'entities' } });
    /** For small windows. */
    this.select = make('select', { 'aria-label': 'Entity', className: 'entity-select' });
  }

  /** Follows the counts of a model. `go(name)`: another entity was chosen in the small window. */
  async open(nest, model, go) {
    const tree = entityTree(model);
    this.nav.replaceChildren(make('h2', {}, 'Entities'), make('ul', {}, tree.map(({ entity, depth }) => {
      const count = make('span', { className: 'count' });
      const link = make('a', { href: pathOf({ ...EMPTY, entity: entity.name }), data: { entity: entity.name } },
        make('span', { className: 'name' }, entity.name), count);
      link.style.paddingInlineStart = `${0.6 + depth * 0.9}rem`;
      this.#counts.set(entity.name, { link, count, option: null });
      return make('li', {}, link);
    })), make('p', {}, make('a', { href: '/explore', className: 'model-link' }, 'The model')));
    this.select.append(make('option', { value: '' }, 'The model'));
    for (const { entity, depth } of tree) {
      const option = make('option', { value: entity.name }, `${'  '.repeat(depth)}${entity.name}`);
      this.#counts.get(entity.name).option = option;
      this.select.append(option);
    }
    this.select.addEventListener('change', () => go(this.select.value));
    for (const { entity } of tree.slice(0, COUNTS_MAX)) this.#follow(nest, await nest.entity(entity.name));
    this.mark(this.#current);
  }

  #follow(nest, base) {
    const { name } = base;
    // Of a row nothing is needed, but a token that does not reach all of it must name something.
    const list = nest.results(base.properties('@entity').window(0, 0));
    this.#lists.set(name, list);
    const { count, option } = this.#counts.get(name);
    list.subscribe(({ state }) => {
      if (state.revision === 0) return;
      const text = list.status === 'ended' ? '' : numberText(state.total);
      this.#waiting.get(name)?.resolve(list.status === 'ended' ? undefined : state.total);
      if (count.textContent === text) return;
      count.textContent = text;
      option.textContent = `${option.textContent.replace(/ · .*/, '')} · ${text}`;
    });
  }

  /** The count of an entity when it is known; undefined if it is not within this time in milliseconds. */
  async countOf(name, within) {
    const list = this.#lists.get(name);
    if (list && list.state.revision > 0) return list.state.total;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), within);
      this.#waiting.set(name, { resolve: (count) => {
        clearTimeout(timer);
        resolve(count);
      } });
    });
  }

  mark(name) {
    this.#current = name;
    for (const [each, { link }] of this.#counts) {
      if (each === name) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    this.select.value = name ?? '';
    this.nav.querySelector('.model-link')?.toggleAttribute('aria-current', name === null);
  }

  close() {
    for (const list of this.#lists.values()) list.close();
  }
}
