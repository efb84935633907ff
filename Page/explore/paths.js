// Properties and paths of a model as people see them: types, labels, what a path leads to.

export const isRelationship = (property) => 'destination' in property;
/** The name of an inverse that a server has added to a relationship without one: nobody has written it. */
export const isHidden = (property) => property.name.startsWith('nest_inverse_');

/** The properties that people see: attributes, then relationships. */
export const propertiesOf = (entity) => entity.properties.filter((property) => !isHidden(property));

/** Numbers that `@sum` and `@avg` take. */
const NUMBERS = new Set(['integer', 'integer16', 'integer32', 'double', 'float', 'decimal']);
export const isNumber = (type) => NUMBERS.has(type);

/**
 * The attribute that names an object: the one that the model says, else a text by its name, else the first text; null:
 * none.
 */
export function labelOf(entity) {
  const texts = entity.attributes.filter(({ type }) => type === 'string');
  return entity.find(entity.label ?? '')
    ?? ['name', 'title', 'label'].map((name) => texts.find((one) => one.name === name))
    .find(Boolean) ?? texts[0] ?? null;
}

/** A type in words: `string`, `→ User`, `→ many Phone`. */
export function typeWords(model, property) {
  if (!isRelationship(property)) return property.type;
  const { name } = model.entity(property.destination);
  return property.isToMany ? `→ many ${name}` : `→ ${name}`;
}

/** The type of a function's value. */
function functionType(name, type) {
  if (name === '@count') return 'integer';
  if (name === '@avg') return type === 'double' || type === 'float' ? 'double' : 'decimal';
  if (name === '@sum') return type.startsWith('integer') ? 'integer' : type === 'float' ? 'double' : type;
  return type;
}

/**
 * What a path of a column or a sort key leads to: `{ type, property, isToOne, steps }`; null if it is none. `type` is
 * that of the value, 'object' for a to-one relationship. `steps`: the relationships before the end.
 */
export function readPath(model, entity, path) {
  const steps = [];
  const names = path.split('.');
  for (let at = 0; at < names.length; at += 1) {
    const property = entity.find(names[at]);
    if (!property) return null;
    const isLast = at === names.length - 1;
    if (!isRelationship(property)) return isLast ? { type: property.type, property, isToOne: false, steps } : null;
    const next = model.entity(property.destination);
    if (property.isToMany) {
      const [called, attribute] = names.slice(at + 1);
      if (called === '@count' && names.length === at + 2) return { type: 'integer', property, isToOne: false, steps };
      const end = ['@sum', '@min', '@max', '@avg'].includes(called) && names.length === at + 3 && next.find(attribute);
      if (!end || isRelationship(end)) return null;
      return { type: functionType(called, end.type), property: end, isToOne: false, steps };
    }
    if (isLast) return { type: 'object', property, isToOne: true, steps };
    steps.push(property);
    entity = next;
  }
  return null;
}

/** The entities, each with its depth below others, in the order of their names. */
export function entityTree(model) {
  const below = (parent, depth) => model.entities.filter((one) => (one.parent ?? null) === parent)
    .sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((one) =>
      [{ entity: one, depth }, ...below(one.number, depth + 1)]);
  return below(null, 0);
}

/** An entity and those below it. */
export function withSubentities(model, entity) {
  const found = [entity];
  for (const one of found) found.push(...model.entities.filter(({ parent }) => parent === one.number));
  return found;
}

/** An entity with some of its relationships, as the rest of the explorer uses one. */
class Part {
  constructor(entity, parent, relationships) {
    Object.assign(this, { ...entity, parent, relationships, properties: [...entity.attributes, ...relationships] });
  }

  find(name) {
    return this.properties.find((property) => property[typeof name === 'number' ? 'number' : 'name'] === name);
  }
}

/**
 * The part of a model that a token reaches. `confinement`: null for all of it; else `{ entity, relationship }`, the
 * hierarchy that the token is confined to: its entity and those below it, without other relationships.
 */
export function reachable(model, confinement) {
  if (!confinement) return model;
  const top = model.entity(confinement.entity);
  const { number, inverse } = top.find(confinement.relationship);
  const entities = withSubentities(model, top).map((entity) => new Part(entity, entity === top ? null : entity.parent,
    entity.relationships.filter((one) => one.number === number || one.number === inverse)));
  const find = (name) => entities.find((entity) => entity[typeof name === 'number' ? 'number' : 'name'] === name);
  return { hash: model.hash, entities, find, entity: (name) => find(name) ?? model.entity(name) };
}

/**
 * What a confined token may do with objects of its hierarchy, which depends on the model: the server refuses what would
 * change, or reveal, objects outside. `model`: the whole one. `{ canDelete, canInsert(entity) }`.
 */
export function rightsOf(model, confinement) {
  if (!confinement) return { canDelete: true, canInsert: () => true };
  const top = model.entity(confinement.entity);
  const { number, inverse } = top.find(confinement.relationship);
  // Only a relationship that the object itself holds changes no other object.
  const isHeld = (one) => !one.isToMany && one.deleteRule === 'nullify'
    && isHidden(model.entity(one.destination).find(one.inverse) ?? { name: 'nest_inverse_' });
  const others = (entity) => entity.relationships.filter((one) => one.number !== number && one.number !== inverse);
  return {
    canDelete: withSubentities(model, top).every((entity) => others(entity).every(isHeld)),
    canInsert: (entity) => entity.uniquenessConstraints.every((numbers) => numbers.includes(inverse)),
  };
}
