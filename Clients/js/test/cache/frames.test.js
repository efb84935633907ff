// Random lists with sections, totals, windows and all kinds of values: what was recorded is what the list shows.

import assert from 'node:assert/strict';
import test from 'node:test';
import { MemoryCache } from '../../cache/memory.js';
import { framesOf, load } from '../../machine/cached-frames.js';
import { CACHE_VIEW_BYTES_MAX } from '../../machine/cache-limits.js';
import { Double, NestDate, Reference, UUID } from '../../wire/values.js';
import { sectionKey } from '../../wire/rows.js';
import { digest } from '../../wire/results.js';
import { Random } from '../live/random.js';
import { ids, positionOf, spec, VIEW } from '../machine/server.js';
import { CachedWorld } from './world.js';

const first = Number(process.env.NEST_SEED ?? 1);
const count = process.env.NEST_SEED ? 1 : 40;
const steps = Number(process.env.NEST_STEPS ?? 60);

const VALUES = [null, true, false, 0, -0, 1, -1, 63, 64, 1.5, new Double(1e300), new Double(-1e300),
  new Double(2 ** 53), 2n ** 60n, -(2n ** 63n), '', 'Milk', 'Ünïcode 🥛', 'x'.repeat(100), new Uint8Array(),
  new Uint8Array([0, 255]), new NestDate(-1), new NestDate(2n ** 62n), new Reference(7), new UUID('ab'.repeat(16)),
  new Double(3), new Double(-0), new Double(2 ** 60)];

/** What is read of a value that the server sends. */
const read = (value) => (value instanceof Double ? value.value : value);

test('a state that is written as a snapshot is the same when it is read', () => {
  const request = spec({ projection: [1, 2] });
  for (let seed = first; seed < first + count; seed += 1) {
    const random = new Random(seed);
    const keys = [...new Set(VALUES.filter(() => random.chance(0.3)))];
    let id = 0;
    const sections = keys.map((exact) => ({
      ...sectionKey(exact),
      rows: Array.from({ length: random.below(30) }, () => ({
        id: ++id, values: [read(random.pick(VALUES)), read(random.pick(VALUES))] })),
    }));
    const state = { revision: 7, projection: [1, 2], sections, position: null };
    const text = digest(sections);
    const view = { request: request.key, identity: 'i', modelHash: 'm', historyID: 'h', revision: 9, digest: text,
      recording: 'r', sequence: 3, frames: framesOf(state, text, request) };
    const loaded = load(view, request);
    assert.deepEqual(loaded.state, state, `seed ${seed}`);
    assert.deepEqual(loaded.head, { history: 'h', revision: 9 });
  }
});

test('random changes: each state is read again as the list shows it, however it was recorded', async () => {
  let rewritten = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const random = new Random(seed);
    const isWindowed = random.chance(0.3);
    const request = spec(isWindowed ? { window: { offset: 0, limit: 50 } } : {});
    let world = new CachedWorld(new MemoryCache());
    world.welcome();
    let list = await world.follow(request);
    let [revision, next, rows] = [2, 10, [2, 3]];
    const position = () => (isWindowed ? positionOf(rows.length + 5, 5) : null);
    world.subscribed();
    world.snapshot(revision, rows, { position: position() ?? undefined });
    for (let step = 0; step < steps; step += 1) {
      const kind = random.weighted(
        { insert: 6, remove: 3, move: 3, update: 6, position: 1, progress: 3, snapshot: 1, end: 2 });
      const to = revision + random.between(1, 300);
      const at = random.below(rows.length);
      const old = rows;
      // A diff may begin before what the client has by progress.
      const from = Math.max(revision - random.below(2), 0);
      const send = (changes) => world.diff(from, to, rows, { position: position(), ...changes });
      if (kind === 'insert') {
        const title = 'x'.repeat(random.pick([1, 10, 3000]));
        rows = [...rows.slice(0, at), next, ...rows.slice(at)];
        send({ insertedRows: [{ at: [0, at], id: next, values: [title] }] });
        next += 1;
      } else if (kind === 'remove' && rows.length > 1) {
        rows = rows.filter((_, index) => index !== at);
        send({ deletedRows: [{ at: [0, at], id: old[at], reason: 'deleted' }] });
      } else if (kind === 'move' && rows.length > 1) {
        const rest = rows.filter((_, index) => index !== at);
        const end = (at + 1) % rows.length;
        rows = [...rest.slice(0, end), old[at], ...rest.slice(end)];
        send({ moves: [{ from: [0, at], to: [0, end] }] });
      } else if (kind === 'update' && rows.length > 0) {
        const value = 'y'.repeat(random.pick([0, 5, 2000]));
        send({ updates: [{ at: [0, at], values: [{ property: 1, value }] }] });
      } else if (kind === 'position' && isWindowed) {
        world.reply('totals', { revision: to, position: positionOf(rows.length + 9, 7) }, VIEW);
        continue;
      } else if (kind === 'snapshot') {
        world.snapshot(to, rows, { position: position() ?? undefined, title: () => 'new' });
      } else if (kind === 'end') {
        // Another client begins with the state; the server has nothing new.
        const before = world.last(list);
        world = new CachedWorld(world.cache);
        list = await world.follow(request);
        const shown = world.last(list);
        assert.deepEqual(ids(shown), rows, `seed ${seed}, step ${step}`);
        assert.deepEqual(shown.state.sections, before.state?.sections ?? shown.state.sections);
        world.welcome();
        world.subscribed({ first: 'current', revision });
        continue;
      } else world.reply('progress', { revision: to });
      revision = to;
      const changes = world.takeChanges();
      rewritten += kind !== 'snapshot' && changes.some(({ type }) => type === 'replace') ? 1 : 0;
      const what = `seed ${seed}, step ${step}`;
      assert.ok(!changes.some(({ type }) => type === 'remove'), `${what}: ${changes.at(-1)?.reason}`);
      const { state, head } = load(await world.cache.view(request.key), request);
      const shown = list.view.state;
      assert.deepEqual([state.sections, state.position], [shown.sections, shown.position], what);
      assert.ok(head.revision <= revision);
    }
  }
  if (count > 1) assert.ok(rewritten > 5, `${rewritten} states were written as snapshots`);
});

test('changes that outweigh the snapshot become one snapshot', async () => {
  const world = new CachedWorld(new MemoryCache());
  world.welcome();
  await world.follow();
  world.subscribed();
  world.snapshot(2, [2, 3]);
  let size = 0;
  for (let revision = 3; revision < 2_000; revision += 1) {
    const updates = [{ at: [0, 0], values: [{ property: 1, value: `title ${revision} ${'x'.repeat(50)}` }] }];
    world.diff(revision - 1, revision, [2, 3], { updates });
    const { frames } = await world.cache.view(spec().key);
    size = Math.max(size, frames.reduce((sum, { body }) => sum + body.length, 0));
  }
  assert.ok(size < 17_000, `${size} bytes`);
  assert.ok(world.takeChanges().some(({ type }) => type === 'replace'));
});

test('a state that is too large is not kept, nor is the one before', async () => {
  const world = new CachedWorld(new MemoryCache());
  world.welcome();
  const list = await world.follow();
  world.subscribed();
  world.snapshot(2, [2, 3]);
  const rows = Array.from({ length: 260 }, (_, index) => index + 2);
  const title = 'x'.repeat(65_000);
  const state = [{ ...sectionKey(''), rows: rows.map((id) => ({ id })) }];
  world.reply('snapshot', {
    reason: 'first', revision: 3, digest: digest(state), sectionCount: 1, position: positionOf(rows.length, 0),
    sections: [{ key: '', rowCount: rows.length }],
  }, VIEW, 1);
  for (let at = 0; at < rows.length; at += 10) {
    const part = rows.slice(at, at + 10).map((id) => ({ id, values: [title] }));
    world.reply('snapshotRows', { rows: part }, VIEW, at + 10 < rows.length ? 1 : 0);
  }
  assert.equal(ids(world.last(list)).length, rows.length);
  assert.ok(rows.length * title.length > CACHE_VIEW_BYTES_MAX);
  assert.equal(world.takeChanges().at(-1).reason, 'the state is too large');
  assert.equal(await world.cache.view(spec().key), null);
  world.insert(3, 4, 900, [900, ...rows]);
  assert.deepEqual(world.takeChanges(), []);
});
