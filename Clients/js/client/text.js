/**
 * Predicates as texts: values as the query language writes them, and texts that the server has parsed. This library has
 * no parser: what nestc accepts, the server accepts.
 * @module
 */

import { Reader, Writer } from '../wire/bytes.js';
import { objectID } from '../wire/model.js';
import { Double, NestDate, UUID } from '../wire/values.js';
import { invalid } from './options.js';

/** The letters of marks that a text may not contain. @type {Record<string, string>} */
const ESCAPES = { '\n': 'n', '\t': 't', '\r': 'r' };

/** Whole texts in quotation marks. */
const TEXTS = /(["'])(?:\\[^]|(?!\1)[^\\])*\1/g;

/**
 * Writes a value in a predicate: a text that a user typed cannot become anything else.
 * @param {any} value a string, number, BigInt, boolean, null, Date, NestDate, UUID, Uint8Array, an object with an `id`
 *   (a row, a Reference), or an array of these
 * @returns {string} throws NestError INVALID for anything else
 */
export function quote(value) {
  switch (typeof value) {
    case 'string': return `"${value.replace(/["'\\\n\t\r]/g, (mark) => `\\${ESCAPES[mark] ?? mark}`)}"`;
    case 'boolean': return value ? 'YES' : 'NO';
    case 'bigint': return String(value);
    case 'number': if (Number.isFinite(value)) return String(value); break;
    case 'undefined': return 'nil';
    case 'object':
      if (value === null) return 'nil';
      if (Array.isArray(value)) return `{${value.map(quote).join(', ')}}`;
      if (value instanceof Date) return `date("${NestDate.from(value)}")`;
      if (value instanceof NestDate) return `date("${value}")`;
      if (value instanceof UUID) return `uuid("${UUID.from(value.hex)}")`;
      if (value instanceof Double) return quote(value.value);
      if (value instanceof Uint8Array) return `data("${btoa(String.fromCharCode(...value))}")`;
      return String(objectID(value));
  }
  return invalid(`a predicate cannot contain a value of type ${typeof value}: ${String(value)}`);
}

/**
 * The text of a predicate, from a text or a template whose values are quoted.
 * @param {string | TemplateStringsArray} text
 * @param {any[]} values
 * @returns {string}
 */
export function predicateText(text, values) {
  const parts = typeof text === 'string' ? [text] : text?.raw;
  if (parts?.length !== values.length + 1) invalid('a predicate is a text, or a template: where`title == ${value}`');
  // A value inside a text would end that text.
  if (parts.slice(0, -1).some((part) => /["']/.test(part.replace(TEXTS, '')))) {
    invalid('no quotation marks around a value: where`title == ${value}`');
  }
  return String.raw({ raw: parts }, ...values.map(quote));
}

// MARK: Parsed by the server

/** Words whose meaning depends on the time when they are read. */
export const OF_TIME = /\b(?:now|today|yesterday|tomorrow)\b/i;
/** Parsed predicates that are remembered. */
const PARSED_MAX = 1_000;
/** The node AND of a program: protocol.md, section 9. */
const AND = 4;

export class Predicates {
  /** @type {Map<string, Promise<Uint8Array>>} */
  #parsed = new Map();

  /**
   * @param {any[]} parts model, entity, text, zone
   * @param {() => Promise<Uint8Array>} parse
   * @returns {Promise<Uint8Array>}
   */
  get(parts, parse) {
    if (OF_TIME.test(parts[2])) return parse();
    const key = JSON.stringify(parts);
    const known = this.#parsed.get(key);
    if (known) return known;
    const parsed = parse();
    const oldest = this.#parsed.keys().next();
    if (this.#parsed.size >= PARSED_MAX && !oldest.done) this.#parsed.delete(oldest.value);
    this.#parsed.set(key, parsed);
    // A refusal is not remembered: the connection may have been the reason.
    parsed.catch(() => {
      if (this.#parsed.get(key) === parsed) this.#parsed.delete(key);
    });
    return parsed;
  }
}

/**
 * @param {Uint8Array[]} predicates in the byte form
 * @returns {Uint8Array | null} what is true if all are; null: everything
 */
export function joined(predicates) {
  const parts = predicates.map((bytes) => {
    const reader = new Reader(bytes);
    const count = reader.varint();
    return { count, nodes: bytes.subarray(reader.at) };
  }).filter(({ count }) => count > 0);
  if (parts.length === 0) return null;
  const isOne = parts.length === 1;
  const writer = new Writer();
  writer.varint(parts.reduce((sum, { count }) => sum + count, isOne ? 0 : 1));
  for (const { nodes } of parts) writer.raw(nodes);
  if (!isOne) {
    writer.u8(AND);
    writer.varint(parts.length);
  }
  return writer.done();
}
