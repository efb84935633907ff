// Rows that one pending write takes out of a list, and a later one puts back. RememberedRowTests.swift is the same in
// Swift.

import { laidLists } from '../../overlay/laid-lists.js';
import { Pending, PendingWrite } from '../../overlay/pending.js';
import { encode } from '../../wire/messages.js';
import { decodeModel } from '../../wire/model.js';
import { encodePredicate } from '../../wire/predicate.js';
import { sectionKey } from '../../wire/rows.js';
import { NestDate, Reference } from '../../wire/values.js';
import { same } from '../rules/same.js';

const [TITLE, DONE, PARENT, CHILDREN] = [1, 2, 10, 11];
const [OUTLINE_CHILDREN, OUTLINE_DEPTH] = [65534, 65535];

const attribute = (number, name, type) => ({
  number, name, type, isOptional: true, defaultsToNow: false, default: null, minimum: null, maximum: null,
});
const relationship = (number, name, inverse, more = {}) => ({
  number, name, destination: 1, inverse, isToMany: false, isOrdered: false, isOptional: true, deleteRule: 'nullify',
  minimumCount: 0, maximumCount: 0, join: null, ...more,
});
const model = decodeModel(encode('model', { entities: [{
  number: 1, name: 'Node', parent: null, isAbstract: false, uniquenessConstraints: [], indexes: [], label: null,
  root: null, attributes: [attribute(TITLE, 'title', 'string'), attribute(DONE, 'done', 'boolean')],
  relationships: [
    relationship(PARENT, 'parent', CHILDREN),
    relationship(CHILDREN, 'children', PARENT, { isToMany: true, isOrdered: true, deleteRule: 'cascade' }),
  ],
}] }));

const notDone = encodePredicate([{
  quantifier: 0, path: { steps: [], leaf: 1, property: DONE }, operator: '==', folding: 0, values: [false],
}]);
const request = (more) => ({
  entity: 1, source: { object: 1, relationship: CHILDREN }, projection: [TITLE, DONE, PARENT], sort: [],
  predicate: notDone, columns: [], section: null, window: null, ...more,
});
const outline = request({
  projection: [TITLE, DONE, PARENT, OUTLINE_CHILDREN, OUTLINE_DEPTH], predicate: null,
  window: { offset: 0, limit: 100 }, outline: { expansion: 'all', exceptions: new Set([3]), states: new Map() },
});

/** Rows: id, title, then for an outline parent, depth, and the number of children. */
function stateOf(revision, { projection, outline: isOutline }, rows) {
  const all = rows.map(([id, title, parent = 1, depth = 0, count = 0]) => (
    { id, values: [title, false, new Reference(parent), count, depth].slice(0, projection.length) }));
  const start = { row: 0, section: 0, rowInSection: 0 };
  const position = isOutline ? { total: rows.length, sectionTotal: 1, start, anchor: null } : null;
  return { revision, projection, position, sections: [{ ...sectionKey(''), rows: all }] };
}

class Client {
  pending = new Pending();
  list;

  constructor(asked, rows) {
    this.list = { asked };
    this.take(1, rows);
  }

  take(revision, rows) {
    const state = stateOf(revision, this.list.asked, rows);
    Object.assign(this.list, { head: revision, state, view: { request: this.list.asked, state } });
  }

  write(mutation) {
    const made = Object.assign(new PendingWrite(), { tx: { mutations: [mutation] }, now: new NestDate(0) });
    this.pending.add(made);
    return made;
  }

  confirm(write, revision, rows) {
    this.pending.received(write, { revision, isChanged: true });
    this.take(revision, rows);
  }

  shown() {
    this.pending.reached([this.list.head]);
    const laid = laidLists([this.list], this.pending, () => model, (error) => { throw error; });
    const { state: { sections, position }, undecided, doubts } = laid.get(this.list).found;
    return {
      rows: sections.flatMap(({ rows }) => rows.map(({ id, values }) => [id, values[0], ...values.slice(3)].join(' '))),
      total: position?.total, isDecided: undecided.size + doubts === 0,
    };
  }
}

const set = (object, values) => (
  { update: { object, values: Object.entries(values).map(([property, value]) => ({ property: Number(property), value })) } });
const move = (object, owner, place) => ({ move: { object, placement: { relationship: PARENT, owner, place } } });

const [A, B, C] = [[2, 'a'], [3, 'bb'], [4, 'c']];
const ABC = ['2 a', '3 bb', '4 c'];

/** Sets `done` of a row and takes it back, and confirms the first of the two writes. */
function halfConfirmed(asked) {
  const client = new Client(asked, [A, [3, 'b'], C]);
  const first = client.write(set(3, { [DONE]: true, [TITLE]: 'bb' }));
  const second = client.write(set(3, { [DONE]: false }));
  same(client.shown(), { rows: ABC, total: undefined, isDecided: true });
  client.confirm(first, 2, [A, C]);
  return { client, second };
}

export function run(_, test) {
  test('a row that a later write puts back stays until that is confirmed', () => {
    for (const sort of [[], [{ path: { steps: [], leaf: 1, property: TITLE }, isAscending: true, folding: 0 }]]) {
      const { client, second } = halfConfirmed(request({ sort }));
      same(client.shown(), { rows: ABC, total: undefined, isDecided: false });
      client.confirm(second, 3, [A, B, C]);
      same(client.shown(), { rows: ABC, total: undefined, isDecided: true });
    }
  });

  test('it goes when that write is refused', () => {
    const { client, second } = halfConfirmed(request());
    client.shown();
    client.pending.end(second, 'refused');
    same(client.shown(), { rows: ['2 a', '4 c'], total: undefined, isDecided: true });
  });

  test('it goes when that write is confirmed without it', () => {
    const { client, second } = halfConfirmed(request());
    client.shown();
    client.write(set(3, { [TITLE]: 'b3' }));
    client.confirm(second, 3, [A, C]);
    same(client.shown().rows, ['2 a', '4 c']);
  });

  test('a row goes that others take out', () => {
    const client = new Client(request(), [A, B]);
    const first = client.write(set(2, { [TITLE]: 'aa' }));
    client.write(set(3, { [TITLE]: 'x' }));
    client.shown();
    client.confirm(first, 3, [[2, 'aa']]);
    same(client.shown().rows, ['2 aa']);
  });

  test('a row of an outline stays, with those below it, that was moved below a folded row and back', () => {
    const client = new Client(outline, [A, [3, 'folded', 1, 0, -2], [5, 'b', 1, 0, 1], [6, 'below', 5, 1]]);
    const first = client.write(move(5, 3, 'last'));
    const second = client.write(move(5, 1, 'first'));
    const rows = ['5 b 1 0', '6 below 0 1', '2 a 0 0', '3 folded -2 0'];
    same(client.shown(), { rows, total: 4, isDecided: true });
    client.confirm(first, 2, [A, [3, 'folded', 1, 0, -3]]);
    same(client.shown(), { rows, total: 4, isDecided: false });
    client.confirm(second, 3, [[5, 'b', 1, 0, 1], [6, 'below', 5, 1], A, [3, 'folded', 1, 0, -2]]);
    same(client.shown(), { rows, total: 4, isDecided: true });
  });
}
