// The checks of the tests in Chromium find what they look for: a row twice, and a row that does not exist.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFrames } from './browser/frames.js';
import { Lives } from './browser/lives.js';

/** A page that has sampled this. */
const page = (samples) => ({ name: 'Ann', evaluate: () => Promise.resolve({ count: samples.length, samples }) });

/** Objects 2 and 3: 2 is deleted at revision 5, and an undo brings it back at 7. */
function lives() {
  const known = new Lives();
  for (const [kind, id, revision] of [['inserted', 2, 1], ['inserted', 3, 1], ['updated', 3, 2], ['deleted', 2, 5],
    ['inserted', 2, 7]]) known.note(kind, id, revision);
  known.revision = 9;
  return known;
}

test('objects exist from their insertion to their deletion', () => {
  const known = lives();
  assert.deepEqual([0, 1, 4, 5, 6, 7, 9].map((revision) => known.has(2, revision)),
    [false, true, true, false, false, true, true]);
  assert.equal(known.has(1, 0), true, 'the root is older than the feed');
});

test('frames that are right are counted', async () => {
  const samples = [{ revision: 4, ids: [2, 3] }, { revision: 5, ids: [3] }, { revision: 8, ids: [3, 2] }];
  assert.deepEqual(await checkFrames(page(samples), lives()), { count: 3, samples: 3 });
});

test('a row twice, and a ghost, are found', async () => {
  await assert.rejects(checkFrames(page([{ revision: 4, ids: [3, 2, 3] }]), lives()), /a row twice/);
  await assert.rejects(checkFrames(page([{ revision: 6, ids: [2, 3] }]), lives()), /what does not exist/);
});
