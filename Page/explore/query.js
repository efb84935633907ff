// What the explorer shows, as the address has it, so that a link shows the same to another person:
// `/explore/ENTITY/ID?where=…&sort=…&section=…&columns=…&totals=…&of=…`.

import { isHidden, isRelationship, labelOf, readPath } from './paths.js';

/** Columns that are shown as long as nobody has chosen some. */
const COLUMNS_DEFAULT = 10;
const TEXTS = ['where', 'sort', 'section'];
const LISTS = ['columns', 'totals'];

/**
 * A query: `entity` (its name), `where`, `sort`, `section` (texts of the query language; '' is none), `columns` (null:
 * the usual ones) and `totals` (lists), and `of`: null, or `{ entity, id, relationship }`, whose objects are shown.
 */
export const EMPTY =
  Object.freeze({ where: '', sort: '', section: '', columns: null, totals: Object.freeze([]), of: null });

/** Reads a query from the search of an address. What is not understood is left out. */
export function readQuery(entity, search) {
  const given = new URLSearchParams(search);
  const query = { ...EMPTY, entity };
  for (const name of TEXTS) query[name] = given.get(name) ?? '';
  for (const name of LISTS) {
    const list = (given.get(name) ?? '').split(',').map((part) => part.trim()).filter(Boolean);
    if (list.length > 0) query[name] = list;
  }
  const [, owner, id, relationship] = /^([^.]+)\.(\d+)\.([^.]+)$/.exec(given.get('of') ?? '') ?? [];
  if (owner && Number.isSafeInteger(Number(id))) query.of = { entity: owner, id: Number(id), relationship };
  return query;
}

/** The search of an address: '' or `?…`. */
export function searchOf(query) {
  const given = new URLSearchParams();
  if (query.of) given.set('of', `${query.of.entity}.${query.of.id}.${query.of.relationship}`);
  for (const name of TEXTS) if (query[name]) given.set(name, query[name]);
  for (const name of LISTS) if (query[name]?.length) given.set(name, query[name].join(','));
  // Commas and a few other signs need no escape in a search, and are easier to read without.
  const text = given.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%40', '@');
  return text ? `?${text}` : '';
}

/** The address of a query, and of an object of it. */
export const pathOf = (query, id = null) =>
  `/explore/${encodeURIComponent(query.entity)}${id === null ? '' : `/${id}`}${searchOf(query)}`;

/** The columns that are shown. */
export const columnsOf = (entity, query) => query.columns ?? usualColumns(entity);

/**
 * The columns as long as nobody has chosen some: attributes, to-one relationships and, with `hasCounts`, how many
 * objects the others lead to, which costs the server something for each row. Long ones come last.
 */
export function usualColumns(entity, hasCounts = true) {
  const label = labelOf(entity)?.name;
  const isLong = ({ type }) => type === 'uuid' || type === 'uri';
  const shown = entity.properties.filter((property) => !isHidden(property) && property.type !== 'data'
    && property.name !== label
    && (hasCounts || !property.isToMany));
  const names = [...shown.filter((one) => !isLong(one)),
    ...shown.filter(isLong)].map((property) => (property.isToMany ? `${property.name}.@count` : property.name));
  return [...(label ? [label] : []), ...names].slice(0, COLUMNS_DEFAULT);
}

/** `year(dob)` as `{ by: 'year', path: 'dob' }`; null: no section. */
export function readSection(text) {
  if (!text) return null;
  const called = /^(value|firstCharacter|year|month|day)\((.+)\)$/.exec(text);
  return called ? { by: called[1], path: called[2] } : { by: 'value', path: text };
}

/** The keys of a sort text: `{ path, isDescending, folding }`. */
export const readSort = (text) => text.split(',').map((part) => part.trim()).filter(Boolean).map((part) => {
  const [, sign, path, folding = ''] = /^([-+]?)([^:]*)(?::(\w*))?$/.exec(part) ?? [part, '', part];
  return { path, isDescending: sign === '-', folding };
});

export const sortText = (keys) => keys.map(({ path, isDescending, folding }) =>
  `${isDescending ? '-' : ''}${path}${folding ? `:${folding}` : ''}`).join(',');

/**
 * The sort text after a click on the head of a column: ascending, descending, none. `isMore`: the other keys stay, as
 * with Shift. Texts are sorted without case and accents.
 */
export function sortedBy(model, entity, text, path, isMore) {
  const keys = readSort(text);
  const old = keys.find((key) => key.path === path);
  const folding = old ? old.folding : ['string', 'uri'].includes(readPath(model, entity, path)?.type) ? 'cd' : '';
  const next = !old ? { path, isDescending: false, folding } : old.isDescending ? null : { ...old, isDescending: true };
  if (!isMore) return sortText(next ? [next] : []);
  return sortText(old ? keys.map((key) => (key === old ? next : key)).filter(Boolean) : [...keys, next]);
}

/** The sort text that is sent: the key of sections comes first. */
export function sortOf(query) {
  const section = readSection(query.section);
  const keys = readSort(query.sort);
  if (!section || keys[0]?.path === section.path) return query.sort;
  const key = keys.find(({ path }) => path === section.path)
    ?? { path: section.path, isDescending: false, folding: '' };
  return sortText([key, ...keys.filter(({ path }) => path !== section.path)]);
}

/** What a column needs besides itself to be shown: the label of the object that it leads to. */
export function labelPath(model, entity, path) {
  const found = readPath(model, entity, path);
  if (!found?.isToOne) return null;
  const label = labelOf(model.entity(found.property.destination));
  return label && !isRelationship(label) ? `${path}.${label.name}` : null;
}

/**
 * The request of a query, without a window. `owner`: the entity of `of`.
 * @throws NestError if a path is not one of the model
 */
export function requestOf(model, base, owner, query) {
  const description = base.description;
  let request = owner ? owner.of(query.of.id, query.of.relationship) : base;
  request = request.where(query.where);
  const sort = sortOf(query);
  if (sort) request = request.sorted(...sort.split(','));
  const columns = columnsOf(description, query);
  const labels = columns.map((path) => labelPath(model, description, path)).filter(Boolean);
  request = request.properties(...new Set([...columns, ...labels, '@entity']));
  const section = readSection(query.section);
  if (section) request = request.section(section.path, section.by);
  return query.totals.length > 0 ? request.totals(...query.totals) : request;
}

/** Whether two queries ask for the same. */
export const isSameQuery = (a, b) => a?.entity === b?.entity && searchOf(a) === searchOf(b);
