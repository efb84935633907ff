// What every frame of an outline shows. A page samples itself before each frame; the test takes the samples and compares
// them with what existed at the revision that the page said it showed.

import assert from 'node:assert/strict';

/** Runs in the page before its own code: notes which rows each frame shows, if that is not what the last one showed. */
export const sampler = `(${() => {
  const frames = { count: 0, samples: [] };
  window.frames_ = frames;
  let last = '';
  const look = () => {
    requestAnimationFrame(look);
    const grid = document.querySelector('[role=treegrid]');
    const { revision } = document.body.dataset;
    if (!grid || !revision) return;
    frames.count += 1;
    const ids = [...grid.querySelectorAll('[role=row][data-id]')].map((row) => Number(row.dataset.id));
    const sample = `${revision}: ${ids.join(' ')}`;
    if (sample === last) return;
    last = sample;
    frames.samples.push({ revision: Number(revision), ids });
  };
  requestAnimationFrame(look);
}})();`;

/** Checks the frames of a page since the last call. `lives`: what exists at which revision. Returns how many there were. */
export async function checkFrames(page, lives) {
  const { count, samples } = await page.evaluate(() => {
    const { frames_: frames } = window;
    return { count: frames.count, samples: frames.samples.splice(0) };
  });
  const newest = Math.max(0, ...samples.map(({ revision }) => revision));
  await lives.reach(newest);
  for (const { revision, ids } of samples) {
    assert.equal(new Set(ids).size, ids.length, `a row twice in ${page.name}'s page at revision ${revision}: ${ids}`);
    const ghosts = ids.filter((id) => !lives.has(id, revision));
    assert.deepEqual(ghosts, [], `${page.name}'s page shows at revision ${revision} what does not exist then`);
  }
  return { count, samples: samples.length };
}
