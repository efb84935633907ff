// Outlines as a program uses them, with a server that the test plays.

import assert from 'node:assert/strict';
import test, { afterEach } from 'node:test';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { digest } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import '../../client/inspect.js';
import { differenceOf } from '../machine/outline-server.js';
import { Page, turn } from '../machine/page.js';
import { VIEW } from '../machine/server.js';

const open = [];
afterEach(() => {
  for (const nest of open.splice(0)) nest.close();
});

async function world() {
  const page = new Page();
  const nest = await page.connect();
  open.push(nest);
  return { page, nest, items: await nest.entity('Item') };
}

const row = (id, title, children, depth) => ({ id, values: [title, children, depth] });
const FIRST = [row(2, 'Milk', 1, 0), row(4, 'Soy', -1, 1), row(3, 'Eggs', -3, 0)];
const position = (total, start = 0, anchor = null) =>
  ({ total, sectionTotal: 1, start: { row: start, section: 0, rowInSection: start }, anchor });
const digestOf = (rows) => digest([{ ...sectionKey(''), rows }]);

/** Answers the next SUBSCRIBE with rows. */
async function begin(page, rows = FIRST, at = position(rows.length)) {
  const { id, fields } = await page.next('subscribe');
  page.reply('subscribed', { view: VIEW, first: 'snapshot', revision: 0, reason: '', projection: [1, 65534, 65535] }, id);
  page.reply('snapshot', {
    reason: 'first', revision: 5, digest: digestOf(rows), sectionCount: 1, sections: [{ key: '', rowCount: rows.length }],
    position: at,
  }, VIEW, 1);
  page.reply('snapshotRows', { rows }, VIEW);
  await turn();
  return fields.request;
}

/** Sends the difference to other rows, with the same revision. */
function differ(page, before, rows, view = VIEW) {
  page.reply('diff', {
    from: 5, to: 5, total: rows.length, digest: digestOf(rows), deletedSections: [], insertedSections: [],
    ...differenceOf(before, rows), position: position(rows.length),
  }, view);
}

const titled = (items) => items.children(1).properties('title');

test('rows have a depth, a number of children and a state; they are frozen, and kept where nothing changes', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(titled(items), { expand: 'done', except: [{ id: 7 }, 5, 7] });
  assert.deepEqual([outline.status, outline.state.rows.length, outline.state.under], ['connecting', 0, 1]);
  const changes = [];
  outline.subscribe((change) => changes.push(change));
  const request = await begin(page);
  assert.deepEqual(request.projection, [1, 65534, 65535]);
  assert.deepEqual(request.outline, { expansion: { attribute: 2 }, exceptions: [5, 7] });
  assert.deepEqual(request.window, { offset: 0, limit: 100 });
  const { state } = outline;
  assert.deepEqual(state.rows.map(({ title, depth, children, isExpanded, hasChildren }) =>
    [title, depth, children, isExpanded, hasChildren]), [
    ['Milk', 0, 1, true, true], ['Soy', 1, 0, false, false], ['Eggs', 0, 2, false, true]]);
  assert.deepEqual([state.names, state.rows[0].values], [['title'], ['Milk']]);
  assert.deepEqual(JSON.parse(JSON.stringify(state.rows[2])),
    { title: 'Eggs', id: 3, depth: 0, children: 2, isExpanded: false });
  assert.match(inspect(state), /Eggs/);
  assert.ok(Object.isFrozen(state) && Object.isFrozen(state.rows) && state.rows.every(Object.isFrozen));
  assert.throws(() => { state.rows[0].depth = 3; }, TypeError);
  assert.deepEqual([state.indexOf(3), state.indexOf(state.rows[1]), state.indexOf(9), state.indexOf(null)], [2, 1, -1, -1]);
  assert.deepEqual([0, 1, 2].map((index) => state.parentIndex(index)), [-1, 0, -1]);
  assert.deepEqual([0, 1, 2].map((index) => state.subtreeEnd(index)), [2, 2, 3]);

  const unfolded = outline.setExpanded(state.rows[2], true);
  const { id, fields } = await page.next('setExpanded');
  assert.deepEqual(fields, { view: VIEW, states: [{ object: 3, isExpanded: true }] });
  const after = [FIRST[0], FIRST[1], row(3, 'Eggs', 2, 0), row(5, 'Six', -1, 1), row(6, 'Ten', -1, 1)];
  differ(page, FIRST, after);
  page.reply('done', {}, id);
  assert.equal(await unfolded, true);
  assert.deepEqual(outline.state.rows.map(({ depth }) => depth), [0, 1, 0, 1, 1]);
  assert.equal(outline.state.rows[0], state.rows[0], 'a row that did not change stays the same object');
  assert.equal(state.rows.length, 3);
  const { type, runs, diff } = changes.at(-1);
  assert.deepEqual([type, runs], ['diff', [{ kind: 'inserted', from: null, to: 3, count: 2 }]]);
  assert.ok(Object.isFrozen(runs) && Object.isFrozen(runs[0]));
  assert.equal(diff.updates.length, 1);
});

test('a row is read by its own names, whatever attributes the entity has', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(items.children(1).properties('title', 'depth', 'children.@count'));
  const { id } = await page.next('subscribe');
  const projection = [1, 7, 65280, 65534, 65535];
  page.reply('subscribed', { view: VIEW, first: 'snapshot', revision: 0, reason: '', projection }, id);
  const rows = [{ id: 2, values: ['Milk', 99, 3, -3, 0] }];
  page.reply('snapshot', {
    reason: 'first', revision: 5, digest: digestOf(rows), sectionCount: 1, sections: [{ key: '', rowCount: 1 }],
    position: position(1),
  }, VIEW, 1);
  page.reply('snapshotRows', { rows }, VIEW);
  await turn();
  const [first] = outline.state.rows;
  assert.deepEqual([first.depth, first.get('depth'), first.children, first.get('children.@count')], [0, 99, 2, 3]);
});

test('a loop gets every change, and ends with the outline', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(titled(items));
  const seen = [];
  const loop = (async () => {
    for await (const change of outline) seen.push([change.type, change.state.rows.length]);
  })();
  await begin(page);
  differ(page, FIRST, FIRST.slice(0, 2));
  await turn();
  await turn();
  outline.close();
  await loop;
  assert.deepEqual(seen, [['snapshot', 3], ['diff', 2]]);
  assert.equal(await outline.setExpanded(2, false), false);
  assert.equal(await outline.zoom(3), false);
  const other = await nest.outline(titled(items));
  nest.close();
  assert.equal(other.status, 'ended');
  assert.equal((await nest.outline(titled(items))).status, 'ended');
});

test('zoom, scroll and change ask for one difference each, in the order of the calls', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(titled(items).window(10, 30));
  await begin(page);
  const answer = async (expected) => {
    const { id, fields: { request } } = await page.next('resubscribe');
    assert.deepEqual(request.outline, expected.outline ?? { expansion: 'asBefore', exceptions: [] });
    assert.deepEqual([request.source, request.window], [{ object: expected.under ?? 1, relationship: 11 }, expected.window]);
    assert.deepEqual(request.predicate && [...request.predicate], expected.predicate ?? null);
    const view = VIEW + 1 + id;
    page.reply('subscribed', { view, first: 'difference', revision: 5, reason: '', projection: [1, 65534, 65535] }, id);
    differ(page, FIRST, FIRST, view);
    await turn();
  };
  const scroll = outline.scroll({ offset: 40 });
  await answer({ window: { offset: 40, limit: 30 } });
  assert.equal(await scroll, true);
  outline.scroll({ around: FIRST[2] });
  await answer({ window: { anchor: 3, before: 14, after: 15 } });
  outline.scroll({ around: 3, before: 2, after: 7 });
  await answer({ window: { anchor: 3, before: 2, after: 7 } });
  outline.zoom(3);
  await answer({ under: 3, window: { offset: 0, limit: 10 } });
  assert.equal(outline.state.under, 3);
  // The second does not overtake the first, whose predicate has to be parsed.
  const first = outline.change({ where: 'done == NO', expand: 'done' });
  const second = outline.change({ where: null });
  const { id } = await page.next('parsePredicate');
  page.reply('predicate', { predicate: Uint8Array.of(1, 0) }, id);
  const outlineOfBoth = { expansion: { attribute: 2 }, exceptions: [] };
  await answer({ under: 3, window: { offset: 0, limit: 10 }, predicate: [1, 0], outline: outlineOfBoth });
  assert.equal(await first, true);
  await answer({ under: 3, window: { offset: 0, limit: 10 } });
  assert.equal(await second, true);
  assert.deepEqual(outline.request.predicates, []);
});

test('a fold does not overtake the changes before it, whose predicate is being parsed', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(titled(items));
  await begin(page);
  const calls = [outline.setExpanded(4, true), outline.change({ where: 'done == NO' }), outline.expandAll(),
    outline.setExpanded(3, false)];
  const first = await page.next('setExpanded');
  assert.deepEqual(first.fields.states, [{ object: 4, isExpanded: true }]);
  page.reply('done', {}, first.id);
  await turn();
  const parse = await page.next('parsePredicate');
  assert.deepEqual(page.sent, []);
  page.reply('predicate', { predicate: Uint8Array.of(1, 0) }, parse.id);
  const expansions = [];
  for (let left = 2; left > 0; left -= 1) {
    await turn();
    const next = page.sent.findIndex(({ name }) => name === 'resubscribe');
    if (next < 0) break;
    const { id, fields: { request } } = page.sent.splice(next, 1)[0];
    expansions.push(request.outline.expansion);
    const view = VIEW + 1 + id;
    page.reply('subscribed', { view, first: 'difference', revision: 5, reason: '', projection: [1, 65534, 65535] }, id);
    differ(page, FIRST, FIRST, view);
  }
  assert.equal(expansions.at(-1), 'all');
  const last = await page.next('setExpanded');
  assert.deepEqual(last.fields.states, [{ object: 3, isExpanded: false }]);
  page.reply('done', {}, last.id);
  assert.deepEqual(await Promise.all(calls), [true, true, true, true]);
  assert.deepEqual(outline.folds.except, [3]);
});

test('a call that has ended is not kept by its outline', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(titled(items));
  await begin(page);
  const asked = [];
  for (let number = 0; number < 3; number += 1) {
    const change = { number };
    asked.push(new WeakRef(change));
    const call = outline.ask(Promise.resolve(change), (_, { number: given }, waiting) => waiting.resolve(given === number));
    assert.equal(await call, true);
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  await turn();
  collect();
  // The newest may still be on the stack.
  assert.deepEqual(asked.slice(0, -1).map((each) => each.deref()), [undefined, undefined]);
  // One that waits ends with the outline.
  const waiting = outline.ask(new Promise(() => {}), () => assert.fail('it never begins'));
  outline.close();
  assert.equal(await waiting, false);
});

test('everything unfolds and folds in one step, with exceptions', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(titled(items), { except: [4] });
  await begin(page);
  assert.deepEqual(outline.folds.except, [4]);
  for (const [call, expansion, exceptions] of [
    [() => outline.expandAll(), 'all', []], [() => outline.foldAll(), 'none', []],
    [() => outline.change({ expand: 'all', except: new Set([5, 3]) }), 'all', [3, 5]],
  ]) {
    const done = call();
    const { id, fields } = await page.next('resubscribe');
    assert.deepEqual(fields.request.outline, { expansion, exceptions });
    page.reply('subscribed', { view: VIEW + id, first: 'difference', revision: 5, reason: '', projection: [1, 65534, 65535] }, id);
    differ(page, FIRST, FIRST, VIEW + id);
    assert.equal(await done, true);
    await turn();
    assert.deepEqual(outline.folds.except, exceptions);
  }
});

test('fold states go on in a later run, also those of an outline by an attribute', async () => {
  const { page, nest, items } = await world();
  const first = await nest.outline(titled(items), { expand: 'done', except: [4] });
  await begin(page);
  const folded = first.setExpanded([3, 5], false);
  page.reply('done', {}, (await page.next('setExpanded')).id);
  await folded;
  assert.deepEqual(first.folds, { expand: 'done', except: [4], set: [[3, false], [5, false]] });
  first.close();
  await page.next('unsubscribe');

  const later = await nest.outline(titled(items), JSON.parse(JSON.stringify(first.folds)));
  await begin(page);
  const { id, fields } = await page.next('setExpanded');
  assert.deepEqual(fields.states, [3, 5].map((object) => ({ object, isExpanded: false })));
  page.reply('done', {}, id);
  await turn();
  assert.deepEqual(later.folds, first.folds);

  const other = later.change({ expand: 'done', set: [[4, true]] });
  const { id: asked, fields: { request } } = await page.next('resubscribe');
  assert.deepEqual(request.outline.exceptions, []);
  page.reply('subscribed', { view: VIEW + asked, first: 'difference', revision: 5, reason: '', projection: [1, 65534, 65535] }, asked);
  differ(page, FIRST, FIRST, VIEW + asked);
  assert.equal(await other, true);
  assert.deepEqual((await page.next('setExpanded')).fields.states, [{ object: 4, isExpanded: true }]);
  await assert.rejects(nest.outline(titled(items), { set: [[3, true]] }), { code: 'INVALID', message: /except/ });
});

test('mistakes say what to write, and change nothing', async () => {
  const { page, nest, items } = await world();
  const invalid = (message) => ({ code: 'INVALID', message });
  await assert.rejects(nest.outline(items), invalid(/entity\.of\(object, 'children'\)/));
  await assert.rejects(nest.outline(items.children(1).sorted('title')), invalid(/sort no rows/));
  await assert.rejects(nest.outline('Item'), invalid(/items\.children\(1\)/));
  await assert.rejects(nest.outline(titled(items), { expand: 'title' }), invalid(/'none', 'all' or a boolean attribute/));
  await assert.rejects(nest.outline(titled(items), { expand: 'dine' }), { code: 'UNKNOWN_PROPERTY' });
  await assert.rejects(nest.outline(titled(items), { depth: 2 }), invalid(/no option 'depth'/));
  await assert.rejects(nest.outline(titled(items), { except: ['x'] }), { code: 'INVALID' });
  const outline = await nest.outline(titled(items));
  await begin(page);
  await assert.rejects(outline.setExpanded(2), invalid(/setExpanded\(row, true\)/));
  await assert.rejects(outline.setExpanded(null, true), { code: 'INVALID' });
  await assert.rejects(outline.setExpanded([2, 0], true), { code: 'INVALID' });
  await assert.rejects(outline.scroll({ from: 5 }), invalid(/no option 'from'/));
  await assert.rejects(outline.scroll({ offset: -1 }), { code: 'INVALID' });
  await assert.rejects(outline.zoom('x'), { code: 'INVALID' });
  await assert.rejects(outline.change({ except: [3] }), invalid(/need expand/));
  await assert.rejects(outline.change({ window: { limit: 3 }, Where: 'done' }), invalid(/no option 'Where'/));
  assert.deepEqual(await Promise.all([outline.setExpanded([], true), outline.change({})]), [true, true]);
  assert.deepEqual(page.sent, []);
});

test('a server that refuses an outline ends it with what it says', async () => {
  const { page, nest, items } = await world();
  const outline = await nest.outline(titled(items));
  const { id } = await page.next('subscribe');
  page.error('LIMIT_EXCEEDED', id);
  await assert.rejects(async () => { for await (const change of outline) assert.fail(change.type); }, { code: 'LIMIT_EXCEEDED' });
  assert.equal(outline.error.code, 'LIMIT_EXCEEDED');
  await assert.rejects(outline.setExpanded(2, true), { code: 'LIMIT_EXCEEDED' });
});
