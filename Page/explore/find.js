// Choosing an object by a search: for to-one relationships, and to add to to-many ones.

import { ask } from '../shell/dialog.js';
import { make, newID } from '../shell/dom.js';
import { quote } from '/client/index.js';
import { labelOf } from './paths.js';
import { cellText } from './values.js';

/** Objects that a search shows. */
const FOUND_MAX = 20;
const TYPE_MS = 150;

/** What names an object to people: its label, or its number. */
export function nameOf(entity, row) {
  const label = labelOf(entity);
  const text = label ? cellText(row.get(label.name)) : '';
  return text === '' ? `#${row.id}` : text;
}

/** The objects of an entity whose label contains a text, or that have this id. */
export function search(base, text) {
  const label = labelOf(base.description);
  const typed = text.trim().replace(/^#/, '');
  const parts = [];
  if (typed && label?.type === 'string') parts.push(`${label.name} CONTAINS[cd] ${quote(typed)}`);
  if (/^\d{1,15}$/.test(typed) && Number(typed) > 0) parts.push(`SELF == ${typed}`);
  let request = base.properties(...(label ? [label.name] : []), '@entity');
  if (typed) request = request.where(parts.length > 0 ? parts.join(' OR ') : 'FALSEPREDICATE');
  if (label && label.type === 'string') request = request.sorted(`${label.name}:cd`);
  return request.window(0, FOUND_MAX);
}

/** Asks for an object of an entity. Resolves with its row, or with null. */
export async function findObject(app, base, { title }) {
  const { description } = base;
  const listID = newID('found');
  const field = make('input', {
    type: 'search', autocomplete: 'off', spellcheck: false, role: 'combobox', 'aria-expanded': 'true',
    'aria-controls': listID,
    'aria-autocomplete': 'list',
  });
  const list = make('ul', { role: 'listbox', id: listID, className: 'found', 'aria-label': 'Found objects' });
  const words = make('p', { className: 'soft', role: 'status' });
  const live = app.nest.results(search(base, ''));
  let rows = [];
  let chosen = 0;
  let timer = null;
  let answer = null;
  let dialog = null;
  const choose = (index) => {
    chosen = Math.max(0, Math.min(index, rows.length - 1));
    for (const [at, item] of [...list.children].entries()) item.setAttribute('aria-selected', String(at === chosen));
    const item = list.children[chosen];
    if (item) field.setAttribute('aria-activedescendant', item.id);
    else field.removeAttribute('aria-activedescendant');
    item?.scrollIntoView({ block: 'nearest' });
  };
  const accept = (index) => {
    answer = rows[index] ?? null;
    if (answer) dialog.close();
  };
  const draw = () => {
    rows = [...live.state.rows];
    list.replaceChildren(...rows.map((row, index) => make('li', {
      role: 'option', id: `${listID}-${index}`, onclick: () => accept(index),
    }, make('span', {}, nameOf(description, row)),
      make('span', { className: 'soft' }, ` ${row.get('@entity') ? '' : ''}#${row.id}`))));
    words.textContent = live.state.total > rows.length
      ? `${rows.length} of ${live.state.total}: type more to find others`
      : rows.length === 0 ? 'Nothing is found.' : '';
    choose(chosen);
  };
  live.subscribe(draw);
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      chosen = 0;
      live.change(search(base, field.value)).catch((error) => { words.textContent = error.message; });
    }, TYPE_MS);
  });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen - 1);
    else if (event.key === 'Enter' && !event.isComposing) accept(chosen);
    else return;
    event.preventDefault();
  });
  await ask({
    title, body: [make('label', {}, `Search ${description.name}`, field), list, words], actions: [['', 'Cancel']],
    ready: (element) => { dialog = element; field.focus(); },
  });
  clearTimeout(timer);
  live.close();
  return answer;
}
