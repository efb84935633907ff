/**
 * What the server does with values, for programs that answer locally too: the truth of predicates, the order of rows,
 * the keys of sections, folded text, dates and decimals. `protocol.md`, section 9, defines all of it.
 */

/** 0: none. 1: ignore case, `[c]`. 2: ignore diacritics, `[d]`. 3: both. */
export type Folding = 0 | 1 | 2 | 3;

/** Microseconds since 1970-01-01 00:00 UTC; a BigInt beyond 2^53-1. */
export type Microseconds = number | bigint;

/** A value of an attribute or of a to-one relationship, as rows have them. Decimals are text. */
export type Value = null | boolean | number | bigint | string | Uint8Array | { readonly microseconds: Microseconds }
  | { readonly id: number } | { readonly hex: string } | { readonly value: number };

/** Undefined: not known. */
export type Truth = boolean | undefined;

/** An entity of the client's model. */
export interface RulesEntity {
  readonly name: string;
  readonly attributes: readonly { readonly number: number, readonly type: string }[];
  readonly relationships: readonly {
    readonly number: number, readonly isToMany: boolean, readonly inverse: number, readonly destination: number,
  }[];
}

/** The client's model: `await nest.model()`. */
export interface RulesModel {
  entity(number: number): RulesEntity;
}

// Text

/** The folded text; folded texts are compared by their UTF-8 bytes. Each scalar is folded by itself, in no language. */
export function fold(text: string, folding: number): string;

/** Compares two texts by their UTF-8 bytes: below 0, 0, or above 0. */
export function compareText(a: string, b: string): number;

/** Compiles a pattern of LIKE, folded like the texts. The test takes time linear in the text. */
export function likePattern(pattern: string): (text: string) => boolean;

// Values

/** A value, prepared for comparing. */
export interface Comparable {
  readonly kind: 'null' | 'boolean' | 'number' | 'text' | 'decimal' | 'data' | 'date' | 'reference' | 'uuid';
  readonly by: any;
}

/** Prepares a value; `isDecimal`: text is a decimal number. */
export function comparable(value: Value, folding?: number, isDecimal?: boolean): Comparable;

/** Below 0, 0, or above 0; undefined for values that cannot be compared, and always for null. */
export function compare(a: Comparable, b: Comparable): number | undefined;

/** Whether two values are equal: null equals null and nothing else. */
export function isEqual(a: Comparable, b: Comparable): boolean;

/** A text that stands in the order of decimal numbers; undefined if the text is not a number. */
export function decimalKey(text: string): string | undefined;

// Dates

/** RFC 3339 in UTC, to the microsecond: `2026-11-21T09:30:00.000000Z`. */
export function dateText(microseconds: Microseconds): string;

/** Reads `2026-11-21`, `2026-11-21T09:30`, `…:15.5`, `…Z`, `…+01:00`; undefined for any other text. */
export function readDate(text: string): Microseconds | undefined;

/** The period that contains a moment, in UTC: `2026`, `2026-11`, `2026-11-21`. */
export function periodText(microseconds: Microseconds, period: 'year' | 'month' | 'day'): string;

// Predicates

export interface Path {
  /** The relationships to follow. */
  readonly steps: readonly number[];
  /**
   * 0: the object at their end. 1: an attribute. 2: how many objects a relationship leads to. 4: how many of them a
   * SUBQUERY's program is true of.
   */
  readonly leaf: number;
  /** The attribute or relationship of leaf 1, 2 and 4; otherwise 0. */
  readonly property: number;
  /** The program of leaf 4. */
  readonly where?: readonly Node[];
}

export interface Comparison {
  /** 1: ANY, 2: ALL, 3: NONE; 0 for a path without a step to many. */
  readonly quantifier: number;
  readonly path: Path;
  /** As in the text of a predicate: `==`, `BETWEEN`, `IN SUBTREE`, … */
  readonly operator: string;
  readonly folding: number;
  readonly values: readonly any[];
}

/** A node of a program in postfix order. `and` and `or` are the number of operands. */
export type Node = Comparison | { constant: boolean } | { not: true } | { and: number } | { or: number };

/** The nodes of a predicate's bytes. Throws NestError for bytes that are none. */
export function decodePredicate(bytes: Uint8Array): Node[];

/** The bytes of a predicate. */
export function encodePredicate(nodes: readonly Node[]): Uint8Array;

/** Decides MATCHES, for a program that has RE2. The whole text must match. */
export type Matches = (
  text: string, pattern: string, options: { ignoresCase: boolean, ignoresDiacritics: boolean },
) => Truth;

/** What a predicate reads of objects. Undefined means: not known here. */
export interface Lookup {
  /** An attribute, or a to-one relationship as a reference or null. */
  value(object: number, property: number): Value | undefined;
  /** The objects of a to-many relationship. */
  related(object: number, relationship: number): Iterable<number> | undefined;
  /** How many objects a to-many relationship leads to. Without it, as many as `related` returns. */
  count?(object: number, relationship: number): number | undefined;
  matches?: Matches;
}

/** A predicate for the objects of an entity, checked against a model. */
export class Filter {
  /** Throws NestError INVALID_PREDICATE: the predicate does not fit the model; the text lists all mistakes. */
  constructor(nodes: readonly Node[], entity: RulesEntity, model: RulesModel);
  readonly nodes: readonly Node[];
  /** Undefined if that depends on a value that is not known, or on MATCHES (Kleene's three-valued logic). */
  truth(object: number, lookup: Lookup): Truth;
}

/** `predicate.truth(object, lookup)`, for a Filter. */
export function truth(predicate: { truth(object: number, lookup: Lookup): Truth }, object: number, lookup: Lookup): Truth;

/** The value at the end of a path, from its step `from` on; null behind a null reference, undefined if not known. */
export function valueAt(object: number, path: Path, from: number, lookup: Lookup): Value | undefined;

// Order

export interface Term {
  /** The type of the attribute, such as `decimal`; `integer` for a count. */
  readonly type: string;
  readonly descending?: boolean;
  /** Of text. */
  readonly folding?: number;
  /** Where the value is, for `keyOf`. */
  readonly path?: Path;
}

/** The sort key of a row, prepared for many comparisons. */
export interface RowKey {
  readonly parts: readonly any[];
  readonly id: number;
}

/** An order of rows; ids complete it, ascending. Null is below every value. */
export class Order {
  constructor(terms: readonly Term[]);
  /** The order of a request: `(await nest.resolve(request)).wire.sort`. UNSUPPORTED: that of a relationship. */
  static of(sort: readonly any[], entity: RulesEntity, model: RulesModel): Order;
  /** The sort key of an object; the terms have paths, as those of `Order.of`. Undefined if a value is not known. */
  keyOf(id: number, lookup: Lookup): RowKey | undefined;
  readonly terms: readonly Term[];
  /** The sort key of a row by the values of the terms; undefined if one is not known. */
  key(values: readonly (Value | undefined)[], id: number): RowKey | undefined;
  /** Below 0 if a comes before b, above 0 if after; 0 only for the same id. */
  compare(a: RowKey, b: RowKey): number;
  /** The key of the section of a row, by the value of the first term. */
  sectionKey(section: 'value' | 'firstCharacter' | 'year' | 'month' | 'day', value: Value): Value;
}
