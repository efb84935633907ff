// Outlines of a client with a cache: what it records of rows and fold states, and how the next run begins.

import assert from 'node:assert/strict';
import test from 'node:test';
import { runsOf } from '../../client/outline-state.js';
import { MemoryCache } from '../../cache/memory.js';
import { load } from '../../machine/cached-frames.js';
import { loadOutline, withCachedFolds } from '../../machine/cached-outlines.js';
import { recordingOf } from '../../machine/recording.js';
import { OutlineList } from '../../machine/outlines.js';
import { types } from '../../wire/messages.js';
import { OutlineServer, played, PROJECTION, Tree } from '../machine/outline-server.js';
import { numbers, OTHER_HISTORY, spec } from '../machine/server.js';
import { CachedWorld } from './world.js';

const WELCOME = { features: 0x307 };
const SUBSCRIBED = { view: 0x80000007, first: 'snapshot', revision: 0, reason: '' };
const Outline = withCachedFolds(OutlineList);
const request = (fields) => ({ fields, with: (more) => request({ ...fields, ...more }) });

function outlineSpec({ window = { offset: 0, limit: 4 }, outline = {}, ...fields } = {}) {
  const made = spec({
    projection: PROJECTION, window, outline: { expansion: 'none', exceptions: [], ...outline }, ...fields,
  });
  return Object.freeze({ ...made, request: request({}) });
}

const keyOf = (made) => new Outline(null).keyOf(made);

/** Rows 2, 3 and 4, each with 2 below it. */
function newTree() {
  const tree = new Tree();
  for (const title of ['a', 'b', 'c']) tree.insert(1, tree.at(1).children.length, title);
  for (const id of [2, 3, 4]) for (const index of [0, 1]) tree.insert(id, index, `${tree.at(id).title}${index}`);
  return tree;
}

/** A run of a program that asks for an outline. `connects`: whether it has a server. */
async function run(cache, tree, { asked = outlineSpec(), connects = true, welcome = WELCOME, revision = 1 } = {}) {
  const world = new CachedWorld(cache);
  const server = new OutlineServer(world, tree);
  server.revision = revision;
  const list = new Outline(null);
  list.to = {};
  const view = await cache.view(list.keyOf(asked));
  list.loaded = view && list.read(view, asked);
  world.run((m) => list.open(m, asked));
  const connect = () => {
    world.welcome({ ...welcome, revision });
    server.answerAll();
  };
  if (connects) connect();
  return { world, server, list, tree, connect };
}

const fold = ({ world, list, server }, states) => {
  world.run((m) => list.fold(m, new Map(states), {}));
  server.answerAll();
};
const change = ({ world, list, server }, wire) => {
  world.run((m) => list.changeTo(m, { wire, fields: wire }, {}));
  server.answerAll();
};
const titles = (state) => state.sections[0].rows.map(({ values }) => values[0]).join(' ');
const loaded = async (cache, asked = outlineSpec()) => loadOutline(await cache.view(keyOf(asked)), asked);
const typesOf = ({ world, list }) => world.changesOf(list).map(({ change: one }) => one.type);
/** A run with rows 2 and 4 unfolded. */
async function filled(cache = new MemoryCache(), tree = newTree(), options = {}) {
  const first = await run(cache, tree, options);
  fold(first, [[2, true]]);
  fold(first, [[4, true]]);
  assert.equal(titles(first.list.view.state), 'a a0 a1 b');
  return { cache, tree, first };
}

test('an outline begins with its rows and fold states, and gets the difference instead of a snapshot', async () => {
  const { cache, tree } = await filled();
  const next = await run(cache, tree, { connects: false });
  assert.deepEqual(typesOf(next), ['snapshot']);
  const [{ change: first, state }] = next.world.changesOf(next.list);
  assert.deepEqual([first.reason, titles(state)], ['cache', 'a a0 a1 b']);
  tree.insert(1, 0, 'new');
  tree.delete(3);
  next.server.revision = 7;
  next.connect();
  assert.deepEqual(typesOf(next), ['snapshot', 'resumed', 'diff']);
  const { change: diff, state: now, revision } = next.world.last(next.list);
  assert.deepEqual([diff.from, diff.to, revision, titles(now)], [1, 7, 7, 'new a a0 a1']);
  assert.deepEqual(runsOf(diff.diff).map(({ kind, count }) => [kind, count]), [['removed', 1], ['inserted', 1]]);
  // Rows that have not changed are the same objects.
  assert.equal(now.sections[0].rows[2], state.sections[0].rows[1]);
  assert.deepEqual(next.list.folds.outline.exceptions, [2, 4]);
  assert.deepEqual([...next.server.view.folds.exceptions].sort(), [2, 4]);
  assert.equal(titles((await loaded(cache)).state), 'new a a0 a1');
});

test('rows that have not changed are confirmed', async () => {
  const { cache, tree } = await filled();
  const next = await run(cache, tree);
  assert.deepEqual(typesOf(next), ['snapshot', 'resumed', 'resumed']);
  assert.deepEqual(next.world.changesOf(next.list).map(({ change: one }) => one.isExact), [undefined, false, true]);
  fold(next, [[2, false]]);
  assert.equal(titles(next.list.view.state), 'a b c c0');
  assert.deepEqual((await loaded(cache)).folds.outline.exceptions, [4]);
});

test('a connection that is lost before the rows come changes nothing', async () => {
  const { cache, tree } = await filled();
  const next = await run(cache, tree, { connects: false });
  next.world.welcome(WELCOME);
  next.server.take();
  const [{ id }] = next.server.held;
  next.world.reply('subscribed', { ...SUBSCRIBED, projection: PROJECTION }, id);
  next.world.lose();
  next.server.lost();
  tree.insert(1, 0, 'new');
  next.world.reconnect(WELCOME);
  next.server.answerAll();
  assert.deepEqual(typesOf(next), ['snapshot', 'resumed', 'disconnected', 'diff']);
  assert.equal(titles(next.world.last(next.list).state), 'new a a0 a1');
});

test('another history drops rows and fold states', async () => {
  const { cache, tree } = await filled();
  const next = await run(cache, tree, { welcome: { ...WELCOME, historyID: OTHER_HISTORY } });
  assert.deepEqual(typesOf(next), ['snapshot', 'reset', 'snapshot']);
  assert.equal(titles(next.world.last(next.list).state), 'a b c');
  assert.deepEqual(next.list.folds.outline.exceptions, []);
});

test('another history after a lost connection drops rows that the server has not replaced', async () => {
  const { cache, tree } = await filled();
  const next = await run(cache, tree, { connects: false });
  next.world.welcome(WELCOME);
  next.server.take();
  const [{ id }] = next.server.held;
  next.world.reply('subscribed', { ...SUBSCRIBED, projection: PROJECTION }, id);
  next.world.lose();
  next.server.lost();
  next.world.reconnect({ ...WELCOME, historyID: OTHER_HISTORY });
  next.server.answerAll();
  assert.deepEqual(typesOf(next).slice(-2), ['reset', 'snapshot']);
});

test('while other rows are shown only fold states are recorded; back at the first rows, these are', async () => {
  const { cache, tree, first } = await filled();
  change(first, { window: { offset: 3, limit: 4 } });
  assert.equal(titles(first.list.view.state), 'b c c0 c1');
  fold(first, [[3, true], [4, false]]);
  tree.at(2).title = 'A';
  first.server.commit();
  let kept = await loaded(cache);
  assert.equal(titles(kept.state), 'a a0 a1 b');
  assert.deepEqual(kept.folds.outline.exceptions, [2, 3]);
  change(first, { outline: { expansion: 'all', exceptions: [2] } });
  kept = await loaded(cache);
  assert.deepEqual([titles(kept.state), kept.folds.outline], ['a a0 a1 b', { expansion: 'all', exceptions: [2] }]);
  change(first, { window: { offset: 0, limit: 4 } });
  kept = await loaded(cache);
  assert.equal(titles(kept.state), 'A b b0 b1');
  // The next diff continues that.
  tree.at(2).title = 'AA';
  first.server.commit();
  assert.equal(titles((await loaded(cache)).state), 'AA b b0 b1');
});

test('a program that asks for other fold states gets those; one that has kept them itself goes on', async () => {
  const { cache, tree } = await filled();
  const asked = (exceptions, expansion = 'none') => outlineSpec({ outline: { expansion, exceptions } });
  const all = [[asked([]), true], [asked([2, 4]), true], [asked([2]), false], [asked([], 'all'), false]];
  for (const [one, begins] of all) {
    const next = await run(cache, tree, { asked: one, connects: false });
    assert.deepEqual(typesOf(next), begins ? ['snapshot'] : [], JSON.stringify(one.wire.outline));
  }
});

test('states of an outline by an attribute are kept', async () => {
  const asked = outlineSpec({ outline: { expansion: { attribute: 3 } } });
  const cache = new MemoryCache();
  const tree = newTree();
  const first = await run(cache, tree, { asked });
  fold(first, [[2, true], [3, false]]);
  const next = await run(cache, tree, { asked });
  assert.deepEqual([...next.list.folds.states], [[2, true], [3, false]]);
  assert.equal(titles(next.list.view.state), 'a a0 a1 b');
  const own = outlineSpec({ outline: { expansion: { attribute: 3 }, states: [[3, false], [2, true]] } });
  assert.equal(typesOf(await run(cache, tree, { asked: own, connects: false })).length, 1);
  const other = outlineSpec({ outline: { expansion: { attribute: 3 }, states: [[2, false]] } });
  assert.equal(typesOf(await run(cache, tree, { asked: other, connects: false })).length, 0);
});

test('frames that are none of an outline are refused', async () => {
  const { cache } = await filled();
  const view = await cache.view(keyOf(outlineSpec()));
  const isRefused = { name: 'NestError' };
  const refuses = (frames) => assert.throws(() => loadOutline({ ...view, frames }, outlineSpec()), isRefused);
  const [first, ...rest] = view.frames;
  refuses(rest);
  refuses([...rest, first]);
  refuses([first, first, ...rest]);
  refuses([...view.frames, { type: types.setExpanded, body: new Uint8Array([1]) }]);
  refuses([first, { type: types.resubscribe, body: new Uint8Array([1]) }, ...rest]);
  assert.throws(() => loadOutline({ ...view, digest: '0'.repeat(16) }, outlineSpec()), { name: 'NestError' });
  // A client of an earlier version knows no outlines: it drops the state.
  assert.throws(() => load(view, outlineSpec()), { name: 'NestError' });
});

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`random runs begin with what the one before has shown last: seed ${seed}`, async () => {
    const random = numbers(seed);
    const below = (count) => Math.floor(random() * count);
    const pick = (all) => all[below(all.length)];
    const tree = newTree();
    const cache = new MemoryCache();
    const expansion = pick(['none', 'all', { attribute: 3 }]);
    const asked = outlineSpec({ outline: { expansion }, window: { offset: 0, limit: 6 } });
    const counts = { begun: 0, compared: 0, diffs: 0 };
    let revision = 1;
    for (let number = 0; number < 25; number += 1) {
      const view = await cache.view(keyOf(asked));
      const kept = view && loadOutline(view, asked);
      const one = await run(cache, tree, { asked, connects: false, revision });
      let shown = kept?.state;
      if (kept) {
        counts.begun += 1;
        assert.deepEqual(one.list.folds.outline, kept.folds.outline);
      }
      one.connect();
      for (let step = below(40); step > 0; step -= 1) {
        const ids = [...tree.objects.keys()];
        switch (below(8)) {
          case 0: tree.insert(pick(ids), 0, `t${below(10)}`, random() < 0.5); break;
          case 1: Object.assign(tree.at(pick(ids)), { title: `t${below(10)}` }); break;
          case 2: {
            const id = pick(ids);
            if (id !== 1 && ids.length > 6) tree.delete(id);
            break;
          }
          case 3: change(one, { window: { offset: random() < 0.5 ? 0 : below(5), limit: 6 } }); break;
          case 4:
            if (random() < 0.3) change(one, { outline: { expansion: pick(['none', 'all']), exceptions: [] } });
            break;
          case 5:
            if (random() < 0.3) {
              one.world.lose();
              one.server.lost();
              one.world.reconnect({ ...WELCOME, revision: one.server.revision });
              one.server.answerAll();
            }
            break;
          default: fold(one, [[pick(ids), random() < 0.5]]);
        }
        one.server.commit();
        one.server.answerAll();
      }
      for (const { change: event, state } of one.world.changesOf(one.list)) {
        assert.notEqual(event.cause, 'mismatch', event.message);
        if (!state) continue;
        if (event.type === 'diff' && shown) {
          const [before, after] = [shown, state].map(({ sections }) => sections[0].rows.map(({ id }) => id));
          assert.deepEqual(played(before, after, runsOf(event.diff)), after);
          counts.diffs += 1;
        }
        shown = state;
      }
      const { view: last, folds, isAway } = one.list;
      assert.deepEqual(last.state.sections[0].rows, one.server.view.rows);
      const now = await loaded(cache, asked);
      assert.deepEqual(now.folds, folds);
      if (!isAway) {
        assert.ok(recordingOf(last.state));
        assert.deepEqual(now.state.sections[0].rows, last.state.sections[0].rows);
        assert.deepEqual(now.state.position, last.state.position);
        counts.compared += 1;
      }
      revision = one.server.revision;
    }
    assert.ok(counts.begun === 24 && counts.compared > 5 && counts.diffs > 20, JSON.stringify(counts));
  });
}
