// The model: each entity with its properties, where they lead, and what a deletion does.

import { make } from '../shell/dom.js';
import { cellText } from './values.js';
import { entityTree, isHidden, isRelationship, labelOf, typeWords } from './paths.js';

const RULES = {
  nullify: 'the others stay, without it', cascade: 'the others are deleted, too',
  deny: 'refused as long as there are others',
};

/** What else is known of a property, in words. */
function detailsOf(model, property) {
  const words = [];
  if (isRelationship(property)) {
    if (property.isOrdered) words.push('ordered');
    if (!property.isOptional) words.push('required');
    const inverse = model.entity(property.destination).find(property.inverse);
    if (inverse && !isHidden(inverse)) words.push(`inverse ${inverse.name}`);
    if (property.minimumCount > 0) words.push(`at least ${property.minimumCount}`);
    if (property.isToMany && property.maximumCount > 0) words.push(`at most ${property.maximumCount}`);
    return words.join(', ');
  }
  if (!property.isOptional) words.push('required');
  if (property.defaultsToNow) words.push('default: now');
  else if (property.default !== null) words.push(`default: ${cellText(property.default)}`);
  const isText = property.type === 'string' || property.type === 'uri' || property.type === 'data';
  if (property.minimum !== null) words.push(`${isText ? 'length from' : 'from'} ${cellText(property.minimum)}`);
  if (property.maximum !== null) words.push(`${isText ? 'length to' : 'to'} ${cellText(property.maximum)}`);
  return words.join(', ');
}

function entityCard(model, entity) {
  const names = (numbers) => numbers.map((number) => entity.find(number)?.name).filter(Boolean).join(', ');
  const label = labelOf(entity);
  const unique = entity.uniquenessConstraints.map(names).filter(Boolean);
  const indexes = entity.indexes.map(names).filter(Boolean);
  const inherited = entity.parent === null ? null : model.entity(entity.parent);
  const rows = entity.properties.filter((property) => !isHidden(property)
    && !inherited?.find(property.name)).map((property) => make('tr', { 'aria-label': property.name },
    make('th', { scope: 'row' }, property.name,
      property === label ? make('span', { className: 'soft', title: 'it names the object' }, ' ★') : null),
    make('td', {}, isRelationship(property)
      ? [property.isToMany ? '→ many ' : '→ ',
        make('a', { href: `#entity-${property.destination}` }, model.entity(property.destination).name)]
      : typeWords(model, property)),
    make('td', {}, detailsOf(model, property)),
    make('td', {}, isRelationship(property)
      ? make('span', { title: RULES[property.deleteRule] ?? '' }, property.deleteRule) : '')));
  return make('section',
    { className: 'card entity', id: `entity-${entity.number}`, 'aria-labelledby': `name-${entity.number}` },
    make('h3', { id: `name-${entity.number}` },
      make('a', { href: `/explore/${encodeURIComponent(entity.name)}` }, entity.name),
      entity.isAbstract ? make('span', { className: 'soft' }, ' abstract') : null,
      inherited ? make('span', { className: 'soft' }, ' is a ',
        make('a', { href: `#entity-${inherited.number}` }, inherited.name)) : null),
    rows.length > 0
      ? make('div', { className: 'wide-table', tabIndex: 0, role: 'group',
        'aria-label': `Properties of ${entity.name}` }, make('table', { 'aria-label': `Properties of ${entity.name}` },
        make('thead', {}, make('tr', { 'aria-label': 'Columns' },
          ['Property', 'Type', 'Details', 'Deleted with it'].map((text) => make('th', { scope: 'col' }, text)))),
        make('tbody', {}, rows)))
      : make('p', { className: 'soft' }, 'No properties of its own.'),
    unique.length > 0 ? make('p', { className: 'soft' }, `Unique: ${unique.join('; ')}`) : null,
    indexes.length > 0 ? make('p', { className: 'soft' }, `Indexes: ${indexes.join('; ')}`) : null);
}

/** The page of a model. */
export function modelView(model) {
  const tree = entityTree(model);
  return make('div', { className: 'model', data: { region: 'model' } },
    make('h2', {}, 'The model'),
    make('p', { className: 'soft' }, tree.length === 0 ? 'It has no entities.'
      : 'Choose an entity to see its objects. A relationship names what happens to the other objects when an object '
        + 'is deleted. ★ names an object.'),
    tree.map(({ entity }) => entityCard(model, entity)));
}
