// What /history decides without a page: lines of undo entries, pages that meet, counts of objects, words.

import assert from 'node:assert/strict';
import test from 'node:test';
import './modules.js';
import { Random } from '../../Clients/js/test/live/random.js';
import { Counts, COUNTED_MAX, LISTED_MAX, readChanges } from '../history/changes.js';
import { HistoryLog } from '../history/log.js';
import { adviceText, conflictText, effectText, kindText } from '../history/words.js';

const SEEDS = Array.from({ length: 50 }, (_, index) => index + 1);

/** A history of transactions, newest first, some of which share an undo entry. */
function historyOf(random, length) {
  const entries = [];
  let first = 1;
  for (let revision = 1; revision <= length; revision += 1) {
    if (random.below(3) > 0) first = revision;
    const entry = random.below(8) === 0 ? null : first;
    entries.unshift({ revision, entry, isBlocked: random.below(10) === 0, name: `n${revision}` });
  }
  return entries;
}

/** The same lines by the simplest means. */
function foldedSlowly(entries) {
  const firsts = [...new Set(entries.map((one) => one.entry ?? one.revision))];
  return firsts.map((first) => {
    const all = entries.filter((one) => (one.entry ?? one.revision) === first);
    const isBlocked = all.some((one) => one.isBlocked);
    return { entry: all[0], first, revisions: all.map(({ revision }) => revision), isBlocked };
  });
}

test('pages in any order give the lines of the whole history', () => {
  for (const seed of SEEDS) {
    const random = new Random(seed);
    const all = historyOf(random, 40);
    const log = new HistoryLog();
    let before = 15;
    // The newest page comes while older ones are being read, and again with what has been written meanwhile.
    const older = () => {
      const page = all.filter(({ revision }) => revision < before).slice(0, 1 + random.below(6));
      before = page.at(-1)?.revision ?? before;
      log.addOlder(page);
    };
    log.addNewest(all.filter(({ revision }) => revision < 20).slice(0, 5));
    for (let newest = 20; newest <= 40; newest += 1 + random.below(4)) {
      if (random.below(2) === 0) older();
      const met = log.addNewest(all.filter(({ revision }) => revision <= newest).slice(0, 10));
      assert.ok(met, `seed ${seed}`);
    }
    assert.ok(log.addNewest(all.slice(0, 10)));
    while (!log.isWhole) older();
    assert.deepEqual(log.lines, foldedSlowly(all), `seed ${seed}`);
    const one = all[random.below(40)];
    assert.equal(log.entry(one.revision), one);
    assert.ok(log.lineOf(one.revision).revisions.includes(one.revision));
  }
});

test('a page that does not meet what is known says so, and the old rest can be dropped', () => {
  const all = historyOf(new Random(7), 60).map((one) => ({ ...one, entry: null }));
  const log = new HistoryLog();
  assert.equal(log.addNewest(all.slice(50)), true);
  assert.equal(log.addNewest(all.slice(0, 10)), false);
  log.dropBefore(all[9].revision);
  assert.deepEqual(log.lines.map(({ first }) => first), all.slice(0, 10).map(({ revision }) => revision));
  assert.deepEqual([log.isWhole, log.oldest], [false, all[9].revision]);
});

/** A client with change sets: `{ revision: number of objects }`; those up to `dropped` are gone from the journal. */
function clientOf(sets, dropped = 0, partSize = 1_000) {
  const feeds = [];
  const newest = Math.max(...Object.keys(sets).map(Number));
  const nest = {
    server: { historyID: 'h', oldestRevision: 0 },
    changes({ since }) {
      const feed = { isClosed: false, close: async () => { feed.isClosed = true; } };
      feeds.push(feed);
      feed[Symbol.asyncIterator] = async function* events() {
        if (since.revision < dropped) throw Object.assign(new Error('dropped'), { code: 'REVISION_DROPPED' });
        yield { type: 'following' };
        for (let revision = since.revision + 1; revision <= newest; revision += 1) {
          let left = sets[revision] ?? 0;
          while (left > 0 && !feed.isClosed) {
            const part = Math.min(left, partSize);
            left -= part;
            const objects = Array.from({ length: part }, (_, index) => ({ change: 'inserted', id: index + 1 }));
            yield { type: 'changes', revision, isLast: left === 0, objects };
          }
        }
        yield { type: 'progress', revision: newest };
        // A feed goes on until it is closed.
        while (!feed.isClosed) await new Promise((resolve) => { setImmediate(resolve); });
      };
      return feed;
    },
  };
  return { nest, feeds };
}

test('what transactions changed is read from parts, within bounds, and the feed ends', async () => {
  const { nest, feeds } = clientOf({ 1: 3, 2: 2_500, 4: 1 });
  const seen = [];
  await readChanges(nest, 1, 4, (revision, sum) => seen.push([revision, sum.inserted, sum.objects.length, sum.isMore]));
  assert.deepEqual(seen, [[1, 3, 3, false], [2, 2_500, LISTED_MAX, false], [4, 1, 1, false]]);
  const large = clientOf({ 1: COUNTED_MAX + 5_000 });
  const sums = [];
  await readChanges(large.nest, 1, 1, (_, sum) => sums.push(sum));
  assert.equal(sums[0].isMore, true);
  assert.ok(sums[0].inserted <= COUNTED_MAX + 1_000);
  for (const feed of [...feeds, ...large.feeds]) assert.equal(feed.isClosed, true);
});

test('counts are read once for what is drawn, and end where the journal does', async () => {
  const { nest, feeds } = clientOf({ 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8 }, 3);
  let changed = 0;
  const counts = new Counts(nest, () => { changed += 1; });
  for (const revision of [1, 2, 3, 4, 5, 6, 7, 8]) counts.want([revision]);
  assert.equal(counts.of(5), null);
  const all = [1, 2, 3, 4, 5, 6, 7, 8];
  while (all.some((revision) => counts.of(revision) === null)) {
    counts.want(all);
    await new Promise((resolve) => { setImmediate(resolve); });
  }
  assert.ok(changed > 0);
  for (const revision of [1, 2, 3]) assert.equal(counts.of(revision), undefined);
  for (const revision of [4, 5, 6, 7, 8]) assert.deepEqual(counts.of(revision), { total: revision, isMore: false });
  counts.close();
  const before = feeds.length;
  counts.want([5, 6]);
  assert.equal(feeds.length, before);
});

test('conflicts, effects and kinds have words', () => {
  const conflict = (reason, more = {}) => conflictText({
    reason, entity: 'Item', object: 4, property: null, revision: 7, sessionNumber: 2, label: 'Milk', user: null,
    ...more,
  });
  assert.deepEqual(conflict('edited', { property: 'title', user: 'Bo', userClaimed: true }),
    { text: 'title of “Milk” stays: changed by ~Bo in revision 7', isLoss: false });
  assert.deepEqual(conflict('lost'), { text: '“Milk” is deleted: changed by session 2 in revision 7', isLoss: true });
  assert.equal(conflict('overwritten', { property: 'title' }).isLoss, true);
  assert.equal(conflict('deleted', { label: '', revision: null, sessionNumber: null }).text,
    'Item #4 is gone: deleted');
  // The protocol may add reasons.
  assert.equal(conflict('other').text, '“Milk”: other by session 2 in revision 7');
  assert.equal(effectText({ insertedCount: 1, updatedCount: 2, deletedCount: 0 }),
    '1 object comes back, 2 objects change.');
  assert.equal(effectText({ insertedCount: 0, updatedCount: 0, deletedCount: 0 }), 'Nothing would change.');
  assert.deepEqual([kindText({ kind: 'write', reverted: null }), kindText({ kind: 'undo', reverted: 9 })],
    ['', 'undo of 9']);
  assert.equal(adviceText({ code: 'NOT_FOUND' }), null);
  assert.match(adviceText({ code: 'OWNER_GONE' }), /elsewhere/);
});
