import { Limits } from './limits.js';
import { NestError } from './errors.js';
import {
  choice, codec, encodeWith, fields, list, number16, object, rest, struct, varint,
} from './codec.js';

/** The properties of a projection or transfer. */
export const properties = list(number16, 1, Limits.projectionMax);

/**
 * A path, `{steps, leaf, property}`. leaf 0: the object at the end, 1: its attribute, 2: a relationship's count, 3: a
 * function of an attribute behind the relationship, with `function` and `attribute`.
 */
export const path = codec(null, (w, { steps, leaf, property, ...end }) => {
  if (steps.length + +(leaf > 1) > Limits.pathStepsMax) {
    throw new NestError('INVALID', `a path follows more than ${Limits.pathStepsMax} relationships`);
  }
  w.varint(steps.length);
  for (const step of steps) w.varint(step);
  w.u8(leaf);
  if (leaf > 2) w.u8(end.function);
  if (leaf) w.varint(property);
  if (leaf > 2) w.varint(end.attribute);
});

export const sortKey = codec(null, (w, key) => {
  w.u8((key.descending ? 1 : 0) | (key.folding ?? 0) << 1 | (key.order ? 8 : 0));
  if (!key.order) path.write(w, key.path);
});

const section = struct({ function: choice(['value', 'firstCharacter', 'year', 'month', 'day'], 1), path });

/** The fields of a request after its entity; messages-outline.js and messages-totals.js have one more each. @type {Record<number, any[]>} */
export const requestFields = {
  1: ['source', struct({ object, relationship: number16 }), null],
  2: ['projection', properties, []],
  3: ['sort', list(sortKey, 1, Limits.sortKeysMax), []],
  4: ['predicate', rest, null],
  5: ['columns', list(path, 2, Limits.columnsMax), []],
  6: ['section', section, null],
  7: ['range', struct({ offset: varint, limit: varint }), null],
  8: ['around', struct({ anchor: object, before: varint, after: varint }), null],
};

/**
 * A fetch request: `{entity, source, projection, sort, predicate, columns, section, window}`. The predicate is encoded
 * (section 9), the window `{offset, limit}` or `{anchor, before, after}`.
 */
export const request = codec(null, (w, { entity, window, ...from }) => {
  number16.write(w, entity);
  if (from.predicate?.length <= 1) from.predicate = null;
  fields(requestFields).write(w, { ...from, ...(window && { ['anchor' in window ? 'around' : 'range']: window }) });
});

/** The bytes of a fetch request, as EXPLAIN sends them. */
export const encodeFetchRequest = (from) => encodeWith(request, from);

