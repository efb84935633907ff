// The body of MODEL (protocol.md, section 9).
import { Limits } from './limits.js';
import { choice, codec, flags, list, number16, object, orNull, string, struct, value, varint } from './codec.js';

export const attributeTypes = ['string', 'integer', 'double', 'boolean', 'date', 'data', 'uuid', 'integer16',
  'integer32', 'float', 'decimal', 'uri', 'largeData', 'largeText'];

const max = Limits.propertiesPerEntityMax;
const attribute = struct({
  number: number16, name: string, type: choice(attributeTypes, 1), '.flags': flags(['isOptional', 'defaultsToNow']),
  default: value, minimum: value, maximum: value,
});
const relationship = struct({
  number: number16, name: string, destination: number16, inverse: number16,
  '.flags': flags(['isToMany', 'isOrdered', 'isOptional']), deleteRule: choice(['nullify', 'cascade', 'deny'], 1),
  minimumCount: varint, maximumCount: varint, join: orNull(number16),
});
export const roots = list(struct({ object, relationship: number16 }), 2, 1);
export const rootOrNull = codec((r) => roots.read(r)[0] ?? null, null);

export const model = struct({
  entities: list(struct({
    number: number16, name: string, parent: orNull(number16), '.flags': flags(['isAbstract']),
    attributes: list(attribute, 7, max), relationships: list(relationship, 9, max),
    uniquenessConstraints: list(list(number16, 1, max), 1, max), indexes: list(list(number16, 1, max), 1, max),
    label: orNull(number16),
    root: rootOrNull,
  }), 10, Limits.entitiesPerModelMax),
});
