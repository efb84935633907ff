// Whether a predicate fits a model (protocol.md, section 9). The server checks again: this keeps a local answer right.

import { Limits } from '../wire/limits-more.js';
import { comparisonOf, operands } from './predicates.js';

/** @typedef {import('./predicates.js').Node} Node */
/** @typedef {import('./predicates.js').Comparison} Comparison */

/**
 * What is at the end of a path.
 * @typedef {object} PathType
 * @property {'attribute' | 'object' | 'count'} kind
 * @property {string} type The type of an attribute, such as `decimal`; empty otherwise.
 * @property {boolean} isDecimal
 * @property {number | undefined} many The index of the step to many.
 * @property {number | undefined} up For IN SUBTREE: the relationship that leads up.
 * @property {any} [members] For a SUBQUERY: the entity of the objects that it counts.
 */

/** What a value of each type of attribute is compared with. */
const kinds = new Map(Object.entries({
  string: 'text', uri: 'text', decimal: 'text', boolean: 'boolean', date: 'date', data: 'data', uuid: 'uuid',
  integer: 'number', integer16: 'number', integer32: 'number', double: 'number', float: 'number',
}));
const texts = ['CONTAINS', 'BEGINSWITH', 'ENDSWITH', 'LIKE', 'MATCHES'];
const unordered = ['==', '!=', 'IN'];
const patternBytesMax = 1024;

/**
 * Follows a path from an entity.
 * @param {import('./predicates.js').Path} path
 * @param {any} entity
 * @param {any} model
 * @returns {PathType | string} Or what is wrong with it.
 */
export function pathType(path, entity, model) {
  /** @type {number | undefined} */
  let many;
  let at = entity;
  for (const [index, step] of path.steps.entries()) {
    const relationship = numbered(at.relationships, step);
    if (!relationship) return `${at.name} has no relationship number ${step}`;
    if (relationship.isToMany) {
      if (many !== undefined) return `the path from ${entity.name} follows more than one to-many relationship`;
      many = index;
    }
    at = model.entity(relationship.destination);
  }
  const found = { kind: /** @type {PathType['kind']} */ ('object'), type: '', isDecimal: false, many, up: undefined };
  const { leaf, property } = path;
  if (leaf === 0) return found;
  if (leaf === 2 || leaf === 4) {
    const counted = numbered(at.relationships, property);
    if (!counted?.isToMany) return `${at.name} has no to-many relationship number ${property}`;
    if (leaf === 2) return { ...found, kind: 'count' };
    if (many !== undefined) return 'a SUBQUERY follows one to-many relationship';
    return { ...found, kind: 'count', members: model.entity(counted.destination) };
  }
  if (leaf === 3) return aggregateType(path, at, found, model);
  const attribute = numbered(at.attributes, property);
  if (!attribute) return `${at.name} has no attribute number ${property}`;
  return { ...found, kind: 'attribute', type: attribute.type, isDecimal: attribute.type === 'decimal' };
}

/**
 * The type of a function of an attribute of related objects: `@sum`, `@min`, `@max`, `@avg`.
 * @param {import('./predicates.js').Path} path
 * @param {any} at the entity that has the relationship
 * @param {PathType} found
 * @param {any} model
 * @returns {PathType | string}
 */
function aggregateType({ property, attribute: number = 0, function: which }, at, found, model) {
  const collected = numbered(at.relationships, property);
  if (!collected?.isToMany) return `${at.name} has no to-many relationship number ${property}`;
  if (found.many !== undefined) return 'a function follows one to-many relationship';
  const members = model.entity(collected.destination);
  const attribute = numbered(members.attributes, number);
  if (!attribute) return `${members.name} has no attribute number ${number}`;
  if (which === 2 || which === 3) {
    return { ...found, kind: 'attribute', type: attribute.type, isDecimal: attribute.type === 'decimal' };
  }
  const isNumber = kinds.get(attribute.type) === 'number' || attribute.type === 'decimal';
  if (!isNumber) return `${members.name}.${attribute.name} is no number`;
  const isDouble = attribute.type === 'double' || attribute.type === 'float';
  const isDecimal = attribute.type === 'decimal' || (which === 4 && !isDouble);
  return { ...found, kind: 'attribute', type: isDecimal ? 'decimal' : isDouble ? 'double' : 'integer', isDecimal };
}

/** @param {readonly any[]} properties @param {number} number */
const numbered = (properties, number) => properties.find((property) => property.number === number);

/**
 * @param {readonly Node[]} nodes
 * @param {any} entity
 * @param {any} model
 * @returns {{ faults: string[], types: PathType[] }} What is wrong, and the type of each node that is a comparison.
 */
export function check(nodes, entity, model) {
  return checkProgram(nodes, entity, model, false);
}

/**
 * @param {readonly Node[]} nodes
 * @param {any} entity
 * @param {any} model
 * @param {boolean} isInner it is the program of a SUBQUERY
 * @returns {{ faults: string[], types: PathType[] }}
 */
function checkProgram(nodes, entity, model, isInner) {
  const faults = isInner ? [] : programFaults(nodes);
  /** @type {PathType[]} */
  const types = [];
  nodes.forEach((node, index) => {
    const comparison = comparisonOf(node);
    if (!comparison) return;
    const type = pathType(comparison.path, entity, model);
    if (typeof type === 'string') {
      faults.push(type);
      return;
    }
    types[index] = type;
    if (type.members) faults.push(...checkProgram(comparison.path.where ?? [], type.members, model, true).faults);
    if (isInner && comparison.operator === 'IN SUBTREE') faults.push('SUBTREE cannot be inside a SUBQUERY');
    if (isInner && comparison.path.leaf === 3) faults.push('a function cannot be inside a SUBQUERY');
    const fault = comparisonFault(comparison, type) ?? subtreeFault(comparison, type, entity, model);
    if (fault) faults.push(`${comparison.operator}: ${fault}`);
  });
  return { faults, types };
}

/** @param {readonly Node[]} nodes @returns {string[]} */
function programFaults(nodes) {
  const levels = levelsOf(nodes, Limits.subqueryDepthMax);
  if (typeof levels === 'string') return [levels];
  if (levels > Limits.predicateDepthMax) return [`the predicate is deeper than ${Limits.predicateDepthMax} levels`];
  const count = countOf(nodes);
  return count > Limits.predicateNodesMax ? [`the predicate has over ${Limits.predicateNodesMax} parts`] : [];
}

/** The nodes of a program, those within SUBQUERYs included. @param {readonly Node[]} nodes @returns {number} */
const countOf = (nodes) => nodes.reduce((sum, node) => sum + countOf(comparisonOf(node)?.path.where ?? []), nodes.length);

/**
 * The levels of a program; those of a SUBQUERY's count too.
 * @param {readonly Node[]} nodes
 * @param {number} deepest how deep SUBQUERYs may be nested
 * @returns {number | string} Or what is wrong with it.
 */
function levelsOf(nodes, deepest) {
  /** @type {number[]} */
  const depths = [];
  for (const node of nodes) {
    const count = operands(node);
    const least = 'and' in node || 'or' in node ? 2 : 0;
    if (count > depths.length || !(count >= least)) return 'the program is not well-formed';
    const { where } = comparisonOf(node)?.path ?? {};
    if (where && deepest === 0) return `SUBQUERYs are over ${Limits.subqueryDepthMax} deep`;
    const inner = where ? levelsOf(where, deepest - 1) : 0;
    if (typeof inner === 'string') return inner;
    depths.push(Math.max(inner, ...count ? depths.splice(-count) : []) + 1);
  }
  if (nodes.length === 0) return 1;
  return depths.length === 1 ? depths[0] : 'the program is not well-formed';
}

/**
 * @param {Comparison} comparison
 * @param {PathType} type
 * @returns {string | undefined}
 */
function comparisonFault({ operator, quantifier, folding, values }, type) {
  if ((quantifier === 0) !== (type.many === undefined)) {
    return quantifier === 0 ? 'a path that leads to many needs ANY, ALL or NONE' : 'ANY, ALL and NONE need a '
      + 'to-many relationship';
  }
  const isText = type.type === 'string' || type.type === 'uri';
  if (operator === 'IN SUBTREE') {
    return type.kind === 'object' && !folding ? undefined : 'only SELF can be in a sub-tree';
  }
  if (texts.includes(operator)) {
    if (!isText) return 'the operator is for text';
    if (values.length !== 1 || typeof values[0] !== 'string') return 'the operator needs one text';
  } else if (operator !== 'IN' && values.length !== (operator === 'BETWEEN' ? 2 : 1)) {
    return `the operator does not take ${values.length} values`;
  }
  if (type.kind === 'object' && !unordered.includes(operator)) return 'objects have no order';
  if (folding && !isText) return '[c] and [d] are for text';
  if (values.some((value) => value !== null && !admits(type, value))) return 'a value is of another type';
  const encoder = new TextEncoder();
  const isLong = (/** @type {any} */ value) => value instanceof Uint8Array ? value.length > patternBytesMax
    : typeof value === 'string' && encoder.encode(value).length > patternBytesMax;
  return values.some(isLong) ? `a value has over ${patternBytesMax} bytes` : undefined;
}

/** @param {PathType} type @param {any} value @returns {boolean} */
function admits(type, value) {
  if (type.kind === 'object') return typeof value === 'object' && 'id' in value;
  const kind = type.kind === 'count' ? 'number' : kinds.get(type.type);
  switch (typeof value) {
    case 'boolean': return kind === 'boolean';
    case 'number':
    case 'bigint': return kind === 'number';
    case 'string': return kind === 'text';
    default:
  }
  if (value instanceof Uint8Array) return kind === 'data';
  if ('value' in value) return kind === 'number';
  return kind === 'date' && 'microseconds' in value || kind === 'uuid' && 'hex' in value;
}

/**
 * Checks IN SUBTREE, and notes in its type the relationship that leads up.
 * @param {Comparison} comparison
 * @param {PathType} type
 * @param {any} entity
 * @param {any} model
 * @returns {string | undefined}
 */
function subtreeFault({ operator, path, values }, type, entity, model) {
  if (operator !== 'IN SUBTREE') return undefined;
  const [root, number] = /** @type {any[]} */ (values);
  const down = numbered(entity.relationships, number);
  if (path.steps.length || values.length !== 2 || typeof root?.id !== 'number') return 'it needs an object';
  const inverse = down?.isToMany ? numbered(model.entity(down.destination).relationships, down.inverse) : undefined;
  if (!inverse || inverse.isToMany) return `it needs a to-many relationship of ${entity.name} to itself`;
  type.up = inverse.number;
  return undefined;
}
