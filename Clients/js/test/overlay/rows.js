// What is known of a row, and what is not: without vectors.

import { isSameSection, listOf, RowOrder, WHOLE } from '../../overlay/order.js';
import { RowPredicate } from '../../overlay/predicate.js';
import { defaultOf, stored } from '../../overlay/stored.js';
import { encodePredicate } from '../../wire/predicate.js';
import { Entity } from '../../wire/model.js';
import { Double, NestDate, Reference } from '../../wire/values.js';
import { same } from '../rules/same.js';

const relationship = (number, destination, inverse, { isToMany = false, isOrdered = false } = {}) => (
  { number, name: `#${number}`, destination, inverse, isToMany, isOrdered });
const attribute = (number, type) => ({ number, name: `#${number}`, type });
const [name, age, ratio, parent, children, friends, home, boxed] = [1, 2, 3, 4, 5, 6, 7, 8];
const many = { isToMany: true };
const ordered = { isToMany: true, isOrdered: true };
const item = new Entity({
  number: 1, name: 'Item',
  attributes: [attribute(name, 'string'), attribute(age, 'integer'), attribute(ratio, 'double')],
  relationships: [relationship(parent, 1, children), relationship(children, 1, parent, ordered),
    relationship(friends, 1, friends, many), relationship(home, 2, 9), relationship(boxed, 3, 9),
    relationship(11, 2, 10), relationship(12, 3, 10)],
});
// Relationships of unrelated entities may have the same number.
const house = new Entity({
  number: 2, name: 'House', attributes: [], relationships: [relationship(9, 1, home, many), relationship(10, 1, 11)],
});
const box = new Entity({
  number: 3, name: 'Box', attributes: [],
  relationships: [relationship(9, 1, boxed, ordered), relationship(10, 1, 12, many)],
});
const entities = [item, house, box];
const model = { find: (number) => entities[number - 1], entity: (number) => entities[number - 1] };

const path = (leaf, property = 0, ...steps) => ({ steps, leaf, property });
const is = (where, value, more = {}) => (
  { quantifier: 0, path: where, operator: '==', folding: 0, values: [value], ...more });
const predicateOf = (...nodes) => new RowPredicate(encodePredicate(nodes), item, model);
const own = (values) => (property) => values[property];

const orderOf = (sort, { source = null, section = null, nodes = [] } = {}) =>
  new RowOrder({ source, sort, section }, item, model, nodes);
const by = (where, more = {}) => ({ path: where, descending: false, folding: 0, ...more });

export function run(_vectors, test) {
  test('without a predicate every object is a row', () => {
    const all = new RowPredicate(null, item, model);
    same([all.truth(1, own({})), all.isOwn, all.reads], [true, true, []]);
    same(new RowPredicate(Uint8Array.of(0), item, model).truth(1, own({})), true);
  });

  test('attributes, references and SELF are own values', () => {
    const predicate = predicateOf(is(path(1, name), 'a'), is(path(0, 0, parent), new Reference(7)),
      is(path(0), new Reference(3)), { and: 3 });
    same([predicate.isOwn, predicate.reads], [true, [name, parent]]);
    const values = { [name]: 'a', [parent]: new Reference(7) };
    same(predicate.truth(3, own(values)), true);
    same(predicate.truth(4, own(values)), false);
    same(predicate.truth(3, own({ ...values, [parent]: null })), false);
    same(predicate.truth(3, own({ [name]: 'a' })), undefined);
    same(predicate.truth(3, own({ [name]: 'b' })), false, 'one operand decides');
  });

  test('what leads to other objects is not known, also behind a null reference', () => {
    const values = { [name]: null, [parent]: null, [children]: [], [friends]: [] };
    const all = [is(path(1, name, parent), null), is(path(0, 0, parent, parent), null), is(path(2, children), 0),
      is(path(1, name, children), 'a', { quantifier: 1 }), is(path(0, 0, friends), new Reference(1), { quantifier: 3 }),
      is(path(0), 0, { operator: 'IN SUBTREE', values: [new Reference(1), children] }),
      is(path(1, name), 'a', { operator: 'MATCHES' })];
    for (const node of all) {
      const predicate = predicateOf(node);
      same([predicate.truth(2, own(values)), predicate.isOwn, predicate.reads], [undefined, false, []], node.operator);
      same(predicateOf(node, { constant: false }, { and: 2 }).truth(2, own(values)), false);
      same(predicateOf(node, { not: true }, { constant: true }, { or: 2 }).truth(2, own(values)), true);
    }
  });

  test('a predicate that this client cannot read is not known', () => {
    const newer = encodePredicate([is(path(1, name), 'a')]);
    newer[newer.length - 4] = 40;
    const broken = [Uint8Array.of(1, 9), Uint8Array.of(2, 1, 1), encodePredicate([is(path(1, 99), 'a')]),
      encodePredicate([is(path(1, age), 'a')]), newer];
    for (const bytes of broken) {
      const predicate = new RowPredicate(bytes, item, model);
      same([predicate.truth(1, own({ [name]: 'a' })), predicate.isOwn, predicate.reads], [undefined, false, []]);
    }
  });

  test('letters of a newer Unicode version are not folded by guess', () => {
    const letter = '\u{2fe0}';
    const folded = predicateOf(is(path(1, name), 'a', { folding: 1 }));
    const exact = predicateOf(is(path(1, name), 'a'));
    same([folded, exact].map((one) => one.truth(1, own({ [name]: letter }))), [undefined, false]);
    const [order, other] = [orderOf([by(path(1, name), { folding: 3 })]), orderOf([by(path(1, name))])];
    same([order, other].map((one) => one.key(1, own({ [name]: letter }))?.id), [undefined, 1]);
    const section = { function: 'firstCharacter', path: path(1, name) };
    const sections = [1, 0].map((folding) => orderOf([by(path(1, name), { folding })], { section }));
    same(sections.map((one) => one.section(own({ [name]: letter }))?.key), [undefined, letter]);
  });

  test('the place of a row needs all values of the order, its section only the first', () => {
    const order = orderOf([by(path(1, name), { folding: 1 }), by(path(1, age), { descending: true })],
      { section: { function: 'value', path: path(1, name) } });
    same([order.isOwn, order.list, order.reads], [true, null, [name, age]]);
    const row = (id, ...[text, number]) => order.key(id, own({ [name]: text, [age]: number }));
    same(order.compare(row(1, 'a', 1), row(2, 'A', 2)) > 0, true);
    same(order.compare(row(1, 'a', null), row(2, 'A', 2)) > 0, true);
    same(order.compare(row(1, 'a', 2), row(2, 'A', 2)) < 0, true);
    same(order.compare(row(1, null, 2), row(2, '', 2)) < 0, true);
    same([row(1, 'a'), row(1, undefined, 1)], [undefined, undefined]);
    same(order.section(own({ [name]: 'MILK' })).key, 'milk');
    same(order.section(own({ [age]: 1 })), undefined);
  });

  test('an order that reads other objects has no places, but may have sections', () => {
    const section = { function: 'value', path: path(1, age) };
    const order = orderOf([by(path(1, age)), by(path(1, name, parent))], { section });
    same([order.isOwn, order.list, order.reads], [false, null, [age]]);
    const values = own({ [age]: 7, [name]: 'a', [parent]: new Reference(1) });
    same([order.key(1, values), order.section(values).key], [undefined, 7]);
    const counted = orderOf([by(path(2, children))], { section: { function: 'value', path: path(2, children) } });
    same([counted.isOwn, counted.reads, counted.section(values)], [false, [], undefined]);
    const summed = orderOf([by({ ...path(3, children), function: 1, attribute: age })]);
    same([summed.isOwn, summed.key(1, values)], [false, undefined]);
  });

  test('sections of doubles have the hash of a double, and one zero', () => {
    const order = orderOf([by(path(1, ratio))], { section: { function: 'value', path: path(1, ratio) } });
    const section = (value) => order.section(own({ [ratio]: value }));
    same(section(new Double(3)), section(3));
    same(section(-0), section(0));
    same(isSameSection(section(3), { key: 3 }), true);
    same(isSameSection(section(null), { key: null }), true);
    same(isSameSection(section(null), { key: 0 }), false);
    const whole = orderOf([by(path(1, age))], { section: { function: 'value', path: path(1, age) } });
    same(JSON.stringify(whole.section(own({ [age]: 3 })).hash) === JSON.stringify(section(3).hash), false);
  });

  test('without sections all rows are in one', () => {
    same(orderOf([]).section(own({})), WHOLE);
    same([WHOLE.key, isSameSection(WHOLE, { key: '' })], ['', true]);
  });

  test('rows without an order are ordered by their ids', () => {
    const order = orderOf([]);
    same([order.isOwn, order.list, order.reads], [true, null, []]);
    same(order.compare(order.key(3, own({})), order.key(20, own({}))) < 0, true);
  });

  test('the order of a list is not one by values', () => {
    const list = { owner: 7, relationship: children, inverse: parent, isOrdered: true, isPaired: false };
    const source = { object: 7, relationship: children };
    for (const order of [orderOf([], { source }), orderOf([{ order: true }], { source })]) {
      same([order.isOwn, order.list, order.key(1, own({}))], [false, list, undefined]);
    }
    same(orderOf([by(path(1, age))], { source }).list, null);
    same(orderOf([], { source: { object: 7, relationship: friends } }).isOwn, true, 'friends have no order');
  });

  test('the list of a predicate is that of its outermost AND', () => {
    const list = { owner: 7, relationship: children, inverse: parent, isOrdered: true, isPaired: false };
    const [here, other] = [is(path(0, 0, parent), new Reference(7)), is(path(1, age), 1)];
    const found = (...nodes) => orderOf([{ order: true }], { nodes }).list;
    same(found(here), list);
    same(found(other, here, { and: 2 }), list);
    same(found(other, other, here, { and: 2 }, { and: 2 }), list);
    same(found(here, { not: true }), { isUnknown: true });
    same(found(other, here, { or: 2 }), { isUnknown: true });
    same(found(is(path(0, 0, parent), null)), { isUnknown: true });
    same(found(is(path(0, 0, home), new Reference(7))), { isUnknown: true }, 'a house has no order');
    same(orderOf([{ order: true }]).isOwn, false);
  });

  test('a list whose owner may be of two entities is not known', () => {
    same(listOf(null, item, model), null);
    same(listOf({ object: 1, relationship: friends }, item, model),
      { owner: 1, relationship: friends, inverse: friends, isOrdered: false, isPaired: true });
    same(listOf({ object: 1, relationship: 9 }, item, model), undefined, 'a house or a box');
    same(listOf({ object: 1, relationship: 10 }, item, model).inverse, 12, 'that of a house leads to one');
    same(listOf({ object: 1, relationship: 99 }, item, model), undefined);
    same(orderOf([], { source: { object: 1, relationship: 9 } }).list, { isUnknown: true });
  });

  test('values are kept in one form', () => {
    const kept = (type, ...values) => values.map((value) => stored({ type }, value));
    same(kept('double', new Double(1), -0, new Double(-0), 0.1, null), [1, 0, 0, 0.1, null]);
    same(kept('float', new Double(0.1), new Double(-1e-300), 1e300, null), [Math.fround(0.1), 0, Infinity, null]);
    same(kept('integer', 5n, 2n ** 60n, 7), [5, 2n ** 60n, 7]);
    same(kept('decimal', '1.50', '-0.0', '+12e2', '0.001e2', '.5', '5.', '00120', '-120e-1', '1e-3', '1', null),
      ['1.5', '0', '1200', '0.1', '0.5', '5', '120', '-12', '0.001', '1', null]);
    same(kept('decimal', '', '.', 'x', '1e', '1e99999'), ['', '.', 'x', '1e', '1e99999']);
    same(kept('date', new Date(5), new NestDate(7)), [new NestDate(5000), new NestDate(7)]);
    same(kept('string', '1.50', ''), ['1.50', '']);
  });

  test('what an insert leaves out has its default', () => {
    same(defaultOf({ type: 'integer', default: null }, 1), null);
    same(defaultOf({ type: 'double', default: 2 }, 1), 2);
    same(defaultOf({ type: 'date', default: null, defaultsToNow: true }, new NestDate(1500)), new NestDate(1500));
  });
}
