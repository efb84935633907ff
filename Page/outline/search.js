// Search in the outline: the server finds rows at any depth, folded or not. And "Move to…", a search for the new place.

import { ask } from '../shell/dialog.js';
import { fill, make, newID } from '../shell/dom.js';
import { harmless, partsOf } from './row.js';

/** Results that are shown, and the pause after a key, in milliseconds. */
const RESULTS_MAX = 50;
const REST_MS = 150;
/** Rows above a result that it shows: the levels that one request can name. */
const ABOVE_MAX = 3;
/** Rows above a result that are unfolded to show it; deeper, one goes to its place. */
const UNFOLDED_MAX = 64;

/** Opens the search. `text`: what to look for at first. */
export function search(page, text = '') {
  return pick(page, {
    title: 'Search', label: 'Words in titles and notes', text, scopes: true,
    found: (result) => jump(page, result.id),
  });
}

/** Asks where rows go, and moves them there. */
export async function moveTo(page, rows) {
  const { source, app, commands, tree } = page;
  const moved = new Set(rows.map(({ key }) => key));
  const home = source.home && { id: source.home, title: 'Home', path: 'To the top level' };
  await pick(page, {
    title: rows.length === 1 ? 'Move the row to…' : `Move ${rows.length} rows to…`, label: 'Below which row?',
    first: home,
    accepts: ({ id }) => !moved.has(id),
    found: async ({ id, title }) => {
      const receipt = await commands.move(rows, { parent: id });
      const go = () => app.go(id === source.home ? '/outline' : `/outline/${id}`);
      if (receipt) app.notice(`Moved to “${title}”`, { actions: [['Go there', go]] });
    },
  });
  if (tree.rows.length > 0 && !page.editor.isOpen) page.rows.list.focus({ preventScroll: true });
}

async function pick(page, { title, label, text = '', scopes = false, first = null, accepts = () => true, found }) {
  const results = new Results(page, { accepts, first });
  const field = make('input', {
    type: 'search', value: text, autocomplete: 'off', spellcheck: false, role: 'combobox', 'aria-expanded': 'true',
    'aria-controls': results.list.id, 'aria-autocomplete': 'list', placeholder: 'Type to search',
  });
  const { source, tree } = page;
  const isInside = scopes && source.home !== null && tree.under !== source.home;
  const everywhere = make('input', { type: 'checkbox' });
  let chosen = null;
  const { under } = tree.outline.state;
  const look = () => results.look(field.value, isInside && !everywhere.checked ? under : source.home ?? under);
  await ask({
    title, wide: true, actions: [['', 'Close']],
    body: [make('label', {}, label, field),
      isInside && make('label', { className: 'check' }, everywhere, 'Everywhere, not only below this row'),
      results.element],
    ready(dialog) {
      dialog.classList.add('search');
      const take = (result) => {
        if (!result) return;
        chosen = result;
        dialog.close();
      };
      results.taken = take;
      results.field = field;
      field.addEventListener('input', look);
      everywhere.addEventListener('change', look);
      field.addEventListener('keydown', (event) => {
        const steps = { ArrowDown: 1, ArrowUp: -1 };
        if (event.key === 'Enter' && !event.isComposing) take(results.current);
        else if (steps[event.key]) results.step(steps[event.key]);
        else return;
        event.preventDefault();
      });
      field.focus();
      field.select();
      look();
    },
  });
  results.close();
  if (chosen) await found(chosen);
}

/** A list of what was found, of which one is current. */
class Results {
  #page;
  #accepts;
  #first;
  #timer = null;
  #abort = null;
  #all = [];
  #index = 0;
  taken = () => {};
  field = null;

  constructor(page, { accepts, first }) {
    this.#page = page;
    this.#accepts = accepts;
    this.#first = first;
    this.list = make('ul', { id: newID('found'), role: 'listbox', className: 'found', 'aria-label': 'Found' });
    this.words = make('p', { className: 'soft', role: 'status' });
    this.element = make('div', {}, this.words, this.list);
  }

  close() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
  }

  get current() {
    return this.#all[this.#index] ?? null;
  }

  step(by) {
    if (this.#all.length === 0) return;
    this.#index = (this.#index + by + this.#all.length) % this.#all.length;
    this.#mark();
    this.list.children[this.#index].scrollIntoView({ block: 'nearest' });
  }

  look(text, under) {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    if (text.trim() === '') return this.#show(this.#first ? [this.#first] : [], '');
    this.#timer = setTimeout(() => this.#fetch(text.trim(), under), REST_MS);
    return undefined;
  }

  async #fetch(text, under) {
    const { nest, source, app } = this.#page;
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const above = Array.from({ length: ABOVE_MAX },
      (_, level) => `${source.parent}.`.repeat(level + 1) + source.title);
    const names = [source.title, source.note, source.done, source.parent].filter(Boolean);
    let request = source.entity.where(`SELF IN SUBTREE(${under}) AND SELF != ${under}`);
    request = source.note ? request.where(containing(source.title, source.note), text, text)
      : request.where(containing(source.title), text);
    try {
      const few = request.properties(...names, ...above).window(0, RESULTS_MAX);
      const { rows, total } = await nest.fetch(few, { signal });
      if (signal.aborted) return;
      const results = rows.map((row) => ({
        id: row.id, title: row.get(source.title) ?? '', note: (source.note && row.get(source.note)) ?? '',
        done: source.done ? row.get(source.done) : false, parent: row.get(source.parent)?.id ?? null,
        path: above.map((name) => row.get(name)).filter(Boolean).reverse().join(' › '),
      })).filter(this.#accepts);
      const words = total === 0 ? 'Nothing found.' : total > rows.length
        ? `The first ${rows.length} of ${total.toLocaleString()}. More words find fewer.` : `${total} found.`;
      this.#show(results, words);
    } catch (error) {
      if (signal.aborted || error.code === 'CANCELLED') return;
      this.#show([], error.message);
      if (!error.code) app.fault(error);
    }
  }

  #show(results, words) {
    this.#all = results;
    this.#index = 0;
    this.words.textContent = words;
    fill(this.list, results.map((result, index) => make('li', {
      role: 'option', id: `${this.list.id}-${index}`, className: result.done ? 'done' : '',
      onclick: () => this.taken(result), onmousemove: () => { this.#index = index; this.#mark(); },
    }, make('span', { className: 'where', dir: 'auto' }, harmless(result.path ?? '')),
    make('span', { className: 'what', dir: 'auto' }, result.title ? partsOf(result.title.slice(0, 300)) : 'Untitled'),
    result.note ? make('span', { className: 'soft', dir: 'auto' }, harmless(result.note.slice(0, 200))) : null)));
    for (const link of this.list.querySelectorAll('a')) link.replaceWith(link.textContent);
    this.#mark();
  }

  #mark() {
    for (const [index, option] of [...this.list.children].entries()) {
      option.setAttribute('aria-selected', index === this.#index);
    }
    if (this.#all.length > 0) this.field?.setAttribute('aria-activedescendant', `${this.list.id}-${this.#index}`);
    else this.field?.removeAttribute('aria-activedescendant');
  }
}

/** A template for `where`, so that what is typed stays a text. */
const containing = (...names) => {
  const strings = names.map((name, index) => `${index === 0 ? '(' : ' OR '}${name} CONTAINS[cd] `);
  return Object.assign([...strings, ')'], { raw: [...strings, ')'] });
};

/** Shows a row wherever it is: unfolds those above it, or goes to its place. */
export async function jump(page, id) {
  const { tree, nest, source, app } = page;
  const under = tree.outline.state.under;
  const above = [];
  let at = id;
  while (at && at !== under && above.length <= UNFOLDED_MAX) {
    const object = await nest.object(at).catch(() => null);
    at = object?.values[source.parent]?.id ?? null;
    if (at && at !== under) above.push(at);
  }
  if (at === under && above.length <= UNFOLDED_MAX) {
    await app.attempt(async () => {
      if (above.length > 0) await tree.outline.setExpanded(above, true);
      page.folds.keep(tree.outline);
    });
    if (tree.row(id)) {
      page.rows.reveal(id);
      page.acts.selectRow(id);
      return;
    }
    if (await page.find(id)) return;
    app.notice('That row is hidden: it, or one above it, is done.', { kind: 'warning' });
    return;
  }
  const parent = above[0] ?? (await nest.object(id)).values[source.parent]?.id;
  app.go(parent && parent !== source.home ? `/outline/${parent}` : '/outline');
  page.arriveAt(id);
}
