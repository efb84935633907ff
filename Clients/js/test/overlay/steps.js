// What Tests/Vectors/overlay.json does not show: every place of a list, what is refused, deletes, times, and texts that
// this platform does not know.

import { ListSketch, UNKNOWN } from '../../overlay/list-sketch.js';
import { laid } from '../../overlay/overlay.js';
import { widened } from '../../overlay/overlay-view.js';
import { schemaOf } from '../../overlay/schema.js';
import { encode } from '../../wire/messages.js';
import { decodeModel } from '../../wire/model.js';
import { encodePredicate } from '../../wire/predicate.js';
import { sectionKey } from '../../wire/rows.js';
import { NestDate, Reference } from '../../wire/values.js';
import { same } from '../rules/same.js';

const attribute = (number, name, type, more = {}) => ({
  number, name, type, isOptional: true, defaultsToNow: false, default: null, minimum: null, maximum: null, ...more,
});
const relationship = (number, name, destination, inverse, more = {}) => ({
  number, name, destination, inverse, isToMany: false, isOrdered: false, isOptional: true, deleteRule: 'nullify',
  minimumCount: 0, maximumCount: 0, join: null, ...more,
});
const entity = (number, name, attributes, relationships, more = {}) => ({
  number, name, parent: null, isAbstract: false, attributes, relationships, uniquenessConstraints: [], indexes: [],
  label: null, root: null, ...more,
});

// An outline with tags, and a partner for each item.
const model = decodeModel(encode('model', { entities: [
  entity(1, 'Item', [
    attribute(1, 'title', 'string', { default: 'new' }), attribute(2, 'made', 'date', { defaultsToNow: true }),
    attribute(3, 'weight', 'float'),
  ], [
    relationship(10, 'parent', 1, 11),
    relationship(11, 'children', 1, 10, { isToMany: true, isOrdered: true, deleteRule: 'cascade' }),
    relationship(12, 'partner', 1, 13), relationship(13, 'partnerOf', 1, 12),
    relationship(14, 'tags', 2, 15, { isToMany: true }),
  ], { root: { relationship: 10, object: 1 } }),
  entity(2, 'Tag', [attribute(1, 'name', 'string')], [
    relationship(15, 'items', 1, 14, { isToMany: true, isOrdered: true }),
  ]),
] }));

const wire = (more) => ({
  entity: 1, source: null, projection: [1, 10, 12, 13], sort: [], predicate: null, columns: [], section: null,
  window: null, ...more,
});
const reference = (id) => (id === null ? null : new Reference(id));
const stateOf = (rows, projection, position = null) => ({
  revision: 1, projection, position,
  sections: [{ ...sectionKey(''), rows: rows.map(([id, ...values]) => ({ id, values })) }],
});
/** The children of an object: [id, title] each. */
const children = (owner, rows, position = null) => ({
  request: wire({ source: { object: owner, relationship: 11 }, projection: [1, 10, 12, 13] }),
  state: stateOf(rows.map(([id, title, partner = null, of = null]) =>
    [id, title, reference(owner), reference(partner), reference(of)]), [1, 10, 12, 13], position),
});
const NOW = new NestDate(5_000_000);

/** What lists show: the titles, with the numbers of undecided objects and doubts if there are any. */
function shown(views, ...transactions) {
  const { views: all, refused } = laid(views, transactions, model, NOW);
  const titlesOf = ({ state }) => state.sections.flatMap(({ rows }) => rows.map(({ values }) => values[0])).join();
  return { refused, titles: all.map(titlesOf), undecided: all.map(({ undecided, doubts }) => undecided.size + doubts), all };
}
const move = (object, place, owner = 1) => ({ move: { object, placement: { relationship: 10, owner, place } } });
const update = (object, property, value) => ({ update: { object, values: [{ property, value }] } });
const refer = (object, property, to) => ({ update: { object, values: [{ property, reference: to }] } });
const insertAs = (object, values = [], placements = []) => ({ insertAs: { object, entity: 1, values, placements } });

const abc = () => children(1, [[2, 'a'], [3, 'b'], [4, 'c']]);

export function run(_, test) {
  test('an object is placed in a list as the server places it', () => {
    for (const [place, wanted] of [
      ['first', 'b,a,c'], ['last', 'a,c,b'], [null, 'a,c,b'], [{ before: 2 }, 'b,a,c'], [{ after: 4 }, 'a,c,b'],
      [{ at: 0 }, 'b,a,c'], [{ at: 1 }, 'a,b,c'], [{ at: 2 }, 'a,c,b'],
      [{ near: { left: 4, right: null } }, 'a,c,b'], [{ near: { left: 99, right: 2 } }, 'b,a,c'],
      [{ near: { left: 99, right: 98 } }, 'a,c,b'], [{ near: { left: null, right: null } }, 'a,c,b'],
      [{ near: { left: 3, right: 2 } }, 'b,a,c'],
    ]) {
      const { titles: [titles], undecided, refused } = shown([abc()], [move(3, place)]);
      same([titles, undecided, refused], [wanted, [0], []], JSON.stringify(place));
    }
  });

  test('what the server must refuse changes nothing, and the others go on', () => {
    for (const refusal of [
      [move(3, { before: 3 })], [move(3, { after: 99 })], [move(3, { at: 3 })], [move(2, 'last', 2)],
      [{ delete: { object: 1 } }], [{ delete: { object: 3 } }, update(3, 1, 'x')], [refer(3, 1, 2)],
      [update(3, 11, null)], [update(3, 10, 'text')],
      [{ insertAs: { object: 9, entity: 77, values: [], placements: [] } }],
      [insertAs(9), { delete: { object: -1 } }, move(-1, 'first')],
      [{ move: { object: 3, placement: { relationship: 11, owner: 1, place: 'last' } } }],
      [{ setRelated: { owner: 1, relationship: 11, objects: [3, 3, 2] } }],
    ]) {
      const found = shown([abc()], [update(2, 1, 'A'), ...refusal], [update(4, 1, 'C')]);
      same([found.titles, found.refused], [['a,b,C'], [0]], JSON.stringify(refusal));
    }
  });

  test('an object below another cannot become its owner, as far as owners are known', () => {
    const views = [abc(), children(3, [[5, 'd']]), children(5, [[6, 'e']])];
    same(shown(views, [move(3, 'last', 6)]).refused, [0]);
    same(shown(views, [move(6, 'first')]).titles, ['e,a,b,c', 'd', '']);
  });

  test('a list of which only a window is known keeps what is beyond its ends out', () => {
    const position = { total: 9, sectionTotal: 1, start: { row: 3, section: 0, rowInSection: 3 }, anchor: null };
    const view = () => children(1, [[2, 'a'], [3, 'b'], [4, 'c']], position);
    const window = ({ all: [{ state }] }) => [state.position.total, state.position.start.row];
    const first = shown([view()], [move(3, 'first')]);
    same([first.titles, window(first)], [['a,c'], [9, 4]]);
    same([shown([view()], [move(3, 'last')]).titles, window(shown([view()], [move(3, 'last')]))], [['a,c'], [9, 3]]);
    const added = shown([view()], [insertAs(9, [], [{ relationship: 10, owner: 1, place: { after: 3 } }])]);
    same([added.titles, window(added)], [['a,b,new,c'], [10, 3]]);
    const unknown = shown([view()], [move(3, { at: 1 })]);
    same([unknown.titles, unknown.undecided], [['a,b,c'], [1]]);
    same(shown([view()], [move(3, { after: 50 })]).undecided, [1]);
    same(window(shown([view()], [{ delete: { object: 3 } }])), [8, 3]);
  });

  test('an insert has its defaults, and the time that is given for its transaction', () => {
    const path = { steps: [], leaf: 1, property: 1 };
    const request = wire({ projection: [1, 2, 3, 10], sort: [{ path, descending: false, folding: 0 }] });
    const view = { request, state: stateOf([], request.projection) };
    const times = [new NestDate(1), new NestDate(2)];
    const { views: [{ state }] } = laid([view], [[insertAs(8, [{ property: 3, value: 0.1 }])],
      [insertAs(9, [{ property: 1, value: 'a' }])]], model, times);
    same(state.sections[0].rows, [
      { id: 9, values: ['a', new NestDate(2), null, new Reference(1)] },
      { id: 8, values: ['new', new NestDate(1), Math.fround(0.1), new Reference(1)] },
    ]);
  });

  test('a delete takes what is below with it; what is not known below leaves a doubt', () => {
    const views = () => [abc(), children(3, [[5, 'd']])];
    const { all, titles } = shown(views(), [{ delete: { object: 3 } }]);
    same([titles, all[0].undecided.size], [['a,c', ''], 0]);
    same(shown(views(), [{ delete: { object: 77 } }]).undecided, [1, 1]);
    const below = insertAs(9, [], [{ relationship: 10, owner: 2, place: 'last' }]);
    same(shown([abc()], [below, { delete: { object: 2 } }]).titles, ['b,c']);
  });

  test('one to one: who had either object loses it', () => {
    const view = children(1, [[2, 'a', 3, null], [3, 'b', null, 2], [4, 'c']]);
    const values = ({ all: [{ state }] }) => state.sections[0].rows.map(({ values: [, , to, of] }) =>
      [to?.id ?? 0, of?.id ?? 0]);
    same(values(shown([view], [refer(4, 12, 3)])), [[0, 0], [0, 4], [3, 0]]);
    same(values(shown([view], [update(2, 12, null)])), [[0, 0], [0, 0], [0, 0]]);
    same(values(shown([view], [refer(3, 13, 4)])), [[0, 0], [0, 4], [3, 0]]);
  });

  test('the objects of a tag follow relate, unrelate and a whole list', () => {
    const tagged = { request: wire({ source: { object: 20, relationship: 15 } }),
      state: stateOf([[2, 'a', reference(1), null, null]], [1, 10, 12, 13]) };
    const related = { owner: 20, relationship: 15 };
    const views = [abc(), tagged];
    same(shown(views, [{ relate: { ...related, object: 3, place: 'first' } }]).titles[1], 'b,a');
    // From the other side it is not known whether it was there, and so neither where it is.
    const other = shown(views, [{ relate: { owner: 4, relationship: 14, object: 20, place: null } }]);
    same([other.titles[1], other.undecided[1]], ['a', 1]);
    same(shown(views, [{ unrelate: { ...related, object: 2 } }]).titles[1], '');
    same(shown(views, [{ setRelated: { ...related, objects: [4, 2] } }]).titles[1], 'c,a');
    const none = { setRelated: { ...related, objects: [] } };
    same(shown(views, [none, { relate: { ...related, object: 3, place: null } }]).titles[1], 'b');
  });

  test('letters of a newer Unicode version are not folded by guess', () => {
    const path = { steps: [], leaf: 1, property: 1 };
    const folded = { quantifier: 0, path, operator: '==', folding: 3, values: ['a'] };
    const sort = [{ path, descending: false, folding: 0 }];
    const filtered = { request: wire({ predicate: encodePredicate([folded]), sort }),
      state: stateOf([[2, 'a', null, null, null]], [1, 10, 12, 13]) };
    same(shown([filtered], [update(2, 1, '\u0378')]).undecided, [1]);
    same(shown([filtered], [update(2, 1, 'b')]).titles, ['']);
    const sorted = { request: wire({ sort: [{ path, descending: false, folding: 1 }] }),
      state: stateOf([[2, 'a', null, null, null], [3, '\u0378', null, null, null]], [1, 10, 12, 13]) };
    same([shown([sorted], [update(2, 1, 'z')]).undecided, shown([sorted], [insertAs(9)]).undecided], [[1], [1]]);
  });

  test('a request asks for the own values that predicate, order and section read', () => {
    const path = (steps, leaf, property) => ({ steps, leaf, property });
    const wide = (more) => widened(wire({ projection: [13], ...more }), model.entity(1), schemaOf(model));
    const predicate = encodePredicate([{ quantifier: 0, path: path([], 1, 3), operator: '==', folding: 0, values: [1] }]);
    same(wide({}), [13]);
    same(wide({ sort: [{ path: path([], 1, 1) }, { path: path([10], 1, 3) }, { path: path([], 2, 11) }] }), [1, 10, 13]);
    same([wide({ sort: [{ order: true }] }), wide({ predicate }), wide({ section: { path: path([12], 0, 0) } })],
      [[13], [3, 13], [12, 13]]);
  });

  test('a place next to an object of which nothing is known stays open', () => {
    const sketch = new ListSketch([2, 3], true, true, false);
    const isMember = (id) => (id === 50 ? undefined : false);
    same(sketch.place(3, { beside: 50, isAfter: true }, isMember), true);
    same([[...sketch.uncertain], sketch.entries], [[3], [2, 3]]);
    same([sketch.place(9, { beside: 3, isAfter: true }, isMember), sketch.entries], [true, [2, 3]]);
    same([sketch.place(9, { beside: UNKNOWN, isAfter: true }, isMember), [...sketch.uncertain]], [true, [3, 9]]);
    same([sketch.place(9, { beside: 51, isAfter: true }, isMember), sketch.entries], [false, [2, 3]]);
    sketch.replace([4, 5]);
    same([sketch.entries, sketch.uncertain.size, sketch.isComplete], [[4, 5], 0, true]);
  });
}
