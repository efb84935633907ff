import type { Double, Value } from './values.js';

export type AttributeType = 'string' | 'integer' | 'double' | 'boolean' | 'date' | 'data' | 'uuid' | 'integer16'
  | 'integer32' | 'float' | 'decimal' | 'uri';

export interface Attribute {
  readonly number: number;
  readonly name: string;
  readonly type: AttributeType;
  readonly isOptional: boolean;
  /** The default is the time of the insert. */
  readonly defaultsToNow: boolean;
  readonly default: Value;
  /** The bounds; null: none. Of a text its length in UTF-16 units. */
  readonly minimum: Value;
  readonly maximum: Value;
}

export interface Relationship {
  readonly number: number;
  readonly name: string;
  /** The number of the entity that it leads to. */
  readonly destination: number;
  /** The number of the inverse relationship. */
  readonly inverse: number;
  readonly isToMany: boolean;
  readonly isOrdered: boolean;
  readonly isOptional: boolean;
  readonly deleteRule: 'nullify' | 'cascade' | 'deny';
  readonly minimumCount: number;
  /** 0: no bound. */
  readonly maximumCount: number;
  /** The number of the pairs of a many-to-many relationship. */
  readonly join: number | null;
}

export type Property = Attribute | Relationship;

/** Freezes plain data with all its parts; bytes cannot be frozen. */
export function frozen<T>(item: T): T;

/** An entity; its lists include what it inherits. */
export interface Entity {
  readonly number: number;
  readonly name: string;
  /** The number of the entity above. */
  readonly parent: number | null;
  readonly isAbstract: boolean;
  readonly attributes: readonly Attribute[];
  readonly relationships: readonly Relationship[];
  /** Attributes, then relationships. */
  readonly properties: readonly Property[];
  readonly uniquenessConstraints: readonly (readonly number[])[];
  readonly indexes: readonly (readonly number[])[];
  /** The number of the property that names an object for people. */
  readonly label: number | null;
  /** The object that owns every object inserted without an owner, and the relationship that leads to it. */
  readonly root: { readonly object: number; readonly relationship: number } | null;
  /** The property of a name or number, if there is one. */
  find(name: string | number): Property | undefined;
  /** The property of a name or number. UNKNOWN_PROPERTY if there is none. */
  property(name: string | number): Property;
}

/** A model. It never changes. */
export class Model {
  /** 16 hexadecimal digits. */
  readonly hash: string;
  readonly entities: readonly Entity[];
  constructor(hash: string, entities: readonly object[]);
  /** The entity of a name or number, if there is one. */
  find(name: string | number): Entity | undefined;
  /** The entity of a name or number. UNKNOWN_ENTITY if there is none. */
  entity(name: string | number): Entity;
}

/** The number of the pseudo-property that is an object's own entity, and that of the first column of a request. */
export const entityProperty: 0;
export const firstColumn: 65280;

/** The model of a body of MODEL. */
export function decodeModel(body: Uint8Array): Model;
export function isRelationship(property: Property): boolean;
/** The id of an id, a Reference or a row. INVALID for anything else. */
export function objectID(object: number | { readonly id: number }): number;
/** What a program gives for a property, as the value to send. INVALID if it is of another type. */
export function valueFor(property: Property, value: unknown): Value | Double;
