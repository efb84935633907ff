/**
 * What a client holds of one live result, and what its request and the model say about it.
 * @module
 */

import { decodePredicate } from '../wire/predicate.js';
import { NestError } from '../wire/errors.js';
import { entityProperty } from '../wire/model.js';
import { conjuncts, isOwnComparison, KnownPredicate } from './known-predicate.js';
import { RowTerms } from './row-terms.js';

/**
 * @typedef {object} OverlayView
 * @property {any} request as the server has it, in the form of `(await nest.resolve(request)).wire`. Its projection
 *   should be `widened`: what is missing is unknown
 * @property {any} state of wire/results.js
 * @property {number | null} [sourceEntity] of the source's object, if it is known. Otherwise the model must leave no
 *   choice
 * @property {ReadonlyMap<number, import('./memory.js').RememberedRow>} [remembered] of objects that are no rows any more
 */

/** @typedef {{ object: number, relationship: number }} Source */
/** A source as text, for maps. @param {Source} source */
export const textOf = ({ object, relationship }) => `${object} ${relationship}`;

/** What only the rows of outlines have: the number of children, and the depth. */
export const OUTLINE_CHILDREN = 65534;
export const OUTLINE_DEPTH = 65535;

export class ViewShape {
  /** @param {OverlayView} view @param {import('./schema.js').Schema} schema @param {any} entity of the request */
  constructor({ request, state, sourceEntity = null }, schema, entity) {
    this.request = request;
    this.entity = entity;
    /** @type {Source | null} */
    this.source = request.source ?? null;
    this.sourceText = this.source && textOf(this.source);
    this.isOutline = Boolean(request.outline);
    /** The relationship of the source; undefined without a source, or if it is not known. @type {any} */
    this.relationship = this.source ? relationshipOf(this.source, request, sourceEntity, schema) : undefined;
    const inverse = this.relationship && schema.inverse(this.relationship);
    /** The to-one relationship of the rows that leads back to the source's object. @type {number | undefined} */
    this.toOne = inverse && !inverse.isToMany ? inverse.number : undefined;
    /** Whether it has a source whose relationship the model leaves open. */
    this.isOpaque = this.source !== null && !this.relationship;
    const { nodes, predicate, terms } = read(request, entity, schema);
    this.predicate = predicate;
    const { sort } = request;
    const isList = sort.length === 0 || sort[0].order === true;
    /** The list that orders the rows. @type {Source | null} */
    this.list = null;
    if (isList && this.source) this.list = this.relationship?.isOrdered ? this.source : null;
    else if (isList && sort.length > 0) this.list = listIn(nodes, entity, schema);
    this.listText = this.list && textOf(this.list);
    /** The terms that order the rows; null if a list or the ids do. @type {RowTerms | null} */
    this.terms = /** @type {RowTerms | null} */ (isList ? null : terms);
    /** The index of each property in the rows' values. @type {Map<number, number>} */
    this.slots = new Map(state.projection.map((/** @type {number} */ property, /** @type {number} */ slot) =>
      [property, slot]));
    const kinds = schema.kinds(request.entity).filter(({ isAbstract }) => !isAbstract);
    /** The rows' entity, if only one entity has objects of the request's kind. @type {any} */
    this.onlyKind = kinds.length === 1 ? kinds[0] : undefined;
    const { position } = state;
    let count = 0;
    for (const { rows } of state.sections) count += rows.length;
    /** Whether the window contains the beginning and the end of the whole result. */
    // An empty window may begin behind the end.
    const isBehind = count === 0 && position && (request.window?.offset ?? 0) > position.total;
    this.startsAtFirst = !position || (position.start.row === 0 && !isBehind);
    this.endsAtLast = !position || (position.start.row + count >= position.total && !isBehind);
  }

  /**
   * The number of reasons for which any row may differ after the transactions, whatever orders the rows.
   * @param {import('./known-paths.js').KnownPaths} paths
   */
  doubts(paths) {
    const { known } = paths;
    let doubts = this.isOpaque ? 1 : 0;
    // The rows of a source that may have been deleted, which no row refers to.
    if (this.source && known.changes.get(this.source.object)?.mayBeGone) doubts += 1;
    for (const comparison of this.predicate.comparisons) {
      if (isOwnComparison(comparison)) continue;
      const isAffected = comparison.operator === 'IN SUBTREE'
        ? known.changed.size > 0 : paths.isAffectedFrom(comparison.path, this.entity);
      if (isAffected) doubts += 1;
    }
    return doubts;
  }

  /** The relationship whose list orders the rows. @param {import('./schema.js').Schema} schema */
  listRelationship(schema) {
    if (!this.list) return undefined;
    if (this.source) return this.relationship;
    const { relationship } = this.list;
    // The list of a condition `parent == X`.
    return [...schema.relationshipsOf(this.entity)].map((one) => schema.inverse(one)).find((one) =>
      one?.number === relationship && one.isToMany && one.isOrdered
        && schema.areRelated(one.destination, this.entity.number));
  }
}

/**
 * What was read of requests.
 * @type {WeakMap<object, { schema: any, nodes: readonly any[], predicate: KnownPredicate, terms: RowTerms }>}
 */
const known = new WeakMap();

/**
 * The predicate and the order of a request, which are read once: the same request is laid over many times.
 * @param {any} request
 * @param {any} entity
 * @param {import('./schema.js').Schema} schema
 */
function read(request, entity, schema) {
  let found = known.get(request);
  if (found?.schema !== schema) {
    const nodes = nodesOf(request.predicate);
    const terms = new RowTerms(request.sort.filter((/** @type {any} */ term) => term.path), entity, schema);
    found = { schema, nodes, predicate: new KnownPredicate(nodes, entity, schema), terms };
    known.set(request, found);
  }
  return found;
}

/**
 * Without the entity of the source's object, the number must mean the same in all entities whose relationship leads to
 * rows of the request.
 * @param {Source} source
 * @param {any} request
 * @param {number | null} sourceEntity
 * @param {import('./schema.js').Schema} schema
 */
function relationshipOf({ relationship: number }, request, sourceEntity, schema) {
  const known = sourceEntity === null ? undefined : schema.entity(sourceEntity);
  if (known) return schema.relationship(known, number);
  const found = new Set(schema.entities.map((entity) => schema.relationship(entity, number))
    .filter((one) => one?.isToMany && schema.areRelated(request.entity, one.destination)));
  return found.size === 1 ? [...found][0] : undefined;
}

/**
 * The ordered list of a condition `parent == X` that every row must satisfy.
 * @param {readonly any[]} nodes
 * @param {any} entity
 * @param {import('./schema.js').Schema} schema
 * @returns {Source | null}
 */
function listIn(nodes, entity, schema) {
  for (const part of conjuncts(nodes)) {
    const [{ operator, path, values }] = part;
    if (part.length > 1 || operator !== '==' || path.leaf !== 0 || path.steps.length !== 1) continue;
    const step = schema.relationship(entity, path.steps[0]);
    const inverse = step && schema.inverse(step);
    const owner = values[0]?.id;
    if (inverse?.isOrdered && typeof owner === 'number') return { object: owner, relationship: inverse.number };
  }
  return null;
}

/** A comparison with what is not known, for a predicate that this client cannot read: the server has accepted it. */
const NOT_READ = Object.freeze([Object.freeze({
  quantifier: 0, path: { steps: [], leaf: 0, property: 0 }, operator: 'IN SUBTREE', folding: 0, values: [],
})]);

/** @param {Uint8Array | null} bytes @returns {readonly any[]} */
function nodesOf(bytes) {
  if (!bytes) return [];
  try {
    return decodePredicate(bytes);
  } catch (error) {
    if (!(error instanceof NestError)) throw error;
    return NOT_READ;
  }
}

/**
 * The projection with the rows' own values that predicate, order and section read, so that a client can decide them for
 * a changed row.
 * @param {any} request whose projection is spelled out
 * @param {any} entity
 * @param {import('./schema.js').Schema} schema
 * @returns {readonly number[]} ascending
 */
export function widened({ projection, sort, predicate, section, source = null, outline = null }, entity, schema) {
  const comparisons = nodesOf(predicate).filter((node) => 'operator' in node);
  const paths = [...sort, ...comparisons, ...section ? [section] : []].flatMap(({ path }) => path ?? []);
  const wanted = new Set(projection);
  for (const { steps, leaf, property } of paths) {
    const first = steps[0] ?? (leaf === 1 ? property : undefined);
    if (first !== undefined && schema.isStored(entity, first)) wanted.add(first);
  }
  if (outline) {
    // The tree needs each row's parent, and what folds it.
    const relationship = source && schema.relationship(schema.entity(entity.number), source.relationship);
    const above = relationship && schema.inverse(relationship);
    if (above) wanted.add(above.number);
    if (outline.expansion.attribute !== undefined) wanted.add(outline.expansion.attribute);
    wanted.add(OUTLINE_CHILDREN).add(OUTLINE_DEPTH);
  }
  if (schema.kinds(entity.number).length > 1) wanted.add(entityProperty);
  return [...wanted].sort((a, b) => a - b);
}
