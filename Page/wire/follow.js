// A live list beside the frames, so that there is something to see: it shows what cutting the link does, and resuming.

import { make } from '../shell/dom.js';
import { count, labelText, numberText } from '../shell/format.js';

/** Rows of the list, and labels that are shown. */
const ROWS = 20;
const SHOWN = 6;

const STATUS = {
  connecting: 'connecting', live: 'live', loading: 'loading', disconnected: 'disconnected, keeps its rows',
  paused: 'paused', ended: 'ended',
};

export class Follow {
  #app;
  #list = null;

  constructor(app) {
    this.#app = app;
    this.select = make('select', { onchange: () => this.#begin(this.select.value) },
      make('option', { value: '' }, 'no list'));
    this.words = make('span', { className: 'soft followed' });
    this.element = make('div', { className: 'follow' },
      make('label', {}, make('span', {}, 'Follow'), this.select), this.words);
    app.attempt(() => this.#offer());
  }

  close() {
    this.#list?.close();
    this.#list = null;
  }

  async #offer() {
    const { entities } = await this.#app.nest.model();
    this.select.append(...entities.map(({ name }) => make('option', { value: name }, labelText(name))));
  }

  async #begin(name) {
    this.close();
    this.words.textContent = '';
    if (name === '') return;
    await this.#app.attempt(async () => {
      const entity = await this.#app.nest.entity(name);
      const { attributes, label } = entity.description;
      const shown = attributes.find(({ number }) => number === label) ?? attributes[0];
      const request = entity.properties(...(shown ? [shown.name] : ['@entity'])).window(0, ROWS);
      if (this.select.value !== name) return;
      const list = this.#app.nest.results(request);
      this.#list = list;
      const show = () => {
        if (list === this.#list) this.#show(list, shown?.name);
      };
      list.subscribe(show);
      show();
    });
  }

  #show({ status, revision, state, error }, name) {
    if (error) {
      this.words.textContent = error.message;
      return;
    }
    const labels = state.rows.slice(0, SHOWN).map((row) => labelText((name && row.get(name)) || `#${row.id}`));
    const more = state.total > labels.length ? ', …' : '';
    const words = [STATUS[status] ?? status, `revision ${numberText(revision)}`, count(state.total, 'row')].join(', ');
    this.words.textContent = `${words}: ${labels.join(', ')}${more}`;
  }
}
