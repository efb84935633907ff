// The byte form of a predicate (protocol.md, section 9). Only programs that look into one load this.
import { Limits } from './limits-more.js';
import { NestError } from './errors.js';
import { malformed } from './bytes.js';
import { choice, codec, decodeWith, encodeWith, list, u8 } from './codec.js';
import { readExact, writeValue } from './values.js';
import './opposite.js';
import { path } from './request.js';

const unsupported = (what) => new NestError('UNSUPPORTED', `${what} of a predicate is not known`);
export const operators = Object.freeze(['==', '!=', '<', '<=', '>', '>=', 'BETWEEN', 'IN', 'CONTAINS', 'BEGINSWITH',
  'ENDSWITH', 'LIKE', 'IN SUBTREE', 'MATCHES']);
const exact = codec(readExact, writeValue);
const values = list(exact, 1, Limits.predicateValuesMax);

const upTo = (max, what) => codec((r) => {
  const byte = r.u8();
  if (byte > max) throw unsupported(what);
  return byte;
}, u8.write);
const quantifier = upTo(3, 'a quantifier');
const folding = upTo(3, 'a folding');
const operator = choice(operators, 1);

/** Of leaf 4, `where` is the program of a SUBQUERY. */
function writePath(w, { steps, leaf, property, where, ...end }) {
  if (leaf !== 4) return path.write(w, { steps, leaf, property, ...end });
  if (steps.length >= Limits.pathStepsMax) {
    throw new NestError('INVALID', `a path follows more than ${Limits.pathStepsMax} relationships`);
  }
  w.varint(steps.length);
  for (const step of steps) w.varint(step);
  w.u8(leaf);
  w.varint(property);
  return nodes.write(w, where);
}

const node = codec((r) => {
  const byte = r.u8();
  if (byte > 5) throw unsupported('a node');
  if (byte < 2) return { constant: byte === 1 };
  if (byte === 3) return { not: true };
  if (byte > 3) return { [byte === 4 ? 'and' : 'or']: r.varint() };
  return {
    quantifier: quantifier.read(r), path: path.read(r), operator: operator.read(r), folding: folding.read(r),
    values: values.read(r),
  };
}, (w, n) => {
  if ('constant' in n) return w.u8(n.constant ? 1 : 0);
  if ('not' in n) return w.u8(3);
  if ('and' in n || 'or' in n) {
    w.u8('and' in n ? 4 : 5);
    return w.varint(n.and ?? n.or);
  }
  w.u8(2);
  w.u8(n.quantifier);
  writePath(w, n.path);
  operator.write(w, n.operator);
  w.u8(n.folding);
  values.write(w, n.values);
});
const nodes = list(node, 1, Limits.predicateNodesMax);

/** The programs that are being read: a predicate, and the SUBQUERYs around what comes next. */
let depth = 0;

function readProgram(r) {
  if (depth > Limits.subqueryDepthMax) {
    throw new NestError('LIMIT_EXCEEDED', `SUBQUERYs are over ${Limits.subqueryDepthMax} deep`);
  }
  depth += 1;
  try {
    return wellFormed(nodes.read(r));
  } finally {
    depth -= 1;
  }
}

/** The program of a SUBQUERY, leaf 4 of a path: only a path in a predicate has it. */
path.where = { read: readProgram, isAllowed: () => depth > 0 };

/** Whether the program leaves one value, and every operator finds its operands. No nodes are true. */
function isWellFormed(program) {
  let height = 0;
  for (const n of program) {
    const operands = n.not ? 1 : n.and ?? n.or ?? 0;
    if (operands > height || (n.and ?? n.or ?? 2) < 2) return false;
    height += 1 - operands;
  }
  return height === 1 || program.length === 0;
}

function wellFormed(program) {
  if (!isWellFormed(program)) throw malformed('a predicate leaves no single value');
  return program;
}

/**
 * The nodes of a predicate, in postfix order: `{constant}`, `{not: true}`, `{and: count}`, `{or: count}`, or a
 * comparison `{quantifier, path, operator, folding, values}`, whose doubles are Doubles. MALFORMED if bytes follow.
 */
export function decodePredicate(body) {
  return decodeWith(codec((r) => {
    const program = readProgram(r);
    r.finish();
    return program;
  }, null), body);
}

export const encodePredicate = (program) => encodeWith(nodes, program);
