// Caches keep what they were given: the one in memory, and changes that wait to be written.

import assert from 'node:assert/strict';
import test from 'node:test';
import { follows, kept, sizeOf, UnwrittenChanges } from '../../cache/changes.js';
import { MemoryCache } from '../../cache/memory.js';
import { checksum, decodeFrames, encodeFrames } from '../../cache/pieces.js';
import { CACHE_PREDICATES_MAX, CACHE_UNWRITTEN_BYTES_MAX } from '../../machine/cache-limits.js';
import { Random } from '../live/random.js';

const first = Number(process.env.NEST_SEED ?? 1);
const count = process.env.NEST_SEED ? 1 : 60;
const steps = Number(process.env.NEST_STEPS ?? 80);

const frame = (byte, size = 8) => ({ type: 0x32, body: new Uint8Array(size).fill(byte) });
const viewOf = (request, recording, revision, frames) => ({ request, identity: 'i', modelHash: 'm', historyID: 'h',
  revision, digest: `${revision}`, recording, sequence: frames.length, frames });

/** What a view is after changes, one at a time: the simple way. */
class Naive {
  views = new Map();

  apply(change) {
    if (change.type === 'remove') this.views.delete(change.request);
    if (change.type === 'replace') this.views.set(change.view.request, change.view);
    if (change.type !== 'append') return;
    const { append } = change;
    const view = this.views.get(append.request);
    if (view && follows(append, view)) this.views.set(append.request, kept(view, append));
  }
}

/** Writes a batch as a database does. */
function write(naive, unwritten) {
  for (const [request, list] of unwritten.views) {
    for (const { replacement, append } of list) {
      if (append) naive.apply({ type: 'append', append });
      else if (replacement) naive.apply({ type: 'replace', view: replacement });
      else naive.apply({ type: 'remove', request });
    }
  }
}

test('random changes, written in batches or one by one, lead to the same views', async () => {
  let dropped = 0;
  for (let seed = first; seed < first + count; seed += 1) {
    const random = new Random(seed);
    const [naive, written, memory] = [new Naive(), new Naive(), new MemoryCache()];
    let unwritten = new UnwrittenChanges();
    // Two clients write the same views; each knows what it has recorded.
    const clients = [new Map(), new Map()];
    let revision = 1;
    for (let step = 0; step < steps; step += 1) {
      const known = random.pick(clients);
      const request = random.pick(['a', 'b']);
      const kind = random.weighted({ replace: 2, append: 8, adopt: 2, remove: 1, write: 2 });
      const held = known.get(request);
      let change = null;
      revision += 1;
      if (kind === 'replace') {
        change = { type: 'replace', view: viewOf(request, `r${step}`, revision, [frame(step)]) };
        known.set(request, change.view);
      } else if (kind === 'append' && held) {
        const frames = Array.from({ length: random.below(3) }, () => frame(step));
        const { recording, sequence, revision: base } = held;
        const digest = `${revision}`;
        change = { type: 'append', append: { request, recording, sequence, base, frames, revision, digest } };
        known.set(request, kept(held, change.append));
      } else if (kind === 'adopt' && naive.views.has(request)) known.set(request, naive.views.get(request));
      else if (kind === 'remove') change = { type: 'remove', request, reason: 'r' };
      else if (kind === 'write') {
        write(written, unwritten);
        unwritten = new UnwrittenChanges();
      }
      if (!change) continue;
      const before = naive.views.get(request);
      naive.apply(change);
      if (change.type === 'append' && naive.views.get(request) === before) dropped += 1;
      memory.record([change]);
      assert.ok(unwritten.add(change));
      for (const one of ['a', 'b']) {
        assert.deepEqual(await memory.view(one), naive.views.get(one) ?? null, `seed ${seed}`);
      }
    }
    write(written, unwritten);
    assert.deepEqual(written.views, naive.views, `seed ${seed}`);
  }
  if (count > 1) assert.ok(dropped > 20, `${dropped} changes of another client were dropped`);
});

test('a cache in memory is bounded: the least recently shown states leave first', async () => {
  const [a, b, c] = ['a', 'b', 'c'].map((request) => viewOf(request, 'r', 1, [frame(1, 1_000)]));
  const cache = new MemoryCache({ byteCountMax: 2 * sizeOf(a) });
  cache.record([{ type: 'replace', view: a }, { type: 'replace', view: b }]);
  assert.notEqual(await cache.view('a'), null);
  cache.record([{ type: 'replace', view: c }]);
  assert.equal(await cache.view('b'), null);
  for (const request of ['a', 'c']) assert.notEqual(await cache.view(request), null);
  await cache.clear();
  assert.equal(await cache.view('a'), null);
  for (let index = 0; index <= CACHE_PREDICATES_MAX; index += 1) {
    cache.record([{ type: 'predicate', key: `${index}`, bytes: new Uint8Array(1) }]);
    cache.record([{ type: 'predicate', key: '0', bytes: new Uint8Array(1) }]);
  }
  assert.equal(await cache.model(), null);
  cache.record([{ type: 'model', model: { identity: 'i', hash: 'h', bytes: new Uint8Array(1) } }]);
  const keys = (await cache.model()).predicates.map(({ key }) => key);
  assert.deepEqual([keys.length, keys.includes('0'), keys.includes('1')], [CACHE_PREDICATES_MAX, true, false]);
});

test('changes that wait are limited: what is dropped leaves no state that is older than what was shown', () => {
  const unwritten = new UnwrittenChanges();
  const large = frame(1, CACHE_UNWRITTEN_BYTES_MAX / 2);
  assert.ok(unwritten.add({ type: 'replace', view: viewOf('a', 'r', 1, [large]) }));
  assert.ok(!unwritten.add({ type: 'replace', view: viewOf('b', 'r', 1, [large]) }));
  assert.deepEqual(unwritten.views.get('b'), [{ replacement: null, append: null }]);
  const append = { request: 'a', recording: 'r', sequence: 1, base: 1, frames: [large], revision: 2, digest: 'd' };
  assert.ok(!unwritten.add({ type: 'append', append }));
  assert.equal(unwritten.views.get('a')[0].replacement.revision, 1);
});

test('of a batch that could not be written the removals are left, and later changes win', () => {
  const [lost, unwritten] = [new UnwrittenChanges(), new UnwrittenChanges()];
  for (const request of ['a', 'b', 'c']) lost.add({ type: 'replace', view: viewOf(request, 'r', 1, [frame(1)]) });
  lost.add({ type: 'model', model: { hash: 'old' } });
  unwritten.add({ type: 'replace', view: viewOf('a', 's', 2, [frame(2)]) });
  unwritten.add({ type: 'append',
    append: { request: 'b', recording: 'r', sequence: 1, base: 1, frames: [frame(3)], revision: 3, digest: 'd' } });
  unwritten.restore(lost);
  const removal = [{ replacement: null, append: null }];
  assert.equal(unwritten.views.get('a')[0].replacement.recording, 's');
  assert.deepEqual([unwritten.views.get('b'), unwritten.views.get('c')], [removal, removal]);
  assert.equal(unwritten.model.hash, 'old');
});

test('frames are bytes and back, and a checksum belongs to a name', () => {
  const frames = [frame(1, 0), frame(2, 70), { type: 0xb4, body: new Uint8Array(20_000).fill(3) }];
  assert.deepEqual(decodeFrames(encodeFrames(frames)), frames);
  assert.throws(() => decodeFrames(encodeFrames(frames).subarray(0, -1)), { code: 'MALFORMED' });
  const bytes = encodeFrames(frames);
  assert.notEqual(checksum(bytes, 'a'), checksum(bytes, 'b'));
  assert.notEqual(checksum(bytes, 'a'), checksum(bytes.map((byte, index) => (index === 40 ? byte ^ 4 : byte)), 'a'));
});
