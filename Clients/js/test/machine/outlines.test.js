import assert from 'node:assert/strict';
import test from 'node:test';
import { Folds, merged } from '../../machine/folds.js';
import { OutlineList } from '../../machine/outlines.js';
import { runsOf } from '../../client/outline-state.js';
import { digestOf, OutlineServer, played, PROJECTION, rowsOf, Tree, windowOf } from './outline-server.js';
import { numbers, spec, World } from './server.js';

const WELCOME = { features: 0x307 };
const request = (fields) => ({ fields, with: (more) => request({ ...fields, ...more }) });

/** A spec as the client makes it. */
function outlineSpec({ window = { offset: 0, limit: 100 }, outline = {}, ...fields } = {}) {
  const made = spec({
    projection: PROJECTION, window, outline: { expansion: 'none', exceptions: [], ...outline }, ...fields,
  });
  return Object.freeze({ ...made, request: request({}) });
}

/** A tree of the rows 2, 3 and 4, each with 2 below it; a live outline; its server. */
function live(fields = {}, { answers = true } = {}) {
  const world = new World();
  world.welcome(WELCOME);
  const tree = new Tree();
  for (const title of ['a', 'b', 'c']) tree.insert(1, tree.at(1).children.length, title);
  for (const id of [2, 3, 4]) for (const index of [0, 1]) tree.insert(id, index, `${tree.at(id).title}${index}`);
  const server = new OutlineServer(world, tree);
  const list = new OutlineList();
  list.to = {};
  world.run((m) => list.open(m, outlineSpec(fields)));
  if (answers) server.answerAll();
  return { world, tree, server, list };
}

const titles = (list) => list.view.state.sections[0].rows.map(({ values }) => values[0]).join(' ');
const types = (world, list) => world.changesOf(list).map(({ change, type }) => change?.type ?? type);
const edit = (wire) => ({ wire, fields: wire });

function fold(world, list, states) {
  const call = { states };
  world.run((m) => list.fold(m, new Map(states), call));
  return call;
}

function change(world, list, wire) {
  const call = { wire };
  world.run((m) => list.changeTo(m, edit(wire), call));
  return call;
}

/** How a call ended: true, false, the code of an error; undefined if it has not. */
function outcome(world, call) {
  const event = world.events.find((one) => one.call === call || one.call?.all?.some((each) => each.call === call));
  return event?.type === 'answer' ? event.reply : event?.error.code;
}

test('an outline unfolds and folds: the difference has its own revision twice', () => {
  const { world, list, server } = live();
  assert.equal(titles(list), 'a b c');
  const call = fold(world, list, [[2, true]]);
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b c');
  assert.equal(outcome(world, call), true);
  const { change: event, revision } = world.changesOf(list).at(-1);
  assert.deepEqual([event.type, event.from, event.to, revision], ['diff', 1, 1, 1]);
  fold(world, list, [[2, false], [3, true]]);
  server.answerAll();
  assert.equal(titles(list), 'a b b0 b1 c');
  assert.equal(world.closes, 0);
});

test('fold states wait for the answer before, and then go as one message: none is lost', () => {
  const { world, list, server } = live();
  const calls = [[[2, true]], [[3, true]], [[2, false], [4, true]]].map((states) => fold(world, list, states));
  server.take();
  assert.deepEqual(server.held.map(({ name }) => name), ['setExpanded']);
  server.answer();
  server.take();
  const [{ name, fields }] = server.held;
  assert.equal(name, 'setExpanded');
  assert.deepEqual(fields.states, [3, 2, 4].map((object) => ({ object, isExpanded: object !== 2 })));
  server.answerAll();
  assert.equal(titles(list), 'a b b0 b1 c c0 c1');
  assert.deepEqual(calls.map((call) => outcome(world, call)), [true, true, true]);
});

test('of several windows only the newest is requested, and the zoom before them is kept', () => {
  const { world, list, server } = live({ outline: { expansion: 'all' } });
  const first = change(world, list, { window: { offset: 1, limit: 3 } });
  const zoom = change(world, list, { source: { object: 3, relationship: 6 } });
  const second = change(world, list, { window: { offset: 0, limit: 1 } });
  const third = change(world, list, { window: { offset: 1, limit: 1 } });
  assert.equal(outcome(world, second), false);
  server.answerAll();
  assert.equal(titles(list), 'b1');
  assert.deepEqual([first, zoom, third].map((call) => outcome(world, call)), [true, true, true]);
  assert.equal(types(world, list).filter((type) => type === 'diff').length, 2);
});

test('a scroll keeps the fold states: it asks for them as before', () => {
  const { world, list, server } = live();
  fold(world, list, [[2, true]]);
  server.answerAll();
  change(world, list, { window: { offset: 1, limit: 3 } });
  server.take();
  assert.deepEqual(server.held[0].fields.request.outline, { expansion: 'asBefore', exceptions: [] });
  server.answerAll();
  assert.equal(titles(list), 'a0 a1 b');
  assert.equal(list.view.state.position.start.row, 1);
});

test('after a lost connection an outline has its fold states, its zoom and its window', () => {
  const { world, list, server } = live({ window: { anchor: 3, before: 1, after: 1 } });
  fold(world, list, [[2, true], [4, true]]);
  server.answerAll();
  assert.equal(titles(list), 'a1 b c');
  server.tree.delete(3);
  server.commit();
  assert.equal(titles(list), 'a1 c c0');
  const waiting = fold(world, list, [[2, false]]);
  world.lose();
  server.lost();
  assert.equal(types(world, list).at(-1), 'disconnected');
  assert.equal(outcome(world, waiting), undefined);
  world.reconnect(WELCOME);
  server.take();
  const [{ fields }] = server.held;
  assert.deepEqual(fields.request.outline, { expansion: 'none', exceptions: [2, 4] });
  assert.equal(fields.request.window.anchor, 4);
  server.answerAll();
  assert.equal(titles(list), 'a c c0', 'the states that had no answer are set again');
  assert.equal(outcome(world, waiting), true);
});

test('states of an outline by an attribute are set again, because the client does not know the attribute', () => {
  const { world, list, server } = live({ outline: { expansion: { attribute: 3 }, exceptions: [] } });
  server.tree.at(2).done = true;
  server.commit();
  assert.equal(titles(list), 'a a0 a1 b c');
  fold(world, list, [[2, false], [3, true]]);
  server.answerAll();
  assert.equal(titles(list), 'a b b0 b1 c');
  for (let round = 0; round < 2; round += 1) {
    world.lose();
    server.lost();
    world.reconnect(WELCOME);
    server.answerAll();
    assert.equal(titles(list), 'a b b0 b1 c');
  }
});

test('another expansion replaces the fold states before it, not those after it', () => {
  const { world, list, server } = live();
  const under = fold(world, list, [[2, true]]);
  const before = fold(world, list, [[3, true]]);
  const all = change(world, list, { outline: { expansion: 'all', exceptions: [] } });
  const after = fold(world, list, [[4, false]]);
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b b0 b1 c');
  assert.deepEqual([under, before, all, after].map((call) => outcome(world, call)), [true, true, true, true]);
  assert.deepEqual(list.folds.outline, { expansion: 'all', exceptions: [4] });
});

test('an expansion that waits while the connection is lost comes after what was sent before it', () => {
  const { world, list, server } = live();
  const under = fold(world, list, [[2, false], [3, false]]);
  change(world, list, { outline: { expansion: 'all', exceptions: [] } });
  world.lose();
  server.lost();
  world.reconnect(WELCOME);
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b b0 b1 c c0 c1');
  assert.equal(outcome(world, under), true);
});

test('a refused expansion loses no fold state, before it or after it', () => {
  const { world, list, server } = live();
  const calls = [fold(world, list, [[2, true]]), fold(world, list, [[3, true]])];
  const all = change(world, list, { outline: { expansion: 'all', exceptions: [] } });
  calls.push(fold(world, list, [[4, true], [3, false]]));
  for (const name of ['setExpanded', 'setExpanded', 'resubscribe']) {
    server.take();
    assert.equal(server.held[0].name, name);
    if (name === 'resubscribe') world.error('LIMIT_EXCEEDED', server.held.shift().id);
    else server.answer();
  }
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b c c0 c1');
  assert.equal(outcome(world, all), 'LIMIT_EXCEEDED');
  assert.deepEqual(calls.map((call) => outcome(world, call)), [true, true, true]);
  assert.deepEqual(list.folds.outline, { expansion: 'none', exceptions: [2, 4] });
});

test('of merged changes one that is refused takes no other with it', () => {
  const { world, list, server } = live();
  server.tree.at(3).title = 'b7';
  server.commit();
  fold(world, list, [[2, false]]);
  const wrong = change(world, list, { window: { anchor: 99, before: 1, after: 1 } });
  const all = change(world, list, { outline: { expansion: 'all', exceptions: [] } });
  const after = fold(world, list, [[4, false]]);
  const filter = change(world, list, { predicate: Uint8Array.of(7, 0) });
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 c');
  assert.deepEqual([wrong, all, after, filter].map((call) => outcome(world, call)), ['NOT_FOUND', true, true, true]);
  assert.deepEqual([list.folds.outline, list.waiting], [{ expansion: 'all', exceptions: [4] }, null]);
});

test('merged changes that were refused, and wait for each other, survive a lost connection in their order', () => {
  const { world, list, server } = live();
  fold(world, list, [[2, false]]);
  const wrong = change(world, list, { source: { object: 99, relationship: 6 } });
  const all = change(world, list, { outline: { expansion: 'all', exceptions: [] } });
  fold(world, list, [[4, false]]);
  server.answer();
  server.answer();
  server.take();
  world.lose();
  server.lost();
  world.reconnect(WELCOME);
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b b0 b1 c');
  assert.deepEqual([wrong, all].map((call) => outcome(world, call)), ['NOT_FOUND', true]);
});

test('a filter and an expansion at once keep the place of a window whose middle the filter hides', () => {
  const { world, list, server } = live({ window: { anchor: 4, before: 1, after: 1 } });
  server.tree.at(4).title = 'c7';
  server.commit();
  fold(world, list, [[2, false]]);
  const calls = [
    change(world, list, { predicate: Uint8Array.of(7, 0) }),
    change(world, list, { outline: { expansion: 'all', exceptions: [] } }),
  ];
  server.answerAll();
  assert.deepEqual(calls.map((call) => outcome(world, call)), [true, true]);
  assert.deepEqual(list.spec.wire.window, { offset: 1, limit: 3 });
  assert.equal(titles(list), 'a0 a1 b');
});

test('a refused fold changes nothing, and the next one is sent', () => {
  const { world, list, server } = live();
  const refused = fold(world, list, [[2, true]]);
  const next = fold(world, list, [[3, true]]);
  const [{ id }] = world.takeSent();
  world.error('LIMIT_EXCEEDED', id);
  server.answerAll();
  assert.deepEqual([outcome(world, refused), outcome(world, next)], ['LIMIT_EXCEEDED', true]);
  assert.deepEqual(list.folds.outline.exceptions, [3]);
  assert.equal(titles(list), 'a b b0 b1 c');
});

test('a filter that hides the middle of the window keeps the place', () => {
  const { world, list, server } = live({ window: { anchor: 4, before: 1, after: 1 } });
  assert.equal(titles(list), 'b c');
  server.tree.at(4).title = 'c7';
  server.commit();
  const call = change(world, list, { predicate: Uint8Array.of(7, 0) });
  server.answerAll();
  assert.equal(outcome(world, call), true);
  assert.equal(titles(list), 'b');
  assert.deepEqual(list.spec.wire.window, { offset: 1, limit: 3 });
});

test('a zoom into what is gone is refused, and the outline goes on', () => {
  const { world, list, server } = live();
  const call = change(world, list, { source: { object: 99, relationship: 6 } });
  server.answerAll();
  assert.equal(outcome(world, call), 'NOT_FOUND');
  fold(world, list, [[2, true]]);
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b c');
});

test('a pause waits for the answer to a fold, and keeps it', () => {
  const { world, list, server } = live();
  fold(world, list, [[2, true]]);
  world.run((m) => list.pause(m, 'user'));
  const held = fold(world, list, [[3, true]]);
  server.answerAll();
  assert.equal(types(world, list).at(-1), 'paused');
  assert.equal(outcome(world, held), undefined);
  world.run((m) => list.resume(m, 'user'));
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b b0 b1 c');
  assert.equal(outcome(world, held), true);
});

test('a difference that does not fit starts the outline again with its folds', () => {
  const { world, list, server } = live();
  fold(world, list, [[2, true]]);
  server.answerAll();
  const waiting = fold(world, list, [[4, true]]);
  const { rows, position } = server.view;
  world.reply('diff', {
    from: 1, to: 1, total: rows.length, digest: '0000000000000001', deletedRows: [], deletedSections: [],
    insertedSections: [], moves: [], insertedRows: [], updates: [], position,
  }, server.view.id);
  assert.equal(world.changesOf(list).at(-1).change.cause, 'mismatch');
  server.answerAll();
  assert.equal(titles(list), 'a a0 a1 b c c0 c1');
  assert.equal(outcome(world, waiting), true);
  assert.equal(world.closes, 0);
});

test('callers who give up take back what was not sent; an outline that ends fails the others', () => {
  const { world, list } = live();
  const sent = fold(world, list, [[2, true]]);
  const waiting = fold(world, list, [[3, true]]);
  const zoom = change(world, list, { source: { object: 3, relationship: 6 } });
  const scroll = change(world, list, { window: { offset: 1, limit: 1 } });
  assert.deepEqual([sent, waiting, scroll, {}].map((call) => list.abandon(call)), [true, true, true, false]);
  assert.deepEqual(list.waitingFolds, []);
  assert.deepEqual(list.waiting.spec.wire.window, { offset: 0, limit: 100 });
  const last = fold(world, list, [[4, true]]);
  world.reply('subscriptionEnd', { code: 'LIMIT_EXCEEDED', message: 'too many rows' }, list.view.id);
  assert.deepEqual([zoom, last].map((call) => outcome(world, call)), ['LIMIT_EXCEEDED', 'LIMIT_EXCEEDED']);
  assert.equal(outcome(world, fold(world, list, [[2, true]])), 'CANCELLED');
  assert.equal(outcome(world, change(world, list, {})), 'CANCELLED');
});

test('a server without outlines, or whose rows have no depth, is said to be that', () => {
  const world = new World();
  world.welcome({ features: 7 });
  const list = new OutlineList();
  list.to = {};
  world.run((m) => list.open(m, outlineSpec()));
  assert.equal(world.take('end')[0].error.code, 'UNSUPPORTED');
  assert.deepEqual(world.takeSent(), []);

  const { world: other } = live({}, { answers: false });
  other.subscribed({ projection: [1, 65534] });
  assert.equal(other.closes, 1);
  for (const values of [['a', 1], ['a', 0, -1], ['a', 'x', 0], ['a', 0, null]]) {
    const { world: third } = live({}, { answers: false });
    third.subscribed({ projection: PROJECTION });
    const rows = [{ id: 2, values: [...values, null].slice(0, 3) }];
    third.reply('snapshot', {
      reason: 'first', revision: 2, digest: digestOf(rows), sectionCount: 1, sections: [{ key: '', rowCount: 1 }],
      position: { total: 1, sectionTotal: 1, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null },
    }, 0x80000005, 1);
    third.reply('snapshotRows', { rows }, 0x80000005);
    assert.equal(third.closes, 1, JSON.stringify(values));
  }
});

test('too many states at once are refused before they are sent', () => {
  const { world, list } = live();
  const call = fold(world, list, Array.from({ length: 65_537 }, (_, index) => [index + 1, true]));
  assert.equal(outcome(world, call), 'LIMIT_EXCEEDED');
  assert.deepEqual(world.takeSent(), []);
  const half = Array.from({ length: 40_000 }, (_, index) => [index + 1, true]);
  const calls = [half, half].map((states) => ({ states: new Map(states), call: {} }));
  assert.deepEqual([merged(calls).taken.length, merged(calls).states.size], [1, 40_000]);
});

test('of fold states in one message one that is refused takes no other with it', () => {
  const { world, list, server } = live();
  const calls = [[[2, false]], [[3, true]], [[4, true]]].map((states) => fold(world, list, states));
  server.answer();
  server.take();
  assert.deepEqual(server.held[0].fields.states.map(({ object }) => object), [3, 4]);
  world.error('LIMIT_EXCEEDED', server.held.shift().id);
  server.take();
  assert.deepEqual(server.held[0].fields.states.map(({ object }) => object), [3]);
  world.error('LIMIT_EXCEEDED', server.held.shift().id);
  server.answerAll();
  assert.deepEqual(calls.map((call) => outcome(world, call)), [true, 'LIMIT_EXCEEDED', true]);
  assert.deepEqual(list.folds.outline.exceptions, [4]);
  assert.equal(titles(list), 'a b c c0 c1');
});

test('after a lost connection the window stays in its place, although its middle is gone', () => {
  const { world, list, server } = live({ window: { anchor: 4, before: 1, after: 1 } });
  assert.equal(titles(list), 'b c');
  world.lose();
  server.lost();
  server.tree.delete(4);
  server.tree.insert(1, 2, 'd');
  server.tree.insert(1, 3, 'e');
  world.reconnect(WELCOME);
  server.answerAll();
  assert.equal(titles(list), 'b d e');
  assert.equal(list.view.state.position.start.row, 1);
});

test('more states than a message may have are set again in several messages', () => {
  const { world, list, server } = live({ outline: { expansion: { attribute: 3 }, exceptions: [] } });
  const many = (first) => Array.from({ length: 40_000 }, (_, index) => [first + index, true]);
  const calls = [many(2), many(50_000)].map((states) => fold(world, list, states));
  server.answerAll();
  world.lose();
  server.lost();
  world.reconnect(WELCOME);
  const counts = [];
  do {
    server.take();
    if (server.held[0]?.name === 'setExpanded') counts.push(server.held[0].fields.states.length);
  } while (server.answer());
  assert.deepEqual(counts, [65_536, 80_000 - 65_536]);
  assert.deepEqual(calls.map((call) => outcome(world, call)), [true, true]);
  assert.equal(world.closes, 1, 'only by the loss');
  assert.equal(titles(list), 'a a0 a1 b b0 b1 c c0 c1');
});

test('exceptions are the objects whose state differs; the newest are kept if there are too many', () => {
  const all = new Folds({ expansion: 'all', exceptions: [7, 5] });
  all.set(new Map([[7, true], [9, false]]));
  assert.deepEqual(all.outline, { expansion: 'all', exceptions: [5, 9] });
  const none = new Folds({ expansion: 'none', exceptions: [] });
  none.set(new Map(Array.from({ length: 65_540 }, (_, index) => [index + 1, true])));
  assert.deepEqual([none.outline.exceptions.length, none.outline.exceptions[0]], [65_536, 5]);
});

test('runs join the adjacent rows of a sub-tree, and have each row once', () => {
  const row = (...at) => at.map((index) => ({ at: [0, index] }));
  const move = ([from, to]) => ({ from: [0, from], to: [0, to] });
  assert.deepEqual(runsOf({
    deletedRows: row(4, 2, 3, 7), insertedRows: row(9, 0, 1), moves: [[10, 4], [11, 5], [13, 6], [0, 7]].map(move),
  }), [
    { kind: 'removed', from: 2, to: null, count: 3 }, { kind: 'removed', from: 7, to: null, count: 1 },
    { kind: 'moved', from: 10, to: 4, count: 2 }, { kind: 'moved', from: 13, to: 6, count: 1 },
    { kind: 'moved', from: 0, to: 7, count: 1 },
    { kind: 'inserted', from: null, to: 0, count: 2 }, { kind: 'inserted', from: null, to: 9, count: 1 },
  ]);
});

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`a random outline is the naive one after every commit, fold, zoom and loss: seed ${seed}`, () => {
    const random = numbers(seed);
    const below = (count) => Math.floor(random() * count);
    const pick = (all) => all[below(all.length)];
    const counts = {};
    const expansion = pick(['none', 'all', { attribute: 3 }]);
    const { world, list, server, tree } = live({ outline: { expansion } });
    const ids = () => [...tree.objects.keys()].filter((id) => id !== 1);
    const windows = () => (random() < 0.6 || ids().length === 0 ? { offset: below(8), limit: 1 + below(12) }
      : { anchor: pick(ids()), before: below(4), after: below(6) });
    const steps = {
      insert: () => tree.insert(pick([1, ...ids()]), 0, `t${below(10)}`, random() < 0.5),
      update: () => ids().length && Object.assign(tree.at(pick(ids())), { title: `t${below(10)}`, done: random() < 0.5 }),
      move: () => {
        const [id, parent] = [pick(ids()), pick([1, ...ids()])];
        return id && tree.move(id, parent, below(tree.at(parent).children.length + (parent === tree.at(id).parent ? 0 : 1)));
      },
      delete: () => ids().length > 4 && tree.delete(pick(ids())),
    };
    let state = list.view.state;
    for (let step = 0; step < 400; step += 1) {
      const kind = pick(['insert', 'insert', 'update', 'move', 'move', 'delete', 'fold', 'fold', 'fold', 'scroll', 'scroll',
        'zoom', 'filter', 'expand', 'lose', 'pause', 'answer']);
      counts[kind] = (counts[kind] ?? 0) + 1;
      const isAnswered = random() < 0.7;
      if (steps[kind]) {
        steps[kind]();
        server.commit();
      } else if (kind === 'fold') {
        fold(world, list, Array.from({ length: 1 + below(3) }, () => [pick([...ids(), 1]), random() < 0.5]));
      } else if (kind === 'scroll') change(world, list, { window: windows() });
      else if (kind === 'zoom') {
        change(world, list, { source: { object: pick([1, ...ids()]), relationship: 6 }, window: windows() });
      } else if (kind === 'filter') {
        change(world, list, { predicate: random() < 0.5 ? null : Uint8Array.of(below(10), 0) });
      } else if (kind === 'expand') {
        change(world, list, { outline: { expansion: pick(['none', 'all', { attribute: 3 }]), exceptions: [] } });
      } else if (kind === 'lose') {
        world.lose();
        server.lost();
        world.reconnect(WELCOME);
      } else if (kind === 'pause') {
        world.run((m) => list.pause(m, 'user'));
        if (random() < 0.5) server.answerAll();
        world.run((m) => list.resume(m, 'user'));
      }
      if (isAnswered) server.answerAll();
      for (const event of world.take()) {
        if (event.type === 'end') {
          // What it was below is gone: the program begins again.
          assert.equal(event.error.code, 'NOT_FOUND');
          world.run((m) => list.open(m, outlineSpec({ outline: { expansion: 'all' } })));
          server.answerAll();
        }
        assert.notEqual(event.change?.cause, 'mismatch', event.change?.message);
        if (event.type !== 'change' || !event.state) continue;
        if (event.change.type === 'diff') {
          const [before, after] = [state, event.state].map(({ sections }) => sections[0]?.rows.map(({ id }) => id) ?? []);
          assert.deepEqual(played(before, after, runsOf(event.change.diff)), after);
          counts.diffs = (counts.diffs ?? 0) + 1;
        }
        state = event.state;
      }
      if (!isAnswered || !list.view?.isReady) continue;
      // The state is that of the server, and the server's that of the whole, recomputed.
      assert.deepEqual(list.view.state.sections[0].rows, server.view.rows);
      assert.deepEqual(list.view.state.position, server.view.position);
      const whole = windowOf(rowsOf(tree, server.view), server.view.window, server.view.place);
      assert.deepEqual([whole.rows, whole.position], [server.view.rows, server.view.position]);
      // What the program has said is what the server has, also after a loss.
      assert.equal(list.spec.wire.source.object, server.view.root);
      const { expansion: usual, exceptions } = list.folds.outline;
      assert.deepEqual(usual, server.view.folds.expansion);
      const isThere = (id) => tree.objects.has(id);
      if (typeof usual === 'string') {
        assert.deepEqual(exceptions.filter(isThere), [...server.view.folds.exceptions].filter(isThere).sort((a, b) => a - b));
      }
      counts.compared = (counts.compared ?? 0) + 1;
    }
    assert.equal(world.closes, counts.lose, 'no frame was wrong');
    assert.ok(counts.compared > 150 && counts.diffs > 100, JSON.stringify(counts));
  });
}
