// Predicates: bytes to nodes and back (protocol.md, section 9). A predicate is a program in postfix order.

import { Limits } from '../wire/limits.js';
import { NestError } from '../wire/errors.js';
import { malformed, Reader, Writer } from '../wire/bytes.js';
import { path as pathCodec } from '../wire/request.js';
import { readExact, writeValue } from '../wire/values.js';

/**
 * @typedef {object} Path
 * @property {readonly number[]} steps The relationships to follow.
 * @property {0 | 1 | 2} leaf 0: the object at their end. 1: an attribute. 2: how many objects a relationship leads to.
 * @property {number} property The attribute or relationship of leaf 1 and 2; otherwise 0.
 */

/**
 * @typedef {object} Comparison
 * @property {'one' | 'any' | 'all' | 'none'} quantifier Of the objects of the path's step to many; `one` without one.
 * @property {Path} path
 * @property {string} operator As in the text of a predicate: `==`, `BETWEEN`, `IN SUBTREE`, …
 * @property {number} folding 1: case, 2: diacritics, 3: both.
 * @property {readonly any[]} values A double is a Double, so that it is written as it was read.
 */

/**
 * @typedef {{ kind: 'constant', value: boolean } | ({ kind: 'comparison' } & Comparison) | { kind: 'not' }
 *   | { kind: 'and' | 'or', count: number }} Node
 */

/** By their numbers. */
const operators = ['', '==', '!=', '<', '<=', '>', '>=', 'BETWEEN', 'IN', 'CONTAINS', 'BEGINSWITH', 'ENDSWITH', 'LIKE',
  'IN SUBTREE', 'MATCHES'];
/** @type {readonly Comparison['quantifier'][]} */
const quantifiers = ['one', 'any', 'all', 'none'];

/** @param {string} what */
const unsupported = (what) => new NestError('UNSUPPORTED', `unknown ${what} of a predicate`);

/**
 * Reads the bytes of a predicate, such as those of PREDICATE. No nodes: true of every object.
 * @param {Uint8Array} bytes
 * @returns {readonly Node[]}
 * @throws {NestError} MALFORMED, UNSUPPORTED, LIMIT_EXCEEDED, INVALID_TEXT or VALUE_TOO_LARGE.
 */
export function readPredicate(bytes) {
  const reader = new Reader(bytes);
  const nodes = [];
  for (let left = reader.count(Limits.predicateNodesMax); left > 0; left -= 1) nodes.push(readNode(reader));
  reader.finish();
  let depth = 0;
  for (const node of nodes) {
    const count = operands(node);
    if (count > depth || (node.kind === 'and' || node.kind === 'or') && count < 2) {
      throw malformed('a node of a predicate lacks operands');
    }
    depth += 1 - count;
  }
  if (depth !== 1 && nodes.length) throw malformed('a predicate leaves more than one value');
  return Object.freeze(nodes);
}

/**
 * How many operands a node takes from the stack.
 * @param {Node} node
 */
export function operands(node) {
  if (node.kind === 'not') return 1;
  return node.kind === 'and' || node.kind === 'or' ? node.count : 0;
}

/** @param {Reader} reader @returns {Node} */
function readNode(reader) {
  const kind = reader.u8();
  switch (kind) {
    case 0:
    case 1: return { kind: 'constant', value: kind === 1 };
    case 2: return readComparison(reader);
    case 3: return { kind: 'not' };
    case 4:
    case 5: return { kind: kind === 4 ? 'and' : 'or', count: reader.count(Limits.predicateNodesMax, 0) };
    default: throw unsupported('node');
  }
}

/** @param {Reader} reader @returns {Node} */
function readComparison(reader) {
  const quantifier = quantifiers[reader.u8()];
  if (!quantifier) throw unsupported('quantifier');
  /** @type {Path} */
  const path = pathCodec.read(reader);
  const operator = operators[reader.u8()];
  if (!operator) throw unsupported('operator');
  const folding = reader.u8();
  if (folding > 3) throw unsupported('folding');
  const values = [];
  for (let left = reader.count(Limits.predicateValuesMax); left > 0; left -= 1) values.push(readExact(reader));
  return Object.freeze({ kind: 'comparison', quantifier, path, operator, folding, values: Object.freeze(values) });
}

/**
 * Writes the nodes of a predicate.
 * @param {readonly Node[]} nodes
 * @returns {Uint8Array}
 * @throws {NestError} INVALID, INVALID_TEXT or VALUE_TOO_LARGE: a value cannot be encoded.
 */
export function writePredicate(nodes) {
  const writer = new Writer();
  writer.varint(nodes.length);
  for (const node of nodes) {
    if (node.kind === 'comparison') writeComparison(writer, node);
    else if (node.kind === 'constant') writer.u8(node.value ? 1 : 0);
    else if (node.kind === 'not') writer.u8(3);
    else {
      writer.u8(node.kind === 'and' ? 4 : 5);
      writer.varint(node.count);
    }
  }
  return writer.done();
}

/** @param {Writer} writer @param {Comparison} comparison */
function writeComparison(writer, { quantifier, path, operator, folding, values }) {
  const number = operators.indexOf(operator);
  const amount = quantifiers.indexOf(quantifier);
  if (number < 1 || amount < 0) throw new NestError('INVALID', `there is no comparison ${quantifier} ${operator}`);
  writer.u8(2);
  writer.u8(amount);
  pathCodec.write(writer, path);
  writer.u8(number);
  writer.u8(folding);
  writer.varint(values.length);
  for (const value of values) writeValue(writer, value);
}
