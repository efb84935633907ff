// Own writes that are shown at once, with a server that the test plays: what frames say in which order, and what
// becomes of writes that a server refuses, or loses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { optimistic } from '../../optimistic.js';
import { preface } from '../../wire/frames.js';
import { sectionKey } from '../../wire/rows.js';
import { digest } from '../../wire/results.js';
import { OTHER_HISTORY, VIEW } from '../machine/server.js';
import { modelHash, Page, turn } from '../machine/page.js';

/** Rows are [id, title]; they are sent with their entity, which the client asks for besides. */
class LocalPage extends Page {
  rows = new Map();

  constructor() {
    super();
    let keys = 0;
    // Keys differ.
    this.platform.randomBytes = (count) => new Uint8Array(count).fill(++keys);
  }

  frame(frame) {
    if (!this.history || frame.type !== 0x01) return super.frame(frame);
    this.events.received(preface());
    return this.reply('welcome', {
      serverName: 't', features: this.features, historyID: this.history, revision: 1, modelHash: modelHash(),
    });
  }

  async start({ stock = true } = {}) {
    const nest = await this.connect({ reconnectPauseMax: 1 });
    this.local = optimistic(nest);
    if (stock) await this.reserve(100);
    this.items = await nest.entity('Item');
    return this;
  }

  async reserve(first) {
    const { id, fields } = await this.next('reserve');
    this.reply('reserved', { first, count: fields.count }, id);
    await turn();
  }

  /** A list with these rows, in a view. */
  async open(view, rows, request = this.items.properties('title').sorted('title')) {
    const list = await this.local.results(request);
    const changes = [];
    list.subscribe(({ type, state }) => changes.push([type, state.rows.map(({ title }) => title).join()]));
    this.rows.set(view, rows);
    await this.list(rows.map(([id, title]) => [id, 1, title]), { view, projection: [0, 1] });
    await turn();
    changes.length = 0;
    return { list, changes, titles: () => list.state.rows.map(({ title }) => title).join() };
  }

  /** The diff that inserts a row at the end. */
  inserts(view, from, to, id, title) {
    const old = this.rows.get(view);
    const all = [...old, [id, title]];
    this.rows.set(view, all);
    this.reply('diff', {
      from, to, total: all.length, deletedRows: [], deletedSections: [], insertedSections: [], moves: [], updates: [],
      digest: digest([{ ...sectionKey(''), rows: all.map(([one]) => ({ id: one })) }]), position: null,
      insertedRows: [{ at: [0, old.length], id, values: [1, title] }],
    }, view);
  }

  receipt(id, revision, { isReplayed = false, isChanged = true } = {}) {
    this.reply('receipt', { revision, isChanged, isReplayed, results: [], name: '' }, id);
  }

  refuse(id, code, retry, retryAfter = 0) {
    const details = { object: null, faults: [], leader: null, column: null };
    this.reply('error', { code, retry, retryAfter, message: code, ...details }, id);
  }

  /** A write that renames row 2. */
  rename(title, options) {
    return this.local.transaction(title, (tx) => tx.update(this.items, 2, { title }), options);
  }

  /** The names of what was sent and was not taken by next(), reservations apart. */
  get names() {
    return this.sent.filter(({ name }) => name !== 'reserve').map(({ name, fields }) => fields.name ?? name);
  }

  /** Until what the client and the server say has arrived. */
  async rest(count = 4) {
    for (let index = 0; index < count; index += 1) await turn();
  }

  insert(title) {
    return this.local.transaction(title, (tx) => tx.insert(this.items, { title }));
  }

  close() {
    this.nest.close();
  }
}

const scripted = (name, body, options) => test(name, async () => {
  const page = await new LocalPage().start(options);
  try {
    await body(page);
  } finally {
    page.close();
  }
});

scripted('what confirms a write with the result that is shown changes no row', async (page) => {
  const { list, changes, titles } = await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  await null;
  assert.deepEqual([titles(), changes, write.ids, list.state.undecided], ['a,b', [['diff', 'a,b']], [100], 0]);
  const { id } = await page.next('transaction');
  page.reply('own', { revisions: [3], requests: [id] });
  page.inserts(VIEW, 2, 3, 100, 'b');
  page.receipt(id, 3);
  await write.done;
  assert.deepEqual([write.state, page.local.pending.length, list.state.pendingOf(100)], ['settled', 0, 'none']);
  assert.deepEqual(changes.slice(1), [['pending', 'a,b']]);
});

scripted('between OWN and the diffs of all lists nothing is published', async (page) => {
  const one = await page.open(VIEW, [[2, 'a']]);
  const two = await page.open(VIEW + 1, [[2, 'a']], page.items.properties('title').sorted('-title'));
  const write = page.insert('b');
  await null;
  assert.deepEqual([one.titles(), two.titles()], ['a,b', 'b,a']);
  const { id } = await page.next('transaction');
  page.reply('own', { revisions: [3], requests: [id] });
  // Another client has changed the title since: the difference to revision 4 has both.
  page.inserts(VIEW, 2, 4, 100, 'z');
  await turn();
  await turn();
  assert.deepEqual([one.titles(), two.titles()], ['a,b', 'b,a']);
  page.inserts(VIEW + 1, 2, 4, 100, 'z');
  await turn();
  await turn();
  assert.deepEqual([one.titles(), two.titles(), write.state], ['a,z', 'a,z', 'settled']);
  page.receipt(id, 3);
  assert.equal((await write.done).revision, 3);
});

scripted('a list that waits for a write shows it at PROGRESS', async (page) => {
  const one = await page.open(VIEW, [[2, 'a']]);
  await page.open(VIEW + 1, [[2, 'a']], page.items.properties('title').sorted('-title'));
  const write = page.insert('b');
  const { id } = await page.next('transaction');
  page.reply('own', { revisions: [3], requests: [id] });
  page.inserts(VIEW, 2, 4, 100, 'z');
  page.reply('progress', { revision: 4 });
  await turn();
  await turn();
  assert.deepEqual([one.titles(), write.state], ['a,z', 'settled']);
});

scripted('after a lost connection lists wait for the answers to what was sent', async (page) => {
  const { changes, titles } = await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  await page.next('transaction');
  page.events.closed(null);
  await turn();
  assert.equal(titles(), 'a,b');
  const again = await page.next('transaction');
  const { id } = await page.next('subscribe');
  assert.ok(again.id < id, 'writes are sent again before lists');
  changes.length = 0;
  // Another client has moved what the write would insert, before the receipt says that it was executed.
  page.reply('subscribed', { view: VIEW, first: 'difference', revision: 2, reason: '', projection: [0, 1] }, id);
  page.inserts(VIEW, 2, 4, 100, 'z');
  await turn();
  await turn();
  assert.deepEqual(changes, [], 'the title would be b, then z');
  page.receipt(again.id, 3, { isReplayed: true });
  await write.done;
  assert.deepEqual([titles(), write.receipt.isReplayed, page.local.pending.length], ['a,z', true, 0]);
  assert.ok(changes.every(([, shown]) => shown === 'a,z' || shown === 'a,b'), String(changes));
});

scripted('a write whose key the server may have forgotten is parked', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  const [sent, { now }] = [page.insert('b'), Date];
  await page.next('transaction');
  try {
    page.events.closed(null);
    Date.now = () => now() + 24 * 3_600_000;
    const unsent = page.insert('c');
    const { fields } = await page.next('transaction');
    assert.equal(fields.name, 'c', 'what was never sent is sent');
    await assert.rejects(sent.done, { code: 'OUTCOME_UNKNOWN' });
    assert.deepEqual([sent.state, unsent.state, page.local.pending], ['parked', 'sent', [unsent]]);
  } finally {
    Date.now = now;
  }
});

scripted('a write that names what a refused one was to make has it as its cause', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  const first = page.insert('b');
  const second = page.local.transaction('c', (tx) => tx.update(page.items, 100, { title: 'c' }));
  const third = page.rename('d');
  const ids = [await page.next('transaction'), await page.next('transaction'), await page.next('transaction')];
  page.refuse(ids[0].id, 'VALIDATION_FAILED', 0);
  page.refuse(ids[1].id, 'NOT_FOUND', 0);
  page.refuse(ids[2].id, 'NOT_FOUND', 0);
  for (const { done } of [first, second, third]) await assert.rejects(done);
  assert.deepEqual([first.cause, second.cause === first, third.cause], [null, true, null]);
});

scripted('a write that was not executed is sent again with its key, before later ones', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const first = page.insert('b');
  const { id, fields } = await page.next('transaction');
  page.refuse(id, 'BUSY', 2, 30);
  await turn();
  await turn();
  assert.equal(first.state, 'queued');
  const second = page.insert('c');
  await turn();
  assert.deepEqual([titles(), page.sent.length, second.state], ['a,b,c', 0, 'queued']);
  await new Promise((resolve) => setTimeout(resolve, 150));
  const again = await page.next('transaction');
  assert.deepEqual([again.fields.key, again.fields.name, page.sent.length], [fields.key, 'b', 0]);
  page.receipt(again.id, 3);
  const later = await page.next('transaction');
  assert.equal(later.fields.name, 'c');
  page.receipt(later.id, 4);
  await second.done;
  assert.equal(first.receipt.revision, 3);
});

scripted('a write that may have been executed keeps its key, and is shown', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  const { id, fields } = await page.next('transaction');
  page.refuse(id, 'STORAGE_FAILURE', 3);
  await turn();
  await turn();
  assert.deepEqual([write.state, titles()], ['sent', 'a,b']);
  await new Promise((resolve) => setTimeout(resolve, 150));
  const again = await page.next('transaction');
  assert.equal(again.fields.key, fields.key);
  page.refuse(again.id, 'VALIDATION_FAILED', 0);
  await assert.rejects(write.done, { code: 'VALIDATION_FAILED' });
  assert.deepEqual([write.state, titles()], ['refused', 'a']);
});

scripted('a write whose outcome is unknown is parked; sent again it has its key', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  const { id } = await page.next('transaction');
  page.refuse(id, 'SCHEMA_CHANGED', 4);
  await assert.rejects(write.done, { code: 'SCHEMA_CHANGED' });
  assert.deepEqual([write.state, titles()], ['parked', 'a']);
  const again = write.again();
  await null;
  assert.deepEqual([again.key, again.ids, titles()], [write.key, write.ids, 'a,b']);
});

scripted('a store with another history gets no write of the one before', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const sent = page.insert('b');
  const { id } = await page.next('transaction');
  page.refuse(id, 'BUSY', 2, 10_000);
  await turn();
  const unsent = page.insert('c');
  assert.equal(unsent.state, 'queued');
  page.history = OTHER_HISTORY;
  page.events.closed(null);
  const outcomes = await Promise.all([sent, unsent].map((one) => one.done.catch(({ code }) => code)));
  assert.deepEqual([outcomes, sent.state, unsent.state], [['OUTCOME_UNKNOWN', 'OUTCOME_UNKNOWN'], 'parked', 'parked']);
  await turn();
  assert.ok(!page.sent.some(({ name }) => name === 'transaction'));
  // Ids of the history before are not used.
  await page.reserve(500);
  await turn();
  assert.deepEqual(page.insert('d').ids, [500]);
  assert.equal(titles().includes('b'), false);
});

scripted('inserts wait for ids, and later writes behind them', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const first = page.insert('b');
  const second = page.local.transaction('rename', (tx) => tx.update(page.items, 2, { title: 'A' }));
  await null;
  assert.deepEqual([first.ids, first.state, second.state, titles()], [[null], 'queued', 'queued', 'A']);
  assert.ok(!page.sent.some(({ name }) => name === 'transaction'));
  await page.reserve(100);
  await turn();
  assert.deepEqual([first.ids, titles(), first.state, second.state], [[100], 'A,b', 'sent', 'sent']);
  const frames = [await page.next('transaction'), await page.next('transaction')];
  assert.deepEqual(frames.map(({ fields }) => fields.name), ['b', 'rename']);
  assert.equal(frames[0].fields.mutations[0].insertAs.object, 100);
}, { stock: false });

scripted('a client that gets no ids cannot insert, but other writes go on', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const insert = page.insert('b');
  const update = page.local.transaction('rename', (tx) => tx.update(page.items, 2, { title: 'A' }));
  const { id } = await page.next('reserve');
  page.refuse(id, 'NOT_PERMITTED', 0);
  await assert.rejects(insert.done, { code: 'NOT_PERMITTED' });
  await turn();
  assert.deepEqual([insert.state, update.state, titles()], ['refused', 'sent', 'A']);
  await turn();
  assert.ok(!page.sent.some(({ name }) => name === 'reserve'), 'it does not ask again without a reason');
}, { stock: false });

scripted('the stock is filled before it is empty', async (page) => {
  for (let count = 0; count < 48; count += 1) page.insert(`${count}`);
  await turn();
  assert.ok(!page.sent.some(({ name }) => name === 'reserve'));
  page.insert('one more');
  const { fields } = await page.next('reserve');
  assert.equal(fields.count, 64);
});

scripted('what was taken back is shown again if the server refuses to', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  const { id } = await page.next('transaction');
  const undo = page.local.undo();
  await null;
  assert.deepEqual([titles(), undo.state], ['a', 'queued']);
  page.reply('own', { revisions: [3], requests: [id] });
  page.inserts(VIEW, 2, 3, 100, 'b');
  page.receipt(id, 3);
  await write.done;
  assert.equal(titles(), 'a');
  const taken = await page.next('undo');
  assert.equal(taken.fields.expected, 3);
  page.refuse(taken.id, 'CONFLICT', 0);
  await assert.rejects(undo.done, { code: 'CONFLICT' });
  assert.equal(titles(), 'a,b');
});

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// MARK: What is sent

scripted('a write that has its receipt is not sent again, though a list does not have it yet', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  const { id } = await page.next('transaction');
  page.receipt(id, 3);
  await page.rest();
  page.rename('c');
  await page.rest();
  assert.deepEqual([write.state, page.names], ['committed', ['c']]);
});

scripted('a write that OWN has named is sent again for its receipt, also once it is settled', async (page) => {
  const { list } = await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  const { id, fields } = await page.next('transaction');
  page.reply('own', { revisions: [3], requests: [id] });
  page.refuse(id, 'STORAGE_FAILURE', 3);
  await page.rest();
  assert.equal(write.state, 'committed');
  await pause(150);
  const again = await page.next('transaction');
  assert.equal(again.fields.key, fields.key);
  list.close();
  await page.rest();
  assert.equal(write.state, 'settled');
  page.refuse(again.id, 'STORAGE_FAILURE', 3);
  await pause(250);
  const last = await page.next('transaction');
  assert.equal(last.fields.key, fields.key);
  page.receipt(last.id, 3, { isReplayed: true });
  assert.equal((await write.done).revision, 3);
});

scripted('behind a write that is sent again, writes go one by one, and a refusal is not believed', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  const [one, two, three] = ['1', '2', '3'].map((title) => page.rename(title));
  const [a, b, c] = [await page.next('transaction'), await page.next('transaction'), await page.next('transaction')];
  page.refuse(a.id, 'BUSY', 2);
  page.refuse(b.id, 'NOT_FOUND', 0);
  await pause(150);
  assert.deepEqual([page.names, two.state], [[], 'queued'], 'the third is on its way');
  page.refuse(c.id, 'NOT_FOUND', 0);
  await page.rest();
  const first = await page.next('transaction');
  await page.rest();
  assert.deepEqual([first.fields.name, page.names], ['1', []]);
  page.receipt(first.id, 3);
  await one.done;
  const [second, third] = [await page.next('transaction'), await page.next('transaction')];
  assert.deepEqual([second.fields, third.fields.key], [b.fields, c.fields.key]);
  page.refuse(second.id, 'NOT_FOUND', 0);
  page.receipt(third.id, 4);
  await assert.rejects(two.done, { code: 'NOT_FOUND' });
  assert.equal((await three.done).revision, 4);
});

scripted('a plain undo or redo is sent alone', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  page.local.undo();
  const write = page.rename('b');
  page.local.redo();
  await page.rest();
  assert.deepEqual(page.names, ['undo']);
  page.refuse((await page.next('undo')).id, 'BUSY', 2);
  await pause(150);
  const again = await page.next('undo');
  assert.deepEqual(page.names, []);
  page.receipt(again.id, 3);
  await page.rest();
  assert.deepEqual(page.names, ['b']);
  page.receipt((await page.next('transaction')).id, 4);
  await write.done;
  assert.equal((await page.next('redo')).fields.expected ?? null, null);
});

scripted('a clock that is set back delays nothing', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  page.rename('b');
  const { id } = await page.next('transaction');
  page.refuse(id, 'BUSY', 2);
  await page.rest();
  const { now } = Date;
  try {
    Date.now = () => now() - 3_600_000;
    await pause(150);
    assert.deepEqual(page.names, ['b']);
  } finally {
    Date.now = now;
  }
});

// MARK: Other properties

scripted('a list with other properties shows their values', async (page) => {
  const request = (...names) => page.items.properties(...names).sorted('title', 'done');
  const list = await page.local.results(request('title'));
  const { id, fields: { request: { projection } } } = await page.next('subscribe');
  const values = { 0: 1, 1: 'a', 2: true };
  const rows = [{ id: 2, values: projection.map((one) => values[one]) }];
  const subscribed = { view: VIEW, revision: 0, reason: '', projection };
  page.reply('subscribed', { ...subscribed, first: 'snapshot' }, id);
  page.reply('snapshot', {
    reason: 'first', revision: 2, digest: digest([{ ...sectionKey(''), rows }]), sectionCount: 1,
    sections: [{ key: '', rowCount: 1 }],
    position: { total: 1, sectionTotal: 1, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null },
  }, VIEW, 1);
  page.reply('snapshotRows', { rows }, VIEW);
  await page.rest();
  assert.equal(list.state.rows[0].title, 'a');
  for (const names of [['title', 'done'], ['done']]) {
    const change = list.change(request(...names));
    const { id: other } = await page.next('resubscribe');
    page.reply('subscribed', { ...subscribed, first: 'current', revision: 2 }, other);
    await change;
    await page.rest();
    assert.deepEqual([list.state.names, list.state.rows[0].done], [names, true]);
  }
});

// MARK: Another history

/** Loses the connection; the next server has another history. */
const elsewhere = async (page, body) => {
  page.events.closed(null);
  body();
  page.history = OTHER_HISTORY;
  await page.rest(10);
};

scripted('redo does not make again what was made for another history', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  await elsewhere(page, () => {
    page.rename('b');
    page.local.undo();
  });
  const redo = page.local.redo();
  await page.next('redo');
  assert.equal(redo.kind, 'redo');
});

scripted('a write of another history is made anew with new ids, or not at all', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  let insert, update;
  await elsewhere(page, () => {
    insert = page.insert('b');
    update = page.rename('c');
  });
  await assert.rejects(insert.done, { code: 'OUTCOME_UNKNOWN' });
  await page.reserve(500);
  assert.throws(() => insert.again(), { code: 'INVALID' });
  const again = insert.again((tx) => tx.insert(page.items, { title: 'b' }));
  assert.deepEqual([insert.ids, again.ids, update.again().state], [[100], [500], 'sent']);
});

scripted('a write that a listener makes for the new history is sent', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  let old, made;
  page.nest.onState(({ phase }) => {
    if (phase === 'ready') made ??= page.rename('new');
  });
  await elsewhere(page, () => {
    old = page.rename('old');
  });
  assert.deepEqual([old.state, made.state, page.names.includes('new')], ['parked', 'sent', true]);
});

// MARK: Again

scripted('a write that is made anew gets the ids that were taken, and no others', async (page) => {
  const steps = (title) => (tx) => {
    tx.insert(page.items, { title: 'a' }, { id: 77 });
    tx.insert(page.items, { title });
  };
  const write = page.local.transaction('two', steps(null));
  const { id } = await page.next('transaction');
  page.refuse(id, 'VALIDATION_FAILED', 0);
  await assert.rejects(write.done);
  assert.deepEqual([write.ids, write.again(steps('b')).ids], [[77, 100], [77, 100]]);
});

// MARK: Undo and redo

scripted('redo does again what was taken back last', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  const one = page.rename('1');
  const { id } = await page.next('transaction');
  page.refuse(id, 'BUSY', 2);
  await page.rest();
  const two = page.rename('2');
  page.local.undo();
  page.local.undo();
  assert.deepEqual([one.state, two.state], ['queued', 'refused']);
  assert.deepEqual([1, 2].map(() => page.local.redo()).map(({ kind, name }) => [kind, name]),
    [['redo', null], ['transaction', '2']]);
  page.local.undo();
  const failed = page.rename('3');
  page.local.undo();
  const other = page.rename('4');
  assert.deepEqual([failed.state, other.state, page.local.redo().kind], ['refused', 'queued', 'redo'],
    'a new write ends what can be done again');
});

scripted('an undo that fails leaves nothing to do again', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  page.events.closed(null);
  page.rename('1');
  page.local.undo();
  const undo = page.local.undo();
  const { id } = await page.next('undo');
  page.refuse(id, 'NOTHING_TO_UNDO', 0);
  await assert.rejects(undo.done);
  assert.equal(page.local.redo().name, '1');
});

scripted('an undo names the write that it means, also behind a redo, and the redo', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  page.local.redo();
  page.rename('b');
  await null;
  assert.equal(titles(), 'b');
  page.local.undo();
  page.local.undo();
  await null;
  assert.equal(titles(), 'a');
  page.receipt((await page.next('redo')).id, 3);
  await page.rest();
  // The write was not sent, so the first undo has taken it away.
  assert.equal((await page.next('undo')).fields.expected, 3);
});

scripted('the undo of a write behind a redo, once it was sent', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  page.local.redo();
  page.rename('b');
  page.receipt((await page.next('redo')).id, 3);
  page.receipt((await page.next('transaction')).id, 4);
  await page.rest();
  page.local.undo();
  page.local.undo();
  const frames = [await page.next('undo'), await page.next('undo')];
  assert.deepEqual(frames.map(({ fields }) => fields.expected), [4, 3]);
});

scripted('writes that coalesce are taken back as one', async (page) => {
  const { titles } = await page.open(VIEW, [[2, 'a']]);
  const coalescing = { key: 'k', milliseconds: 1000 };
  page.rename('0');
  page.rename('1', { coalescing });
  page.rename('2', { coalescing });
  const undo = page.local.undo();
  await null;
  assert.deepEqual([titles(), page.local.pending.length], ['0', 4]);
  for (const revision of [3, 4, 5]) page.receipt((await page.next('transaction')).id, revision);
  const { id, fields } = await page.next('undo');
  assert.equal(fields.expected, 5);
  page.refuse(id, 'CONFLICT', 0);
  await assert.rejects(undo.done, { code: 'CONFLICT' });
  assert.equal(titles(), '2');
});

scripted('the undo of writes that coalesce means those that were not refused', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  const coalescing = { key: 'k', milliseconds: 1000 };
  page.rename('1', { coalescing });
  page.rename('2', { coalescing });
  page.local.undo();
  page.receipt((await page.next('transaction')).id, 3);
  page.refuse((await page.next('transaction')).id, 'VALIDATION_FAILED', 0);
  assert.equal((await page.next('undo')).fields.expected, 3);
});

scripted('what a parked write became is not known: its undo waits for it', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  const write = page.rename('1');
  page.refuse((await page.next('transaction')).id, 'OUTCOME_UNKNOWN', 4);
  await assert.rejects(write.done);
  page.events.closed(null);
  const again = write.again();
  page.local.undo();
  assert.deepEqual([again.state, page.local.pending.length], ['queued', 2]);
});

scripted('a program that follows the pending writes learns of an undo of an unsent one', async (page) => {
  await page.open(VIEW, [[2, 'a']]);
  page.events.closed(null);
  page.rename('b');
  const counts = [];
  page.local.subscribe(() => counts.push(page.local.pending.length));
  page.local.undo();
  assert.deepEqual(counts, [0]);
});

scripted('the receipt of an undo names entities and properties', async (page) => {
  const undo = page.local.undo();
  const { id } = await page.next('undo');
  const conflict = { reason: 'edited', entity: 1, object: 2, property: 1, revision: 2, session: 1, label: 'x' };
  page.reply('receipt', {
    revision: 3, isChanged: true, isReplayed: false, results: [], name: '', conflicts: { count: 1, listed: [conflict] },
  }, id);
  const { conflicts: [found] } = await undo.done;
  assert.deepEqual([found.entity, found.property], ['Item', 'title']);
});

// MARK: Lists that are closed

scripted('a write that waits for a list is settled when that is closed', async (page) => {
  const { list } = await page.open(VIEW, [[2, 'a']]);
  const write = page.rename('b');
  page.receipt((await page.next('transaction')).id, 3);
  await write.done;
  assert.equal(write.state, 'committed');
  list.close();
  await page.rest();
  assert.deepEqual([write.state, page.local.pending.length], ['settled', 0]);
});

scripted('a list that a listener of another closes gets no more changes', async (page) => {
  const one = await page.open(VIEW, [[2, 'a']]);
  const two = await page.open(VIEW + 1, [[2, 'a']]);
  one.list.subscribe(() => two.list.close());
  page.rename('b');
  await page.rest();
  assert.deepEqual([one.titles(), two.changes], ['b', [['ended', 'a']]]);
});

scripted('a row that was taken back does not return between OWN and the rows of the undo', async (page) => {
  const { titles, changes } = await page.open(VIEW, [[2, 'a']]);
  const write = page.insert('b');
  const { id } = await page.next('transaction');
  page.local.undo();
  await null;
  page.reply('own', { revisions: [3], requests: [id] });
  page.inserts(VIEW, 2, 3, 100, 'b');
  page.receipt(id, 3);
  await write.done;
  const taken = await page.next('undo');
  // OWN comes in a message of its own.
  page.reply('own', { revisions: [4], requests: [taken.id] });
  await page.rest();
  assert.equal(titles(), 'a', JSON.stringify(changes));
});
