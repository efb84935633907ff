// Names instead of numbers: what the entities, properties, paths and predicates of frames are in the model. Pure.

import { decodePredicate } from '/client/wire/predicate.js';
import { Double, NestDate } from '/client/wire/values.js';
import { quote } from '/client/client/text.js';

/** The numbers of what is no property of the model. */
const PSEUDO = new Map([[0, '@entity'], [65534, '@children'], [65535, '@depth']]);
const FIRST_COLUMN = 65280;
const FUNCTIONS = [null, '@sum', '@min', '@max', '@avg'];
const FOLDINGS = ['', '[c]', '[d]', '[cd]'];
const QUANTIFIERS = ['', 'ANY ', 'ALL ', 'NONE '];

/** The names of a model, or numbers where it does not know one. Without a model all are numbers. */
export class Names {
  constructor(model = null) {
    this.model = model;
  }

  entity(number) {
    return this.model?.find(number)?.name ?? `entity ${number}`;
  }

  /** The name of a property: of an entity, or of the only one that has the number. `columns`: paths of a request. */
  property(number, entity = null, columns = []) {
    if (PSEUDO.has(number)) return PSEUDO.get(number);
    if (number >= FIRST_COLUMN) {
      const path = columns[number - FIRST_COLUMN];
      return path ? this.path(path, entity) : `column ${number - FIRST_COLUMN}`;
    }
    const owner = entity === null ? this.#onlyOwner(number) : this.model?.find(entity);
    return owner?.find(number)?.name ?? `property ${number}`;
  }

  #onlyOwner(number) {
    const owners = this.model?.entities.filter((one) => one.find(number)) ?? [];
    return owners.length === 1 ? owners[0] : null;
  }

  /**
   * The text of a path, as a predicate has it: `parent.title`, `children.@count`, `children.@sum.size`. `depth`: the
   * SUBQUERYs around it.
   */
  path({ steps, leaf, property, function: number, attribute, where }, entity, depth = 0) {
    const parts = depth > 0 ? [variable(depth)] : [];
    let at = entity;
    const follow = (relationship) => {
      parts.push(this.property(relationship, at));
      at = this.model?.find(at)?.find(relationship)?.destination ?? null;
    };
    for (const step of steps) follow(step);
    if (leaf === 1) parts.push(this.property(property, at));
    if (leaf > 1) follow(property);
    if (leaf === 2) parts.push('@count');
    if (leaf === 3) parts.push(FUNCTIONS[number], this.property(attribute, at));
    if (leaf === 4) {
      const inner = this.#program(where, at, depth + 1);
      return `SUBQUERY(${parts.join('.')}, ${variable(depth + 1)}, ${inner}).@count`;
    }
    return parts.length === 0 ? 'SELF' : parts.join('.');
  }

  sortKey(key, entity) {
    const text = key.order ? 'order' : `${this.path(key.path, entity)}${FOLDINGS[key.folding] ?? ''}`;
    return key.descending ? `${text} descending` : text;
  }

  /** The text of a predicate from its bytes, as nestc prints it. */
  predicate(bytes, entity) {
    return this.#program(decodePredicate(bytes), entity, 0);
  }

  #program(nodes, entity, depth) {
    const stack = [];
    for (const node of nodes) stack.push(this.#node(node, entity, stack, depth));
    return stack.at(-1)?.text ?? 'TRUEPREDICATE';
  }

  /** A node as text, with what it takes from the stack; `binds`: how tightly, from 1 (OR) to 4 (a comparison). */
  #node(node, entity, stack, depth) {
    if ('constant' in node) return { text: node.constant ? 'TRUEPREDICATE' : 'FALSEPREDICATE', binds: 4 };
    const within = (binds) => (part) => (part.binds < binds ? `(${part.text})` : part.text);
    if ('not' in node) return { text: `NOT ${within(3)(stack.pop())}`, binds: 3 };
    const operands = node.and ?? node.or;
    if (operands !== undefined) {
      const binds = 'and' in node ? 2 : 1;
      // Also AND inside OR has brackets, for readers who do not know which of them binds more tightly.
      const parts = stack.splice(stack.length - operands, operands).map(within(3));
      return { text: parts.join(binds === 2 ? ' AND ' : ' OR '), binds };
    }
    return { text: this.#comparison(node, entity, depth), binds: 4 };
  }

  #comparison({ quantifier, path, operator, folding, values }, entity, depth) {
    const text = this.path(path, entity, depth);
    const subject = RESERVED.test(text) ? `#${text}` : text;
    if (operator === 'IN SUBTREE') {
      return `${subject} IN SUBTREE(${quote(values[0])}, ${this.property(Number(values[1]), entity)})`;
    }
    const isDecimal = this.#typeOf(path, entity) === 'decimal';
    const texts = values.map((value) => (isDecimal && typeof value === 'string' ? value : quoted(value)));
    const operand = BRACED.has(operator) ? `{${texts.join(', ')}}` : texts.join(', ');
    return `${QUANTIFIERS[quantifier]}${subject} ${operator}${FOLDINGS[folding]} ${operand}`;
  }

  /** The type of what a path ends at: '@count', or that of an attribute; undefined for an object. */
  #typeOf({ steps, leaf, property, function: number, attribute }, entity) {
    let at = this.model?.find(entity);
    const follow = (relationship) => this.model?.find(at?.find(relationship)?.destination);
    for (const step of steps) at = follow(step);
    if (leaf === 3) {
      const { type } = follow(property)?.find(attribute) ?? {};
      return number === AVERAGE && WHOLE.has(type) ? 'decimal' : type;
    }
    return leaf === 1 ? at?.find(property)?.type : undefined;
  }
}

/** Properties that begin like a keyword of the query language are written with a mark. */
const RESERVED = /^(nil|null|yes|no|true|false|not|any|some|all|none|truepredicate|falsepredicate)(?=\.|$)/i;

/** The variable of a SUBQUERY inside so many, itself included. @param {number} depth */
const variable = (depth) => `$${'xyzw'[(depth - 1) % 4]}`;

/** The function whose value of whole numbers is a decimal, and the types of these. */
const AVERAGE = 4;
const WHOLE = new Set(['integer', 'integer16', 'integer32']);

/** Operators that take several values. */
const BRACED = new Set(['IN', 'BETWEEN']);

/** A value of a predicate: a double and a date as they were read. */
function quoted(value) {
  if (value instanceof Double) return doubleText(value.value);
  // With all six digits, as the query language prints dates.
  if (value instanceof NestDate) return quote(value).replace(/\.(\d{3})Z/, '.$1000Z');
  return quote(value);
}

/** A double that no reader takes for an integer. */
function doubleText(value) {
  if (Object.is(value, -0)) return '-0.0';
  const text = Number.isInteger(value) && Math.abs(value) >= 1e16 ? value.toExponential() : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}
