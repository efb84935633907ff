// Own writes in an outline, with a server that the test plays: fold states that it has not confirmed, and rows that only
// leave the window.

import assert from 'node:assert/strict';
import test, { afterEach } from 'node:test';
import { optimistic } from '../../optimistic.js';
import { digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { Reference } from '../../wire/values.js';
import { Page, turn } from '../machine/page.js';
import { VIEW } from '../machine/server.js';

const open = [];
afterEach(() => {
  for (const nest of open.splice(0)) nest.close();
});

/** What the client asks for: the entity, the title, the parent, the children and the depth. */
const PROJECTION = [0, 1, 10, 65534, 65535];
const row = (id, title, children, depth, parent = 1) =>
  ({ id, values: [1, title, new Reference(parent), children, depth] });
/** Row 2 has no children; row 3 has two that are folded. */
const FIRST = [row(2, 'Milk', -1, 0), row(3, 'Eggs', -3, 0), row(4, 'Soy', -1, 0)];
const position = (total) => ({ total, sectionTotal: 1, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null });
const digestOf = (rows) => digest([{ ...sectionKey(''), rows }]);

/** An outline with these rows, and what it says. */
async function world({ limit = 100, expand = 'none', total = FIRST.length } = {}) {
  const page = new Page();
  const nest = await page.connect();
  open.push(nest);
  const local = optimistic(nest);
  const reserve = await page.next('reserve');
  page.reply('reserved', { first: 100, count: reserve.fields.count }, reserve.id);
  const items = await nest.entity('Item');
  const outline = await local.outline(items.children(1).properties('title').window(0, limit), { expand });
  const changes = [];
  outline.subscribe((change) => changes.push(change));
  const { id, fields } = await page.next('subscribe');
  assert.deepEqual(fields.request.projection, PROJECTION);
  page.reply('subscribed', { view: VIEW, first: 'snapshot', revision: 0, reason: '', projection: PROJECTION }, id);
  page.reply('snapshot', {
    reason: 'first', revision: 5, digest: digestOf(FIRST), sectionCount: 1,
    sections: [{ key: '', rowCount: FIRST.length }], position: position(total),
  }, VIEW, 1);
  page.reply('snapshotRows', { rows: FIRST }, VIEW);
  await turn();
  changes.length = 0;
  const shown = () => outline.state.rows.map(({ title, depth, isExpanded, children }) =>
    `${'.'.repeat(depth)}${title}${children > 0 ? (isExpanded ? '-' : '+') : ''}`).join(' ');
  const below = (owner) => local.transaction('move', (tx) => tx.move(items, 4, { of: owner, as: 'parent' }));
  return { page, local, items, outline, changes, shown, below };
}

test('a row without children that is unfolded shows what is put below it, before the server has confirmed that', async () => {
  const { page, outline, shown, below } = await world();
  assert.equal(shown(), 'Milk Eggs+ Soy');
  const unfolded = outline.setExpanded(2, true);
  below(2);
  await turn();
  assert.equal(shown(), 'Milk- .Soy Eggs+');
  const { id, fields } = await page.next('setExpanded');
  assert.deepEqual(fields.states, [{ object: 2, isExpanded: true }]);
  page.error('LIMIT_EXCEEDED', id);
  await assert.rejects(unfolded, { code: 'LIMIT_EXCEEDED' });
  await turn();
  assert.equal(shown(), 'Milk+ Eggs+');
});

test('rows below a folded row come from the server, and until then none show', async () => {
  const { page, outline, shown, below } = await world();
  const unfolded = outline.setExpanded([3], true);
  below(3);
  await turn();
  assert.equal(shown(), 'Milk Eggs+');
  page.error('LIMIT_EXCEEDED', (await page.next('setExpanded')).id);
  await assert.rejects(unfolded, { code: 'LIMIT_EXCEEDED' });
});

test('of fold states that wait, the last one counts', async () => {
  const { outline, shown, below } = await world();
  const calls = [true, false, true].map((isExpanded) => outline.setExpanded(2, isExpanded));
  below(2);
  await turn();
  assert.equal(shown(), 'Milk- .Soy Eggs+');
  for (const call of calls) call.catch(() => {});
  await assert.rejects(outline.setExpanded(2), { code: 'INVALID' });
});

test('a row that leaves the window is not gone, and one that is deleted is', async () => {
  const { page, changes, shown } = await world({ limit: 3 });
  const rows = [row(9, 'Bread', -1, 0), FIRST[0], FIRST[2]];
  page.reply('diff', {
    from: 5, to: 6, total: 3, digest: digestOf(rows), deletedSections: [], insertedSections: [],
    deletedRows: [{ at: [0, 1], id: 3, reason: 'outOfWindow' }], moves: [], updates: [],
    insertedRows: [{ at: [0, 0], id: 9, values: rows[0].values }], position: position(4),
  }, VIEW);
  await turn();
  assert.equal(shown(), 'Bread Milk Soy');
  assert.deepEqual(changes.map(({ type, diff }) => [type, diff.deletedRows.map(({ id, reason }) => [id, reason])]),
    [['diff', [[3, 'outOfWindow']]]]);
  page.reply('diff', {
    from: 6, to: 7, total: 2, digest: digestOf(rows.slice(1)), deletedSections: [], insertedSections: [],
    deletedRows: [{ at: [0, 0], id: 9, reason: 'deleted' }], moves: [], updates: [], insertedRows: [],
    position: position(2),
  }, VIEW);
  await turn();
  assert.deepEqual(changes.at(-1).diff.deletedRows.map(({ id, reason }) => [id, reason]), [[9, 'deleted']]);
});

/** An outline whose row 2 is being unfolded, with row 4 put below it; the server has the write, and not the fold. */
async function unfolding({ isTakenOut = false } = {}) {
  const made = await world();
  const { page, outline, shown, below } = made;
  const unfolded = outline.setExpanded(2, true);
  below(2);
  await turn();
  assert.equal(shown(), 'Milk- .Soy Eggs+');
  if (isTakenOut) below(1);
  await turn();
  const titles = isTakenOut ? 'Milk Eggs+ Soy' : 'Milk- .Soy Eggs+';
  assert.equal(shown(), titles);
  const fold = await page.next('setExpanded');
  const write = await page.next('transaction');
  const push = (from, to, rows, { deletedRows = [], insertedRows = [], updates = [] }) => page.reply('diff', {
    from, to, total: rows.length, digest: digestOf(rows), deletedSections: [], insertedSections: [], deletedRows, moves: [],
    updates, insertedRows, position: position(rows.length),
  }, VIEW);
  // The write came first: Milk has a row below it, which is folded.
  push(5, 6, [row(2, 'Milk', -2, 0), FIRST[1]], { deletedRows: [{ at: [0, 2], id: 4, reason: 'unmatched' }],
    updates: [{ at: [0, 0], values: [{ property: 65534, value: -2 }] }] });
  page.reply('receipt', { revision: 6, isChanged: true, isReplayed: false, results: [], name: 'move' }, write.id);
  await turn();
  assert.equal(shown(), titles);
  const open = [row(2, 'Milk', 1, 0), row(4, 'Soy', -1, 1, 2), FIRST[1]];
  const unfold = () => push(6, 6, open, { insertedRows: [{ at: [0, 1], id: 4, values: open[1].values }],
    updates: [{ at: [0, 0], values: [{ property: 65534, value: 1 }] }] });
  return { ...made, push, fold, unfolded, unfold };
}

test('what was put below an unfolded row stays while the server has the row still folded', async () => {
  const { page, outline, shown, fold, unfolded, unfold } = await unfolding();
  unfold();
  page.reply('done', {}, fold.id);
  assert.equal(await unfolded, true);
  await turn();
  assert.equal(shown(), 'Milk- .Soy Eggs+');
  assert.equal(outline.revision, 6);
});

test('it stays also if the answer comes before the rows', async () => {
  const { page, outline, shown, fold, unfolded, unfold, changes } = await unfolding();
  changes.length = 0;
  page.reply('done', {}, fold.id);
  assert.equal(await unfolded, true);
  await turn();
  assert.equal(shown(), 'Milk- .Soy Eggs+');
  unfold();
  await turn();
  assert.equal(shown(), 'Milk- .Soy Eggs+');
  assert.equal(outline.revision, 6);
  assert.deepEqual(changes.flatMap(({ diff }) => diff?.deletedRows ?? []), []);
});

test('a row that was taken out again stays while the server has it below a folded row', async () => {
  const { page, outline, shown, fold, unfolded, unfold } = await unfolding({ isTakenOut: true });
  page.reply('done', {}, fold.id);
  assert.equal(await unfolded, true);
  await turn();
  assert.equal(shown(), 'Milk Eggs+ Soy');
  unfold();
  await turn();
  assert.equal(shown(), 'Milk Eggs+ Soy');
  assert.equal(outline.revision, 6);
});

test('a state that has waited as long as it may is the last that waits, also if it was not shown yet', async (context) => {
  const { setTimeout } = globalThis;
  /** The timers of a second or more: the test ends them. */
  const timers = [];
  context.after(() => { globalThis.setTimeout = setTimeout; });
  globalThis.setTimeout = (end, time, ...rest) => (time < 1_000 ? setTimeout(end, time, ...rest)
    : timers[timers.push({ end, time }) - 1]);
  const { page, local, shown, push, fold, unfolded } = await unfolding();
  const [wait] = timers.filter(({ time }) => time === 2_000);
  // Lists wait for an undo: what is let go is not shown.
  const { done } = local.undo();
  const { id } = await page.next('undo');
  wait.end();
  await turn();
  assert.equal(shown(), 'Milk- .Soy Eggs+');
  push(6, 7, [row(2, 'Milk', -2, 0), row(3, 'Ham', -3, 0)],
    { updates: [{ at: [0, 1], values: [{ property: 1, value: 'Ham' }] }] });
  await turn();
  page.error('LIMIT_EXCEEDED', id);
  await assert.rejects(done, { code: 'LIMIT_EXCEEDED' });
  await turn();
  assert.equal(shown(), 'Milk+ Ham+');
  page.reply('done', {}, fold.id);
  await unfolded;
});

test('it goes when the server refuses to unfold the row', async () => {
  const { page, shown, fold, unfolded } = await unfolding();
  page.error('LIMIT_EXCEEDED', fold.id);
  await assert.rejects(unfolded, { code: 'LIMIT_EXCEEDED' });
  await turn();
  assert.equal(shown(), 'Milk+ Eggs+');
});

test('what was put below a row that is folded now does not come while the server has the row still unfolded', async () => {
  const { page, local, items, outline, shown, changes } = await world({ expand: 'all' });
  local.transaction('put', (tx) => tx.insert(items, { title: 'Oat' }, { of: 2, as: 'parent' }));
  await turn();
  changes.length = 0;
  const folded = outline.setExpanded(2, false);
  await turn();
  assert.equal(shown(), 'Milk+ Eggs+ Soy');
  const fold = await page.next('setExpanded');
  const write = await page.next('transaction');
  const rows = [row(2, 'Milk', 1, 0), row(100, 'Oat', -1, 1, 2), ...FIRST.slice(1)];
  page.reply('diff', {
    from: 5, to: 6, total: 4, digest: digestOf(rows), deletedSections: [], insertedSections: [], deletedRows: [], moves: [],
    updates: [{ at: [0, 0], values: [{ property: 65534, value: 1 }] }],
    insertedRows: [{ at: [0, 1], id: 100, values: rows[1].values }], position: position(4),
  }, VIEW);
  page.reply('receipt', { revision: 6, isChanged: true, isReplayed: false, results: [], name: 'put' }, write.id);
  await turn();
  const later = [row(2, 'Milk', -2, 0), ...FIRST.slice(1)];
  page.reply('diff', {
    from: 6, to: 6, total: 3, digest: digestOf(later), deletedSections: [], insertedSections: [],
    deletedRows: [{ at: [0, 1], id: 100, reason: 'unmatched' }], moves: [], insertedRows: [],
    updates: [{ at: [0, 0], values: [{ property: 65534, value: -2 }] }], position: position(3),
  }, VIEW);
  page.reply('done', {}, fold.id);
  await folded;
  await turn();
  assert.equal(shown(), 'Milk+ Eggs+ Soy');
  assert.equal(outline.revision, 6);
  assert.deepEqual(changes.flatMap(({ diff }) => diff?.insertedRows ?? []), []);
});
