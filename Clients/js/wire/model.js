import { Limits } from './limits.js';
import { NestError } from './errors.js';
import { decodeWith } from './codec.js';
import { fnv1a, hashText } from './hash.js';
import { model } from './model-codec.js';
import { Double, NestDate, Reference, UUID } from './values.js';

/** The numbers of pseudo-properties: an object's own entity, and the first column of a request. */
export const entityProperty = 0;
export const firstColumn = 65280;

/** Freezes plain data with all its parts; bytes cannot be frozen. */
export const frozen = (item) => {
  for (const part of Object.values(item)) {
    if (typeof part === 'object' && part && !ArrayBuffer.isView(part) && !Object.isFrozen(part)) frozen(part);
  }
  return Object.freeze(item);
};

const unknown = (code, what, name, names) =>
  new NestError(code, `${what} ${String(name)}; it has ${[...names].slice(0, 20).join(', ') || 'none'}`);

/** An entity of the model. Names are looked up in maps, so that a property may be called `constructor`. */
export class Entity {
  constructor(fields) {
    this.name = fields.name;
    Object.assign(this, frozen(fields));
    this.properties = Object.freeze([...fields.attributes, ...fields.relationships]);
    this.byName = new Map(this.properties.map((property) => [property.name, property]));
    this.byNumber = new Map(this.properties.map((property) => [property.number, property]));
    Object.freeze(this);
  }

  /** The attribute or relationship of a name or number; undefined if there is none. */
  find(name) {
    return (typeof name === 'number' ? this.byNumber : this.byName).get(name);
  }

  /** As `find`, but UNKNOWN_PROPERTY if there is none. */
  property(name) {
    const found = this.find(name);
    if (!found) throw unknown('UNKNOWN_PROPERTY', `${this.name} has no property`, name, this.byName.keys());
    return found;
  }
}

/** A model. */
export class Model {
  constructor(hash, entities) {
    this.hash = hash;
    this.entities = Object.freeze(entities.map((fields) => new Entity(fields)));
    this.byName = new Map(this.entities.map((entity) => [entity.name, entity]));
    this.byNumber = new Map(this.entities.map((entity) => [entity.number, entity]));
    Object.freeze(this);
  }

  /** The entity of a name or number; undefined if there is none. */
  find(name) {
    return (typeof name === 'number' ? this.byNumber : this.byName).get(name);
  }

  /** As `find`, but UNKNOWN_ENTITY if there is none. */
  entity(name) {
    const found = this.find(name);
    if (!found) throw unknown('UNKNOWN_ENTITY', 'the model has no entity', name, this.byName.keys());
    return found;
  }
}

/** The model of a body of MODEL; its hash is that of the body. */
export function decodeModel(body) {
  return new Model(hashText(fnv1a(body)), decodeWith(model, body).entities);
}

/** Whether a property is a relationship. */
export const isRelationship = (property) => 'destination' in property;

const number = (v) => typeof v === 'number' || typeof v === 'bigint' || v instanceof Double;
const text = (v) => typeof v === 'string';
const conversions = {
  string: (v) => (text(v) ? v : undefined),
  uri: (v) => (text(v) ? v : undefined),
  boolean: (v) => (typeof v === 'boolean' ? v : undefined),
  integer: (v) => (typeof v === 'bigint' || Number.isSafeInteger(v) ? (Object.is(v, -0) ? 0 : v) : undefined),
  double: (v) => (number(v) && Number(v) === Number(v) ? new Double(Number(v)) : undefined),
  decimal: (v) => (text(v) ? v : typeof v === 'bigint' || Number.isFinite(v) ? decimalText(v) : undefined),
  date: (v) => (v instanceof NestDate ? v : v instanceof Date ? NestDate.from(v) : undefined),
  data: (v) => (v instanceof Uint8Array ? v : v instanceof ArrayBuffer ? new Uint8Array(v) : undefined),
  uuid: (v) => (v instanceof UUID ? v : text(v) && /^[0-9a-f-]{32,36}$/i.test(v) ? UUID.from(v) : undefined),
};
conversions.largeData = conversions.largeText = (v) => v.bytes;
conversions.integer16 = conversions.integer32 = conversions.integer;
conversions.float = conversions.double;

const decimalText = (v) => (Object.is(v, -0) ? '0' : String(v));

/** An object's id from an id, a Reference, or anything with an `id`; INVALID for anything else. */
export function objectID(v) {
  const id = typeof v === 'object' && v !== null ? v.id : v;
  if (!Number.isSafeInteger(id) || id < 1 || id > Limits.objectIDMax) {
    throw new NestError('INVALID', `${String(v)} is not the id of an object`);
  }
  return id;
}

/**
 * What a program gives for a property, as the value to send: a number becomes a Double for a double, a Date a NestDate,
 * an id a Reference. INVALID if it is of another type; the server checks bounds and the rest.
 */
export function valueFor(property, v) {
  if (v === null || v === undefined) return null;
  if (isRelationship(property)) return new Reference(objectID(v));
  const converted = conversions[property.type](v);
  if (converted === undefined) {
    throw new NestError('INVALID', `${property.name} is of type ${property.type}; ${describe(v)} is not`);
  }
  return converted;
}

const describe = (v) => (typeof v === 'object' ? Object.prototype.toString.call(v) : `${typeof v} ${String(v)}`);
