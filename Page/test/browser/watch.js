// What every frame of the explorer's table or of an outline shows to a person who writes: its rows, and where the
// keyboard is. A page samples itself before each frame; `checkWatched` looks at the samples.

import assert from 'node:assert/strict';

/** Samples that a failure prints before the one that is wrong. */
const BEFORE = 12;

/**
 * Runs in the page before its own code. Notes the rows of each frame, if they are not those of the last one, and each
 * time that the field with the keyboard changed without a key or the mouse.
 */
export const watcher = `(${() => {
  const watched = { frames: 0, samples: [], moves: [] };
  window.watched_ = watched;
  let acts = 0;
  // A dialog that closes gives the keyboard back: it was an act that closed it.
  const ACTS = ['keydown', 'keyup', 'beforeinput', 'input', 'paste', 'mousedown', 'mouseup', 'click', 'close'];
  for (const type of ACTS) addEventListener(type, () => { acts += 1; }, true);
  // The field of an outline lies over its row, which may be on its way: the text says which one it is.
  const rowOf = (field) => field.closest('[data-id]')?.dataset.id ?? 'the outline';
  const look = () => {
    requestAnimationFrame(look);
    watched.frames += 1;
    const rows = [...document.querySelectorAll('.runway [data-id], [role=treegrid] [role=row][data-key]')];
    const sample = rows.map((row) => {
      const shown = row.querySelector('.editing') ? null : row.querySelector('.title') ? window.titleOf(row)
        : row.children[1].textContent;
      return { key: row.dataset.key ?? row.dataset.id, id: row.dataset.id, name: shown };
    });
    const last = watched.samples.at(-1);
    if (JSON.stringify(sample) !== JSON.stringify(last)) watched.samples.push(sample);
    const { activeElement: field } = document;
    const isField = field?.matches('textarea, input');
    const now = isField ? {
      acts, field, isBusy: field.ariaBusy === 'true', row: rowOf(field), start: field.selectionStart,
      end: field.selectionEnd, value: field.value,
    } : null;
    const before = watched.before;
    watched.before = now;
    // A busy field says that the caret will go where an earlier act sends it, when the server has answered.
    if (!before || before.isBusy || before.acts !== acts) return;
    const words = (one) => one && `${one.row} “${one.value}” at ${one.start} to ${one.end}`;
    if (now?.field !== before.field || words(now) !== words(before)) watched.moves.push([words(before), words(now)]);
  };
  requestAnimationFrame(look);
}})();`;

/**
 * Checks what a page has sampled: no key twice in a frame, no name twice, and none that comes more often than
 * `births(id)` says. `isShared`: others write in the same rows, so only the first of this holds. `isFolded`: others may
 * put their rows below folded ones, and take them out: only rows with the name of this person do not return. Returns how
 * many frames and different samples there were.
 */
export async function checkWatched(page, births, { isShared = false, isFolded = false } = {}) {
  const { frames, samples, moves } = await page.evaluate(() => {
    const { frames, samples, moves } = window.watched_;
    return { frames, samples, moves };
  });
  // A row that is not stored yet has a key that stays, and gets its id later.
  const ids = new Map(samples.flat().filter(({ id }) => id).map(({ key, id }) => [key, Number(id)]));
  const own = new Set(samples.flat().filter(({ name }) => name?.startsWith(`${page.name} `)).map(({ key }) => key));
  const comings = new Map();
  let before = new Set();
  for (const [at, sample] of samples.entries()) {
    const words = samples.slice(Math.max(0, at - BEFORE), at + 1).map((one) =>
      one.map(({ key, id, name }) => `${key}${id ? '' : '*'} ${name}`).join(', '));
    const where = `in ${page.name}'s page, sample ${at} of ${samples.length}:\n${words.join('\n')}`;
    const keys = sample.map(({ key }) => key);
    assert.equal(new Set(keys).size, keys.length, `a row twice ${where}`);
    if (isShared) continue;
    // Of a row that was split only letters may be left, when its number is taken back.
    const names = sample.map(({ name }) => name).filter((name) => name?.includes(' '));
    assert.equal(new Set(names).size, names.length, `two rows of one name ${where}`);
    const now = new Set(keys);
    for (const key of now) {
      if (before.has(key) || (isFolded && !own.has(key))) continue;
      comings.set(key, (comings.get(key) ?? 0) + 1);
      assert.ok(comings.get(key) <= births(ids.get(key) ?? Number(key)), `row ${key} returns ${where}`);
    }
    before = now;
  }
  if (!isShared) assert.deepEqual(moves, [], `the keyboard moved by itself in ${page.name}'s page`);
  return { frames, samples: samples.length };
}
