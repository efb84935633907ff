// The columns of a sheet: heads, widths, and what a cell shows.

import { make } from '../shell/dom.js';
import { isNumber, readPath, typeWords } from './paths.js';
import { labelPath, readSort } from './query.js';
import { cellText, moreText } from './values.js';

/** The least width of a column in rem, and its share of what is left, by type. */
const WIDTHS = {
  string: [11, 2], uri: [11, 2], object: [10, 1.5], date: [10, 1], uuid: [20, 1], boolean: [4.5, 0.5], data: [6, 0.5],
};
const NUMBER_WIDTH = [6, 0.7];
const ID_WIDTH = 4.5;

/** `{ path, type, words, label, isNumber, title }` of each path; those that the model does not have are left out. */
export function describeColumns(model, entity, paths) {
  return paths.flatMap((path) => {
    const found = readPath(model, entity, path);
    if (!found) return [];
    const { type, property, steps } = found;
    const isOwn = steps.length === 0 && !path.includes('@');
    return [{
      path, type, property: isOwn ? property : null, label: labelPath(model, entity, path), isNumber: isNumber(type),
      words: path.includes('@') ? type : typeWords(model, property),
      destination: found.isToOne ? model.entity(property.destination) : null,
    }];
  });
}

/** The widths, as a grid template, and the least width of a row in rem. */
export function widths(columns) {
  const each = columns.map(({ type, path }) => {
    const [least, share] = WIDTHS[type] ?? NUMBER_WIDTH;
    return [Math.max(least, Math.min(18, path.length * 0.55 + 3)), share];
  });
  return {
    template: [`${ID_WIDTH}rem`, ...each.map(([least, share]) => `minmax(${least}rem, ${share}fr)`)].join(' '),
    least: ID_WIDTH + each.reduce((sum, [least]) => sum + least, 0) + 0.8 * (each.length + 1),
  };
}

/** The cells of the head row. `onSort(path, isMore)`. */
export function heads(columns, sort, onSort) {
  const keys = readSort(sort);
  const cells = columns.map(({ path, words, isNumber: isRight }) => {
    const at = keys.findIndex((key) => key.path === path);
    const key = keys[at];
    const state = key ? (key.isDescending ? 'descending' : 'ascending') : 'none';
    const name = make('button', {
      type: 'button', title: `${path}: ${words}. Sort by it; with Shift, by it too`, data: { path },
      onclick: (event) => onSort(path, event.shiftKey),
    }, make('span', { className: 'path' }, path), make('span', { className: 'arrow', 'aria-hidden': 'true' },
      key ? `${key.isDescending ? '↓' : '↑'}${keys.length > 1 ? at + 1 : ''}` : ''));
    return make('div', { role: 'columnheader', className: `cell${isRight ? ' number' : ''}`, 'aria-sort': state },
      name);
  });
  return [make('div', { role: 'columnheader', className: 'cell id' }, 'id'), ...cells];
}

/** Fills a cell with a value. Texts of others are only ever texts. */
export function fillCell(cell, column, row) {
  const value = row.get(column.path);
  const isNull = value === null || value === undefined;
  cell.classList.toggle('none', isNull);
  cell.title = moreText(value) ?? (column.isNumber && !isNull ? String(value) : '');
  if (column.destination && !isNull) {
    const label = column.label ? row.get(column.label) : null;
    cell.replaceChildren(make('a',
      { href: `/explore/${encodeURIComponent(column.destination.name)}/${value.id}`, tabIndex: -1 },
      label === null || label === undefined || label === '' ? `#${value.id}` : String(label)));
    return;
  }
  // The title has all digits.
  cell.textContent = isNull ? '–' : column.isNumber ? shortText(value)
    : column.type === 'date' ? cellText(value).replace(/\.\d+$/, '') : cellText(value);
  if (column.type === 'boolean') cell.dataset.value = String(value);
}

/** A double with the digits that one can read; anything else whole. */
const shortText = (value) =>
  (typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(7))) : cellText(value));

/** The words of totals: `count 14`, `sum(price) 12.50`. */
export const totalWords = (totals) => Object.entries(totals ?? {}).map(([name, value]) =>
  make('span', { className: 'total' }, make('span', { className: 'soft' }, name), ' ',
    make('b', {}, value === null ? '–' : cellText(value) === String(value) ? shortText(value) : cellText(value))));
