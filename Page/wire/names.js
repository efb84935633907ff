// Names instead of numbers: what the entities, properties, paths and predicates of frames are in the model. Pure.

import { decodePredicate } from '/client/wire/predicate.js';
import { valueText } from '../shell/values.js';

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

  /** The text of a path, as a predicate has it: `parent.title`, `children.@count`, `children.@sum.size`. */
  path({ steps, leaf, property, function: number, attribute }, entity) {
    const parts = [];
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
    return parts.length === 0 ? 'self' : parts.join('.');
  }

  sortKey(key, entity) {
    const text = key.order ? 'order' : `${this.path(key.path, entity)}${FOLDINGS[key.folding] ?? ''}`;
    return key.descending ? `${text} descending` : text;
  }

  /** The text of a predicate from its bytes. */
  predicate(bytes, entity) {
    const stack = [];
    for (const node of decodePredicate(bytes)) stack.push(this.#node(node, entity, stack));
    return stack.at(-1)?.text ?? 'TRUEPREDICATE';
  }

  /** A node as text, with what it takes from the stack; `isJoined`: whether it must stand in brackets inside others. */
  #node(node, entity, stack) {
    if ('constant' in node) return { text: node.constant ? 'TRUEPREDICATE' : 'FALSEPREDICATE' };
    const inner = ({ text, isJoined }) => (isJoined ? `(${text})` : text);
    if ('not' in node) return { text: `NOT (${stack.pop().text})` };
    const operands = node.and ?? node.or;
    if (operands !== undefined) {
      const parts = stack.splice(stack.length - operands, operands);
      return { text: parts.map(inner).join('and' in node ? ' AND ' : ' OR '), isJoined: true };
    }
    const values = node.values.map(valueText);
    const operand = ['IN', 'BETWEEN'].includes(node.operator) ? `{${values.join(', ')}}` : values.join(', ');
    return { text: `${QUANTIFIERS[node.quantifier]}${this.path(node.path, entity)} ${node.operator}${
      FOLDINGS[node.folding]} ${operand}` };
  }
}
