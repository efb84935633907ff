// Where one is: from the top down to the object above the rows.

import { make } from '../shell/dom.js';
import { harmless } from './row.js';

/** Steps that are shown; more are left out in the middle. */
const STEPS_MAX = 32;

export class Path {
  #nest;
  #source;
  #turn = 0;
  /** From the top: `{ id, title }`. They may begin further down until the server has answered. */
  steps = [];
  #isWhole = false;

  /** Follows the title of what the rows are below. */
  #followed = null;
  /** Called with that title when it has changed. */
  renamed = () => {};

  constructor({ nest, source }) {
    this.#nest = nest;
    this.#source = source;
    this.list = make('ol', {});
    this.element = make('nav', { className: 'path', 'aria-label': 'Path' }, this.list);
    this.#draw();
  }

  /** Shows where one will be, until the server has answered: below rows that are here, `{ id, title }`. */
  expect(rows) {
    this.#turn += 1;
    // One that is not below what is shown: nothing is known about its way.
    if (rows.length === 0) this.#forget();
    this.steps = [...this.steps, ...rows.map(({ id, title }) => ({ id, title: title || 'Untitled' }))];
    this.#draw();
  }

  /** Shows that one goes back to an object of the path. */
  back(id) {
    this.#turn += 1;
    this.steps = this.steps.slice(0, this.steps.findIndex((step) => step.id === id) + 1);
    this.#draw();
  }

  #forget() {
    this.steps = [];
    this.#isWhole = false;
  }

  /** Reads the way to an object. Resolves with its title; throws NOT_FOUND. */
  async show(id) {
    const turn = ++this.#turn;
    const found = await this.#read(id, STEPS_MAX);
    if (turn !== this.#turn) return null;
    if (found.length === STEPS_MAX && this.#source.home && found[0].id !== this.#source.home) {
      found.splice(0, 1, { id: this.#source.home, title: 'Home' }, { id: null, title: '…' });
    }
    this.steps = found;
    this.#isWhole = true;
    this.#draw();
    this.#follow(id);
    return found.at(-1).title;
  }

  /** What is above an object that one is at: null at the top. Asks the server if the path has not come. */
  async above(id) {
    if (this.steps.length < 2 && !this.#isWhole) {
      const turn = this.#turn;
      const found = await this.#read(this.steps.at(-1)?.id ?? id, 2);
      if (turn === this.#turn && !this.#isWhole) this.steps = found;
    }
    return this.steps.at(-2)?.id ?? null;
  }

  /** The last steps to an object, as many as `max`. Throws NOT_FOUND. */
  async #read(id, max) {
    const found = [];
    let at = id;
    while (at && found.length < max) {
      const object = await this.#nest.object(at).catch((error) => {
        // A token may not reach what is above.
        if (found.length === 0) throw error;
        return null;
      });
      if (!object) break;
      const isHome = at === this.#source.home;
      const title = object.values[this.#source.title] ?? '';
      const isUnnamed = at === this.#source.root || (isHome && title === '');
      found.unshift({ id: at, title: isUnnamed ? 'Home' : title || 'Untitled' });
      if (isHome) break;
      at = object.values[this.#source.parent]?.id;
    }
    return found;
  }

  #follow(id) {
    this.close();
    if (id === this.#source.home) return;
    const { entity, title } = this.#source;
    const followed = this.#nest.results(entity.where(`SELF == ${id}`).properties(title));
    this.#followed = followed;
    followed.subscribe(() => {
      const [row] = followed.state.rows;
      const name = row?.get(title) || 'Untitled';
      const last = this.steps.at(-1);
      if (!row || followed !== this.#followed || last?.id !== id || last.title === name) return;
      this.steps = [...this.steps.slice(0, -1), { id, title: name }];
      this.#draw();
      this.renamed(name);
    });
  }

  close() {
    this.#followed?.close();
    this.#followed = null;
  }

  #draw() {
    const steps = this.steps.length > 0 ? this.steps : [{ id: null, title: 'Outline' }];
    this.list.replaceChildren(...steps.map(({ id, title }, index) => {
      const isLast = index === steps.length - 1;
      const heading = { tabIndex: -1, 'aria-current': 'page', dir: 'auto' };
      if (isLast) return make('li', {}, make('h1', heading, harmless(title)));
      return make('li', {}, id === null ? '…' : make('a', {
        href: id === this.#source.home ? '/outline' : `/outline/${id}`, dir: 'auto', title: harmless(title),
      }, harmless(title)));
    }));
  }
}
