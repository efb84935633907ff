// Where an outline can begin, if its entity has no root: the objects that are below no other.

import { make } from '../shell/dom.js';
import { harmless } from './row.js';

/** Objects that are listed. */
const LISTED_MAX = 200;

export async function starts(app, source) {
  const { rows, total } = await app.nest.fetch(source.tops.window(0, LISTED_MAX));
  app.title('Outline');
  return make('div', { className: 'starts' },
    make('h1', {}, `Outlines: ${source.name}`),
    rows.length === 0 && make('p', { className: 'soft' }, `There is no ${source.name} yet. `,
      make('a', { href: `/explore/${source.name}` }, 'Make one in the explorer')),
    make('ul', {}, rows.map((row) => make('li', {},
      make('a', { href: `/outline/${row.id}`, dir: 'auto' }, harmless(row.get(source.title) || 'Untitled'))))),
    total > rows.length && make('p', { className: 'soft' }, `${total - rows.length} more: `,
      make('a', { href: `/explore/${source.name}` }, 'see all of them')));
}
