// The truth of predicates and the order of rows, without vectors: what is not known, and what must not crash.

import { Filter, truth } from '../../rules/truth.js';
import { decodePredicate, encodePredicate } from '../../wire/predicate.js';
import { Order } from '../../rules/order.js';
import { Double, NestDate, Reference, UUID } from '../../wire/values.js';
import { refuses, same } from './same.js';

const attribute = (number, type) => ({ number, name: `#${number}`, type });
const relationship = (number, isToMany, inverse) => ({
  number, name: `#${number}`, isToMany, inverse, destination: 1,
});
const item = {
  number: 1,
  name: 'Item',
  attributes: [attribute(1, 'string'), attribute(2, 'integer'), attribute(3, 'decimal'), attribute(4, 'double'),
    attribute(7, 'date'), attribute(8, 'uuid'), attribute(9, 'data'), attribute(10, 'boolean')],
  relationships: [relationship(5, false, 6), relationship(6, true, 5), relationship(11, true, 11)],
};
const model = { entity: (number) => (number === 1 ? item : undefined) };

const path = (leaf, property = 0, ...steps) => ({ steps, leaf, property });
const comparison = (operator, where, values, { quantifier = 0, folding = 0 } = {}) => ({
  quantifier, path: where, operator, folding, values,
});
const [any, all, none] = [1, 2, 3];
const name = path(1, 1);
const filter = (...nodes) => new Filter(nodes, item, model);
const not = { not: true };
const and = { and: 2 };
const or = { or: 2 };

/** Objects by id; what a property does not hold is not known. */
const lookup = (objects, more = {}) => ({
  value: (id, property) => objects[id]?.[property],
  related: (id, property) => objects[id]?.[property],
  ...more,
});

export function run(_vectors, test) {
  test('a predicate without nodes is true of every object', () => {
    same(truth(new Filter(decodePredicate(Uint8Array.of(0)), item, model), 1, lookup({})), true);
  });

  test('what is not known follows Kleene', () => {
    const unknown = comparison('==', name, ['a']);
    const [yes, no] = [{ constant: true }, { constant: false }];
    const cases = [
      [[unknown], undefined], [[unknown, not], undefined],
      [[unknown, yes, and], undefined], [[unknown, no, and], false], [[no, unknown, and], false],
      [[unknown, yes, or], true], [[yes, unknown, or], true], [[unknown, no, or], undefined],
      [[unknown, unknown, or, not], undefined],
    ];
    for (const [nodes, expected] of cases) same(filter(...nodes).truth(1, lookup({})), expected);
  });

  test('ANY, ALL and NONE are decided by one object, or wait for those that are not known', () => {
    const asked = (quantifier, objects) => filter(comparison('==', path(1, 1, 6), ['a'], { quantifier }))
      .truth(1, lookup(objects));
    const [known, half] = [{ 1: { 6: [2, 3] }, 2: { 1: 'a' }, 3: { 1: 'b' } }, { 1: { 6: [2, 3] }, 2: { 1: 'a' } }];
    same([any, all, none].map((quantifier) => asked(quantifier, known)), [true, false, false]);
    same([any, all, none].map((quantifier) => asked(quantifier, half)), [true, undefined, false]);
    const other = { 1: { 6: [2, 3] }, 2: { 1: 'b' } };
    same([any, all, none].map((quantifier) => asked(quantifier, other)), [undefined, false, undefined]);
    same([any, all, none].map((quantifier) => asked(quantifier, { 1: { 6: [] } })), [false, true, true]);
    same([any, all, none].map((quantifier) => asked(quantifier, {})), [undefined, undefined, undefined]);
  });

  test('behind a null reference everything is null, counts too', () => {
    const objects = { 1: { 5: null, 6: [2] }, 2: { 5: new Reference(1), 6: [] } };
    same(filter(comparison('==', path(1, 1, 5), [null])).truth(1, lookup(objects)), true);
    same(filter(comparison('==', path(2, 6, 5), [null])).truth(1, lookup(objects)), true);
    same(filter(comparison('>=', path(2, 6, 5), [0])).truth(1, lookup(objects)), false);
    same(filter(comparison('==', path(2, 6, 5), [1])).truth(2, lookup(objects)), true);
    same(filter(comparison('==', path(2, 6), [7])).truth(1, lookup(objects, { count: () => 7 })), true);
    same(filter(comparison('==', path(0, 0, 5), [new Reference(1)])).truth(2, lookup(objects)), true);
    const behind = (quantifier) => comparison('>', path(2, 6, 5, 6), [0], { quantifier });
    const found = [any, all, none].map((quantifier) => filter(behind(quantifier)).truth(1, lookup(objects)));
    same(found, [false, true, true]);
  });

  test('null equals null and nothing else, and has no order', () => {
    const asked = (operator, values, value) => filter(comparison(operator, name, values))
      .truth(1, lookup({ 1: { 1: value } }));
    same([asked('==', [null], null), asked('!=', [null], null), asked('!=', ['a'], null)], [true, false, true]);
    same([asked('IN', ['a', null], null), asked('IN', ['a'], null), asked('IN', [], 'a')], [true, false, false]);
    for (const operator of ['<', '<=', '>', '>=']) same(asked(operator, [null], null), false, operator);
    const never = [false, false, false];
    same([asked('BETWEEN', [null, 'z'], 'a'), asked('LIKE', ['*'], null), asked('CONTAINS', ['a'], null)], never);
    same([asked('CONTAINS', [''], 'a'), asked('BEGINSWITH', [''], 'a'), asked('ENDSWITH', [''], '')], never);
  });

  test('numbers are compared exactly, whatever their forms', () => {
    const asked = (operator, property, wanted, value) => filter(comparison(operator, path(1, property), [wanted]))
      .truth(1, lookup({ 1: { [property]: value } }));
    same(asked('==', 4, 0, -0), true);
    same(asked('IN', 4, new Double(-0), 0), true);
    same(asked('==', 2, new Double(2 ** 53), 9_007_199_254_740_993n), false);
    same(asked('<', 2, new Double(2 ** 53), 9_007_199_254_740_991), true);
    same(asked('>', 2, 9_223_372_036_854_775_806n, 9_223_372_036_854_775_807n), true);
    same(asked('==', 3, '0.1', '0.10'), true);
    same(asked('<', 3, '10', '9'), true);
    same(asked('<', 1, '10', '9'), false);
    same(asked('>', 7, new NestDate(-1), new NestDate(9_007_199_254_740_993n)), true);
    const hex = '00112233445566778899aabbccddeeff';
    same(asked('==', 8, new UUID(hex), new UUID(hex)), true);
    same(asked('<', 9, Uint8Array.of(1, 0), Uint8Array.of(1)), true);
  });

  test('MATCHES is not decided without a function of the program, and false of null', () => {
    const asked = filter(comparison('MATCHES', name, ['a+'], { folding: 1 }));
    same(asked.truth(1, lookup({ 1: { 1: 'aa' } })), undefined);
    same(asked.truth(1, lookup({ 1: { 1: null } })), false);
    const matches = (text, pattern, { ignoresCase, ignoresDiacritics }) => text === 'aa' && pattern === 'a+'
      && ignoresCase && !ignoresDiacritics;
    same(asked.truth(1, lookup({ 1: { 1: 'aa' } }, { matches })), true);
  });

  test('an object is in the sub-tree of each object above it, and not of itself', () => {
    const below = (root) => filter(comparison('IN SUBTREE', path(0), [new Reference(root), 6]));
    const up = (id) => ({ 5: id === null ? null : new Reference(id) });
    const objects = { 1: up(null), 2: up(1), 3: up(2), 7: up(8), 8: up(7), 9: up(99) };
    same([3, 2, 1].map((id) => below(1).truth(id, lookup(objects))), [true, true, false]);
    same(below(2).truth(2, lookup(objects)), false);
    same(below(1).truth(7, lookup(objects)), false, 'a circle ends');
    same(below(1).truth(9, lookup(objects)), undefined);
  });

  test('a predicate that does not fit the model is refused, and says why', () => {
    const wrong = [
      [comparison('==', path(1, 99), ['a'])], [comparison('==', path(1, 1, 99), ['a'])],
      [comparison('==', name, ['a'], { quantifier: any })], [comparison('==', path(1, 1, 6), ['a'])],
      [comparison('==', path(1, 1, 6, 6), ['a'], { quantifier: any })], [comparison('==', path(2, 5), [1])],
      [comparison('<', path(0, 0, 5), [new Reference(1)])], [comparison('==', name, [1])], [comparison('==', name, [])],
      [comparison('BETWEEN', name, ['a'])], [comparison('LIKE', path(1, 2), ['a'])], [comparison('LIKE', name, [null])],
      [comparison('==', path(1, 2), [1], { folding: 1 })], [comparison('==', name, ['é'.repeat(513)])],
      [comparison('IN SUBTREE', path(0), [new Reference(1), 5])],
      [comparison('IN SUBTREE', path(0), [new Reference(1), 11])],
      [comparison('IN SUBTREE', path(0, 0, 5), [new Reference(1), 6])], [comparison('IN SUBTREE', path(0), [])],
      [not], [comparison('==', name, ['a']), and], [comparison('==', name, ['a']), { and: 1 }],
      [comparison('==', name, ['a']), comparison('==', name, ['b'])],
      [{ constant: true }, ...new Array(32).fill(not)],
    ];
    wrong.forEach((nodes, index) => refuses('INVALID_PREDICATE', () => filter(...nodes), `case ${index}`));
    filter({ constant: true }, ...new Array(31).fill(not));
  });

  test('bytes of a predicate that cannot be are refused with a code', () => {
    const cases = [
      ['MALFORMED', [1, 3]], ['MALFORMED', [2, 1, 1]], ['MALFORMED', [2, 1, 4, 2]], ['MALFORMED', [1, 1, 0]],
      ['MALFORMED', [1]], ['MALFORMED', []], ['UNSUPPORTED', [1, 6]], ['UNSUPPORTED', [1, 2, 4, 0, 1, 1, 1, 0, 0]],
      ['UNSUPPORTED', [1, 2, 0, 0, 5]], ['MALFORMED', [1, 2, 0, 0, 4]], ['MALFORMED', [1, 2, 0, 0, 4, 6, 1, 3]],
      ['LIMIT_EXCEEDED', [1, ...new Array(5).fill([2, 0, 0, 4, 6, 1]).flat(), 1]], ['UNSUPPORTED', [1, 2, 0, 0, 1, 1, 15, 0, 0]],
      ['UNSUPPORTED', [1, 2, 0, 0, 1, 1, 1, 4, 0]], ['MALFORMED', [1, 2, 0, 5, 1, 1, 1, 1, 1, 0, 1, 0, 0]],
      ['LIMIT_EXCEEDED', [0x41, 1]], ['MALFORMED', [2, 1, 4, 1]],
    ];
    for (const [code, bytes] of cases) refuses(code, () => decodePredicate(Uint8Array.from(bytes)), bytes.join(' '));
  });

  test('a predicate is written as it was read', () => {
    const nodes = [comparison('IN', path(1, 4), [1, new Double(1), new Double(-0), null, 2n ** 62n]), not,
      comparison('>', path(2, 6, 6), [0], { quantifier: any }), { constant: false },
      { or: 3 }];
    const bytes = encodePredicate(nodes);
    same(encodePredicate(decodePredicate(bytes)), bytes);
    refuses('INVALID', () => encodePredicate([comparison('=', name, ['a'])]));
  });

  test('null comes first ascending and last descending; ids end every order', () => {
    const order = new Order([{ type: 'string', folding: 1 }, { type: 'decimal', descending: true }]);
    const rows = [['b', '1', 1], [null, '1', 2], ['B', '10', 3], ['a', null, 4], ['A', '2', 5], ['a', '2', 6],
      [null, '1', 0.5]];
    const keys = rows.map(([text, number, id]) => order.key([text, number], id));
    same(keys.sort((a, b) => order.compare(a, b)).map((key) => key.id), [0.5, 2, 5, 6, 4, 3, 1]);
    same(order.key(['a', undefined], 1), undefined);
    refuses('INVALID', () => new Order([{ type: 'integer', folding: 2 }]));
  });

  test('the order of a request has the types of its paths, and keys by what they lead to', () => {
    const sort = [{ path: path(1, 3, 5), descending: true }, { path: path(2, 6), descending: false }];
    const order = Order.of(sort, item, model);
    same(order.terms.map(({ type }) => type), ['decimal', 'integer']);
    const objects = {
      1: { 5: null, 6: [2] }, 2: { 3: '9', 5: new Reference(4), 6: [] }, 3: { 5: new Reference(2), 6: [] },
      4: { 3: '10', 5: null },
    };
    const keys = [1, 2, 3].map((id) => order.keyOf(id, lookup(objects)));
    same(keys.sort((a, b) => order.compare(a, b)).map(({ id }) => id), [2, 3, 1]);
    same(order.keyOf(4, lookup(objects)), undefined, 'the children of 4 are not known');
    refuses('UNSUPPORTED', () => Order.of([{ order: true }], item, model));
    refuses('UNSUPPORTED', () => Order.of([{ path: path(0, 0, 5) }], item, model));
    refuses('UNKNOWN_PROPERTY', () => Order.of([{ path: path(1, 99) }], item, model));
    refuses('UNKNOWN_PROPERTY', () => Order.of([{ path: path(1, 1, 6) }], item, model));
    refuses('INVALID', () => new Order([{ type: 'string' }]).keyOf(1, lookup(objects)));
  });

  test('sections are named by what the order compares', () => {
    const key = (type, section, value, folding = 0) => new Order([{ type, folding }]).sectionKey(section, value);
    same(key('string', 'value', 'Straße', 1), 'strasse');
    const first = (value, folding) => key('string', 'firstCharacter', value, folding);
    same([first('ßa', 1), first('😀a'), first(''), first(null)], ['S', '😀', '', null]);
    same([first('éa', 3), first('éa', 1), key('uri', 'firstCharacter', 'ab')], ['E', 'É', 'a']);
    same([key('date', 'year', new NestDate(0)), key('date', 'month', new NestDate(-1)), key('date', 'day', null)],
      ['1970', '1969-12', null]);
    const wrong = [['decimal', 'value'], ['data', 'value'], ['integer', 'firstCharacter'], ['string', 'year'],
      ['date', 'firstCharacter'], ['date', 'hour']];
    for (const [type, section] of wrong) {
      refuses('INVALID', () => key(type, section, null), `${type} ${section}`);
    }
  });
}
