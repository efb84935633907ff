// The outline's writes, with a server that the test plays: what becomes of those that are refused, or undone, or
// made when the client is closed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './modules.js';
import { Page, turn } from '../../Clients/js/test/machine/page.js';
// The client loads it with the first reservation, which the test does not wait for.
import '../../Clients/js/client/optimistic.js';

const { Writes } = await import('../outline/writes.js');

/** A client with reserved ids, and the writes of an outline. */
async function start() {
  const page = new Page();
  let keys = 0;
  // Keys differ.
  page.platform.randomBytes = (count) => new Uint8Array(count).fill(++keys);
  const nest = await page.connect({ reconnectPauseMax: 1 });
  const writes = new Writes(nest, true);
  const { id, fields } = await page.next('reserve');
  page.reply('reserved', { first: 100, count: fields.count }, id);
  await turn();
  return { page, nest, writes, items: await nest.entity('Item') };
}

const scripted = (name, body) => test(name, async () => {
  const all = await start();
  try {
    await body(all);
  } finally {
    all.nest.close();
  }
});

const refusal = { code: 'NOT_FOUND', retry: 0, retryAfter: 0, message: 'gone', object: 7, faults: [], leader: null,
  column: null };

/** A write that deletes two rows, and one less if one of them is gone. */
function remove(writes, said) {
  const keys = [7, 8];
  return writes.make('delete', (tx) => { for (const key of keys) tx.delete(key); }, {
    touched: [7, 8],
    mend: (error) => {
      keys.splice(keys.indexOf(error.object), 1);
      return true;
    },
    done: () => said.push('done'), refused: () => said.push('refused'), undone: () => said.push('undone'),
  });
}

scripted('a write that is refused is made anew', async ({ page, writes }) => {
  const said = [];
  const { end } = remove(writes, said);
  page.reply('error', refusal, (await page.next('transaction')).id);
  const again = await page.next('transaction');
  assert.equal(again.fields.mutations.length, 1);
  page.reply('receipt', { revision: 2, isChanged: true, isReplayed: false, results: [], name: '' }, again.id);
  assert.equal((await end).revision, 2);
  assert.deepEqual(said, ['done']);
});

scripted('a write that is refused after somebody has undone it is not made anew', async ({ page, writes }) => {
  const said = [];
  const { end } = remove(writes, said);
  const { id } = await page.next('transaction');
  const taken = writes.takeBack('undo');
  page.reply('error', refusal, id);
  await turn();
  assert.deepEqual(said, ['undone']);
  assert.equal(await end, null);
  assert.equal((await taken).name, 'delete');
  assert.equal(writes.pending.length, 0);
  assert.ok(!page.sent.some(({ name }) => name === 'transaction' || name === 'undo'));
});

scripted('a group of a client that is closed is rejected', async ({ nest, writes, items }) => {
  nest.close();
  await turn();
  const write = writes.group('split', (group) => group.transaction((tx) => tx.insert(items, { title: 'a' })));
  await assert.rejects(write.done, { code: 'CLOSED' });
});

scripted('a text waits for the writes that change its row otherwise, until they are settled', async ({ page, writes }) => {
  remove(writes, []);
  assert.equal(writes.settled(9), null);
  const settled = writes.settled(8);
  assert.ok(settled);
  const { id } = await page.next('transaction');
  page.reply('receipt', { revision: 2, isChanged: true, isReplayed: false, results: [], name: '' }, id);
  await settled;
  assert.equal(writes.settled(8), null);
});
