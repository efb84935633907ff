/**
 * Predicates that the server has parsed. This library has no parser: what nestc accepts, the server accepts.
 * @module
 */

import { Reader, Writer } from '../wire/bytes.js';

/** Words whose meaning depends on the time when they are read. */
const OF_TIME = /\b(?:now|today|yesterday|tomorrow)\b/i;
/** Parsed predicates that are remembered. */
const PARSED_MAX = 1_000;
/** The node AND of a program: protocol.md, section 9. */
const AND = 4;

export class Predicates {
  /** @type {Map<string, Promise<Uint8Array>>} */
  #parsed = new Map();

  /**
   * @param {any[]} key model, entity, text, zone
   * @param {() => Promise<Uint8Array>} parse
   * @returns {Promise<Uint8Array>}
   */
  get([model, entity, text, zone], parse) {
    if (OF_TIME.test(text)) return parse();
    const key = JSON.stringify([model, entity, text, zone]);
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
