import { Limits } from './limits.js';
import { NestError } from './errors.js';
import { malformed } from './bytes.js';
import {
  choice, codec, decodeWith, encodeWith, fields, list, number16, object, rest, struct, varint,
} from './codec.js';

/** The properties of a projection or transfer. */
export const properties = list(number16, 1, Limits.projectionMax);

/** A path, `{steps, leaf, property}`. leaf 0: the object at the end, 1: its attribute, 2: a relationship's count. */
export const path = codec((r) => {
  const count = r.count();
  const steps = [];
  if (count <= Limits.pathStepsMax) for (let i = 0; i < count; i++) steps.push(number16.read(r));
  const leaf = count > Limits.pathStepsMax ? 0 : r.u8();
  if (count + (leaf === 2 ? 1 : 0) > Limits.pathStepsMax) throw malformed('a path is too long');
  if (leaf > 2) throw new NestError('UNSUPPORTED', 'the end of a path is not known');
  return { steps, leaf, property: leaf ? number16.read(r) : 0 };
}, (w, { steps, leaf, property }) => {
  if (steps.length + (leaf === 2 ? 1 : 0) > Limits.pathStepsMax) {
    throw new NestError('INVALID', `a path follows more than ${Limits.pathStepsMax} relationships`);
  }
  w.varint(steps.length);
  for (const step of steps) w.varint(step);
  w.u8(leaf);
  if (leaf) w.varint(property);
});

const sortKey = codec((r) => {
  const bits = r.u8();
  if (bits > 15) throw new NestError('UNSUPPORTED', 'a flag of a sort key is not known');
  const key = bits & 8 ? { order: true } : { path: path.read(r) };
  return { ...key, descending: (bits & 1) === 1, folding: bits >> 1 & 3 };
}, (w, key) => {
  w.u8((key.descending ? 1 : 0) | (key.folding ?? 0) << 1 | (key.order ? 8 : 0));
  if (!key.order) path.write(w, key.path);
});

const section = struct({ function: choice(['value', 'firstCharacter', 'year', 'month', 'day'], 1), path });

const tagged = fields({
  1: ['source', struct({ object, relationship: number16 }), null],
  2: ['projection', properties, []],
  3: ['sort', list(sortKey, 1, Limits.sortKeysMax), []],
  4: ['predicate', rest, null],
  5: ['columns', list(path, 2, Limits.columnsMax), []],
  6: ['section', section, null],
  7: ['range', struct({ offset: varint, limit: varint }), null],
  8: ['around', struct({ anchor: object, before: varint, after: varint }), null],
}, true);

/**
 * A fetch request: `{entity, source, projection, sort, predicate, columns, section, window}`. The predicate is encoded
 * (section 9), the window `{offset, limit}` or `{anchor, before, after}`.
 */
export const request = codec((r) => {
  const entity = number16.read(r);
  const { range, around, ...from } = tagged.read(r);
  if (range && around) throw malformed('a request has two windows');
  return { entity, ...from, window: range ?? around };
}, (w, { entity, window, ...from }) => {
  number16.write(w, entity);
  if (from.predicate?.length <= 1) from.predicate = null;
  tagged.write(w, { ...from, ...(window && { ['anchor' in window ? 'around' : 'range']: window }) });
});

/** The bytes of a fetch request, as EXPLAIN sends them. */
export const encodeFetchRequest = (from) => encodeWith(request, from);

/** A fetch request from its bytes. Bytes after it are ignored; the predicate is not looked into. */
export const decodeFetchRequest = (body) => decodeWith(request, body);

