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
  const [again, later] = [await page.next('transaction'), await page.next('transaction')];
  assert.deepEqual([again.fields.key, again.fields.name, later.fields.name], [fields.key, 'b', 'c']);
  page.receipt(again.id, 3);
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
