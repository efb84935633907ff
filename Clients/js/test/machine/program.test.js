// What a program does wrong is said at once, by a NestError with what to write instead, and harms nothing else.

import assert from 'node:assert/strict';
import test, { afterEach } from 'node:test';
import { inspect } from 'node:util';
import { NestError } from '../../wire/errors.js';
import { NestDate, Reference, UUID } from '../../wire/values.js';
import { Listeners } from '../../client/listeners.js';
import { predicateText, quote } from '../../client/text.js';
import { openWebSocket } from '../../transports/websocket.js';
import '../../client/inspect.js';
import { Page, turn } from './page.js';

/** A client that is open would keep a failed test running. */
const open = [];
afterEach(() => {
  for (const nest of open.splice(0)) nest.close();
});

/** A connected client, its server, and its items. */
async function world(options) {
  const page = new Page();
  const nest = await page.connect(options);
  open.push(nest);
  return { page, nest, items: await nest.entity('Item') };
}

const where = (parts, ...values) => predicateText(parts, values);
const invalid = (message) => (error) => {
  assert.ok(error instanceof NestError, String(error));
  assert.equal(error.code, 'INVALID');
  assert.match(error.message, message);
  return true;
};

test('a value of a predicate inside quotation marks is refused: it would end the text', () => {
  const typed = "' OR TRUEPREDICATE OR title == '";
  assert.throws(() => where`title == '${typed}'`, invalid(/without|no quotation marks/));
  assert.throws(() => where`title == "${typed}"`, invalid(/no quotation marks/));
  assert.throws(() => where`title == "a\"${typed}"`, invalid(/no quotation marks/));
  assert.throws(() => where`title == 'it"s' OR title == '${typed}'`, invalid(/no quotation marks/));
  assert.throws(() => where`title == "x\\" OR title == "${typed}"`, invalid(/no quotation marks/));
  assert.throws(() => where`size == ${1} AND title == "${typed} and more"`, invalid(/no quotation marks/));
  // Quotation marks of texts that end before the value, and after the last one, are those of the program.
  assert.equal(where`title == '6" nail' AND size == ${1} AND note == "it's"`,
    `title == '6" nail' AND size == 1 AND note == "it's"`);
  assert.equal(where`title == "a\"b\\" AND size == ${1}`, 'title == "a\\"b\\\\" AND size == 1');
});

test('a quoted text has no quotation mark of either kind that could end another text', () => {
  assert.equal(quote(`it's "6"`), '"it\\\'s \\"6\\""');
});

test('what is put into a predicate is one value, also if a program has made it of what a user typed', () => {
  const typed = '999 OR TRUEPREDICATE';
  for (const value of [new Reference(typed), { id: typed }, new UUID(typed), new UUID('") OR TRUEPREDICATE OR ("'),
    new Reference(0), {}, NaN, () => 1, Symbol('x'), [new Reference(typed)]]) {
    assert.throws(() => where`parent == ${value}`, { code: 'INVALID' });
  }
  assert.equal(where`parent == ${new Reference(7)} OR parent == ${{ id: 8 }}`, 'parent == 7 OR parent == 8');
  assert.equal(quote(new UUID('ab'.repeat(16))), 'uuid("abababab-abab-abab-abab-abababababab")');
});

test('where takes a text or a template, and no values beside a text', async () => {
  const { nest, items } = await world();
  for (const wrong of [{ title: 'x' }, null, undefined, 5, ['title == 1']]) {
    assert.throws(() => items.where(wrong), invalid(/a predicate is a text/));
  }
  assert.throws(() => items.where('title == ?', 'x'), invalid(/a predicate is a text/));
  nest.close();
});

test('a request with a condition is not the beginning of another: nothing of it is dropped', async () => {
  const { nest, items } = await world();
  for (const request of [items.where('done == NO'), items.sorted('title'), items.window(0, 5), items.properties('title'),
    items.section('title'), items.children(1)]) {
    assert.throws(() => request.of(1, 'children'), invalid(/entity\.of\(object, 'children'\)/));
  }
  assert.deepEqual(items.of(1, 'children').source, { object: 1, relationship: 11 });
  nest.close();
});

test('mistakes in requests say what to write', async () => {
  const { nest, items } = await world();
  assert.throws(() => items.sorted('title desc'), invalid(/-path/));
  assert.deepEqual(items.properties(['title', 'done']).names, ['title', 'done']);
  await assert.rejects(nest.object(null), { code: 'INVALID' });
  await assert.rejects(nest.object({}), { code: 'INVALID' });
  nest.close();
});

test('mistakes in steps say what to write', async () => {
  const { page, nest, items } = await world();
  const steps = (body) => nest.transaction('x', body);
  await assert.rejects(steps((tx) => tx.update('Item', 3, {})), invalid(/an entity, of nest\.entity/));
  await assert.rejects(steps((tx) => tx.update({ id: 3 }, { title: 'x' })), invalid(/an entity, of nest\.entity/));
  await assert.rejects(steps((tx) => tx.insert(undefined, {})), invalid(/an entity, of nest\.entity/));
  await assert.rejects(steps((tx) => tx.move(items, 3, { last: true })), invalid(/\{ of: owner/));
  await assert.rejects(steps((tx) => tx.move(items, 3)), invalid(/\{ of: owner/));
  await assert.rejects(steps((tx) => tx.move(items, 3, { of: 1, index: 0 })), invalid(/'index'/));
  await assert.rejects(steps((tx) => tx.relate(items, 3, 'children', 4, { First: true })), invalid(/'First'/));
  await assert.rejects(steps((tx) => tx.expect(null)), { code: 'INVALID' });
  await assert.rejects(nest.transaction(() => {}), invalid(/transaction\(name, body\)/));
  assert.deepEqual(page.sent, [], 'nothing was sent');
  nest.close();
});

test('a step after the end of its transaction is refused, not lost', async () => {
  const { page, nest, items } = await world();
  let late;
  const sent = nest.transaction('x', (tx) => {
    tx.insert(items, { title: 'one' });
    late = tx;
  });
  const { id, fields } = await page.next('transaction');
  assert.equal(fields.mutations.length, 1);
  assert.throws(() => late.insert(items, { title: 'two' }), invalid(/was sent/));
  assert.throws(() => late.delete(3), invalid(/was sent/));
  page.reply('receipt', { revision: 4, isChanged: true, isReplayed: false, results: [], name: 'x' }, id);
  await sent;
  nest.close();
});

test('an undefined value is left out, and never one to find an object by', async () => {
  const { page, nest, items } = await world();
  const sent = nest.transaction('x', (tx) => {
    tx.update(items, 3, { title: undefined, parent: undefined, done: true });
    tx.insert(items, { title: undefined, size: null });
  });
  const { id, fields: { mutations: [{ update }, { insert }] } } = await page.next('transaction');
  assert.deepEqual(update.values, [{ property: 2, value: true }]);
  assert.deepEqual(insert.values, [{ property: 5, value: null }]);
  page.reply('receipt', { revision: 4, isChanged: true, isReplayed: false, results: [], name: 'x' }, id);
  await sent;
  const match = { title: undefined, done: true };
  await assert.rejects(nest.transaction('x', (tx) => tx.findOrCreate(items, match)), invalid(/find by/));
  nest.close();
});

test('OUTCOME_UNKNOWN has the key of the write, with which it is sent again', async () => {
  const { page, nest, items } = await world();
  const writes = [
    ['transaction', (options) => nest.transaction('x', (tx) => tx.insert(items, {}), options)],
    ['undo', (options) => nest.undo(options)], ['redo', (options) => nest.redo(options)],
    ['revert', (options) => nest.revert(3, options)],
  ];
  for (const [name, write] of writes) {
    const controller = new AbortController();
    const sent = write({ signal: controller.signal });
    const { fields } = await page.next(name);
    controller.abort();
    const error = await sent.catch((reason) => reason);
    assert.deepEqual([error.code, error.key], ['OUTCOME_UNKNOWN', fields.key]);
    const again = write({ key: error.key });
    const { id, fields: second } = await page.next(name);
    assert.equal(second.key, fields.key);
    page.reply('receipt', { revision: 4, isChanged: true, isReplayed: true, results: [], name: 'x' }, id);
    assert.equal((await again).isReplayed, true);
  }
  nest.close();
});

test('the conflicts of a receipt have names; numbers if the model cannot be read, because the undo is made', async () => {
  const conflict = {
    reason: 'edited', entity: 1, object: 7, property: 1, revision: 3, sessionNumber: 2, label: 'Milk',
    user: 'ann', userClaimed: false,
  };
  const receipt = (property) => ({
    revision: 4, isChanged: true, isReplayed: false, results: [], name: 'x',
    conflicts: { count: 1, listed: [{ ...conflict, property }] },
  });
  const { page, nest } = await world();
  for (const [property, name] of [[1, 'title'], [null, null], [99, '99']]) {
    const undo = nest.undo();
    page.reply('receipt', receipt(property), (await page.next('undo')).id);
    const { conflicts, conflictCount } = await undo;
    assert.equal(conflictCount, 1);
    assert.deepEqual({ ...conflicts[0] }, { ...conflict, entity: 'Item', property: name });
    assert.ok(Object.isFrozen(conflicts) && Object.isFrozen(conflicts[0]));
  }
  nest.model = () => Promise.reject(new NestError('UNREACHABLE', 'no'));
  const undo = nest.undo();
  page.reply('receipt', receipt(1), (await page.next('undo')).id);
  assert.deepEqual([(await undo).conflicts[0].entity, (await undo).conflicts[0].property], [1, 1]);
  nest.close();
});

test('JSON and console.log of a state show its rows, and not the model', async () => {
  const { page, nest, items } = await world();
  const list = nest.results(items.properties('title'));
  await page.list([[2, 'Milk'], [3, 'Eggs']]);
  const { state } = list;
  const plain = { revision: 2, total: 2, rows: [{ title: 'Milk', id: 2 }, { title: 'Eggs', id: 3 }] };
  assert.deepEqual(JSON.parse(JSON.stringify(state)), plain);
  assert.equal(inspect(state.rows[0]), "{ title: 'Milk', id: 2 }");
  assert.match(inspect(state), /title: 'Milk'/);
  for (const text of [inspect(state, { depth: 9 }), JSON.stringify(state)]) assert.doesNotMatch(text, /deleteRule/);
  assert.equal(state.request, list.request);
  assert.deepEqual(Object.keys(state).includes('request'), false);
  nest.close();
});

test('a program cannot change the rows of a list through the diff that it gets', async () => {
  const { page, nest, items } = await world();
  const list = nest.results(items.properties('title'));
  await page.list([[2, 'Milk']]);
  let diff;
  list.subscribe((change) => {
    diff = change.diff;
  });
  page.insert(2, 3, 4, [4, 2]);
  await turn();
  for (const change of [
    () => (diff.insertedRows[0].values[0] = 'HACKED'), () => diff.insertedRows.push(1),
    () => (diff.insertedRows[0].id = 9), () => (diff.total = 9), () => diff.insertedRows[0].values.pop(),
  ]) assert.throws(change, TypeError);
  assert.deepEqual(list.state.rows.map(({ title }) => title), ['t4', 'Milk']);
  nest.close();
});

test('a listener that another one has ended is not called any more', () => {
  const listeners = new Listeners();
  const called = [];
  let end = () => {};
  listeners.add(() => {
    called.push('first');
    end();
  });
  end = listeners.add(() => called.push('second'));
  listeners.call(null);
  assert.deepEqual(called, ['first']);
});

test('in Node, a mistake in a listener is printed: it neither ends the process nor keeps it from others', async () => {
  const printed = [];
  const { error: print } = console;
  console.error = (error) => printed.push(error.message);
  try {
    const listeners = new Listeners();
    const called = [];
    listeners.add(() => {
      throw new Error('mine');
    });
    listeners.add((value) => called.push(value));
    listeners.call(5);
    await turn();
    assert.deepEqual([called, printed], [[5], ['mine']]);
  } finally {
    console.error = print;
  }
});

test('who follows the undo state learns its end, and one mistake keeps it from nobody', async () => {
  const { page, nest } = await world();
  const printed = [];
  const { error: print } = console;
  console.error = (error) => printed.push(error.message);
  try {
    const [broken, states] = [await nest.undoStates(), await nest.undoStates()];
    const seen = [];
    broken.subscribe(() => {
      throw new Error('mine');
    });
    states.subscribe((state) => seen.push([state?.undoCount, states.isEnded]));
    const asked = [await page.next('getUndoState'), await page.next('getUndoState')];
    const counts = { undoCount: 3, redoCount: 0, blockedCount: 0, droppedCount: 0 };
    for (const { id } of asked) page.reply('undoState', { undo: null, redo: null, ...counts, group: null }, id);
    await turn();
    assert.deepEqual(seen, [[3, false]]);
    broken.close();
    states.close();
    assert.deepEqual(seen, [[3, false], [3, true]]);
    assert.deepEqual([states.error, states.isEnded], [null, true]);
    assert.deepEqual(printed, ['mine', 'mine']);
  } finally {
    console.error = print;
  }
  nest.close();
});

test('without WebSocket, the error names what works', { skip: 'WebSocket' in globalThis }, () => {
  const events = { opened() {}, received() {}, closed() {} };
  assert.throws(() => openWebSocket('ws://127.0.0.1:7080/nest', {}, events), (error) => {
    assert.match(error.message, /nest:\/\/HOST:PORT/);
    return error.code === 'UNREACHABLE';
  });
});

test('a date of a predicate is not text of a user', () => {
  assert.throws(() => quote(new NestDate('") OR TRUEPREDICATE OR ("')));
});
