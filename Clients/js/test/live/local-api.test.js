// What a program does with own writes that are shown at once: ids, refusals, undo, writes without a connection, and
// that a write comes and goes in all lists at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { optimistic } from '../../optimistic.js';
import { missing, Server, until } from './nestd.js';
import { ChaosProxy } from './proxy.js';
import { Random } from './random.js';

/** A server, a client through a proxy, and its lists. */
async function world(body) {
  const server = await Server.start();
  const proxy = await ChaosProxy.start(() => server.port, new Random(1));
  const clients = [];
  const client = async (port = proxy.port, options = {}) => {
    const nest = await connect({ url: `tcp://127.0.0.1:${port}`, reconnectPauseMax: 50, ...options });
    clients.push(nest);
    return nest;
  };
  try {
    const nest = await client();
    const items = await nest.entity('Item');
    const local = optimistic(nest);
    assert.equal(optimistic(nest), local);
    const list = await local.results(items.children(1).properties('title'));
    const done = await local.results(items.where('done == YES').sorted('title').properties('title'));
    await until(() => list.status === 'live' && done.status === 'live');
    const titles = (of = list) => of.state.rows.map(({ title }) => title);
    // The stock of ids is there when an insert has one.
    await until(() => local.transaction('probe', (tx) => tx.insert(items, { title: 'probe' })).ids[0] !== null);
    await until(() => local.pending.length === 0);
    await nest.transaction('clear', (tx) => { for (const { id } of list.state.rows) tx.delete(id); });
    await until(() => titles().length === 0);
    await body({ server, proxy, client, nest, items, local, list, done, titles });
  } finally {
    for (const one of clients) one.close();
    await proxy.close();
    await server.close();
  }
}

const live = (name, body) => test(name, { skip: missing }, () => world(body));

live('a write comes and goes in all lists at once', async ({ items, local, list, done, titles }) => {
  const seen = [];
  for (const one of [list, done]) {
    one.subscribe(({ type }) => {
      if (type !== 'diff') return;
      // When the first listener is called, the other list may still wait for its turn in the same publish.
      queueMicrotask(() => seen.push(titles().includes('b') === titles(done).includes('b')));
    });
  }
  const write = local.transaction('both', (tx) => tx.insert(items, { title: 'a', done: true }));
  await null;
  assert.deepEqual([titles(), titles(done), list.state.pendingOf(write.ids[0])], [['a'], ['a'], 'sent']);
  await write.done;
  const wrong = local.transaction('wrong', (tx) => {
    tx.update(items, write.ids[0], { title: 'b' });
    tx.insert(items, { title: null });
  });
  await null;
  assert.equal(titles()[0], 'b');
  await assert.rejects(wrong.done, { code: 'VALIDATION_FAILED' });
  assert.deepEqual([titles(), titles(done), wrong.state], [['a'], ['a'], 'refused']);
  assert.deepEqual(new Set(seen), new Set([true]));
});

live('rows that a write does not change stay the same objects, and flags alone change none', async (t) => {
  const { items, local, list, nest } = t;
  await nest.transaction('rows', (tx) => { for (const title of 'abc') tx.insert(items, { title }); });
  await until(() => list.state.count === 3);
  const [a, b, c] = list.state.rows;
  const types = [];
  list.subscribe(({ type, state }) => types.push([type, state]));
  const write = local.transaction('b', (tx) => tx.update(items, b, { title: 'B' }));
  await null;
  const shown = list.state.rows;
  assert.ok(shown[0] === a && shown[2] === c && shown[1] !== b);
  await write.done;
  await until(() => write.state === 'settled');
  await until(() => list.state.pendingOf(b) === 'none');
  assert.deepEqual(types.map(([type]) => type), ['diff', 'pending']);
  assert.ok(list.state.rows.every((row, index) => row === shown[index]) && types[0][1] !== types[1][1]);
  assert.equal(list.state.undecided, 0);
});

live('a refused write is corrected with the ids that it has', async ({ items, local, list, titles }) => {
  const wrong = local.transaction('wrong', (tx) => {
    const owner = tx.insert(items, { title: 'owner' });
    tx.insert(items, { title: null }, { of: owner });
  });
  await assert.rejects(wrong.done, ({ faults }) => faults.length === 1);
  assert.throws(() => local.transaction('x', () => {}).again(), { code: 'INVALID' });
  const right = wrong.again((tx) => {
    const owner = tx.insert(items, { title: 'owner' });
    tx.insert(items, { title: 'child' }, { of: owner });
  });
  assert.deepEqual(right.ids, wrong.ids);
  await right.done;
  assert.deepEqual([titles(), list.state.rows[0].id], [['owner'], wrong.ids[0]]);
});

live('writes without a connection are shown, queued, and sent in their order', async (t) => {
  const { server, items, local, list, titles, client } = t;
  await server.kill();
  await until(() => list.status === 'disconnected');
  const first = local.transaction('first', (tx) => tx.insert(items, { title: 'first' }));
  const second = local.transaction('second', (tx) => {
    tx.insert(items, { title: 'second' });
    tx.update(items, first.ids[0], { title: '1st' });
  });
  await null;
  assert.deepEqual([titles(), first.state, list.state.isCurrent, list.status],
    [['1st', 'second'], 'queued', false, 'disconnected']);
  assert.equal(list.state.pendingOf(first.ids[0]), 'queued');
  await server.start();
  await second.done;
  await until(() => local.pending.length === 0 && list.state.isCurrent);
  assert.deepEqual([titles(), first.state], [['1st', 'second'], 'settled']);
  const other = await client();
  const { rows } = await other.fetch((await other.entity('Item')).children(1).properties('title'));
  assert.deepEqual(rows.map(({ title }) => title), ['1st', 'second']);
});

live('undo of what was not sent needs no server, and redo makes it again', async (t) => {
  const { server, items, local, list, titles } = t;
  await server.kill();
  await until(() => list.status === 'disconnected');
  const write = local.transaction('unsent', (tx) => tx.insert(items, { title: 'unsent' }));
  await null;
  assert.deepEqual(titles(), ['unsent']);
  assert.equal(await local.undo().done, null);
  await null;
  assert.deepEqual([titles(), write.state, local.pending.length], [[], 'refused', 0]);
  await assert.rejects(write.done, { code: 'CANCELLED' });
  const again = local.redo();
  await null;
  assert.deepEqual([titles(), again.ids], [['unsent'], write.ids]);
  await server.start();
  await again.done;
  await until(() => local.pending.length === 0);
  assert.deepEqual(titles(), ['unsent']);
  assert.equal((await local.undo().done).name, 'unsent');
  await until(() => titles().length === 0);
  await local.redo().done;
  await until(() => titles().length === 1);
});

live('undo means a redo that is pending, and all writes that coalesce', async ({ items, local, titles }) => {
  const write = local.transaction('one', (tx) => tx.insert(items, { title: '0' }));
  await write.done;
  await local.undo().done;
  const redo = local.redo();
  const undo = local.undo();
  local.redo();
  assert.deepEqual([(await redo.done).name, (await undo.done).name, undo.targets], ['one', 'one', [redo]]);
  await until(() => local.pending.length === 0);
  assert.deepEqual(titles(), ['0']);
  const coalescing = { key: 'title', milliseconds: 60_000 };
  const rename = (title) => local.transaction(title, (tx) => tx.update(items, write.ids[0], { title }), { coalescing });
  const writes = ['1', '2', '3'].map(rename);
  const all = local.undo();
  await null;
  assert.deepEqual([titles(), all.targets], [['0'], writes]);
  assert.equal((await all.done).name, '3');
  await until(() => local.pending.length === 0);
  assert.deepEqual([titles(), all.state], [['0'], 'settled']);
  await local.redo().done;
  await until(() => titles()[0] === '3');
});

live('undo of a write without an answer hides it at once, and it does not come back', async (t) => {
  const { items, local, list, titles } = t;
  const counts = [];
  const write = local.transaction('sent', (tx) => tx.insert(items, { title: 'sent' }));
  await null;
  assert.deepEqual([titles(), write.state], [['sent'], 'sent']);
  list.subscribe(() => counts.push(list.state.count));
  const undo = local.undo();
  await null;
  assert.deepEqual(titles(), []);
  assert.equal((await undo.done).name, 'sent');
  await until(() => local.pending.length === 0);
  assert.ok(counts.every((count) => count === 0), String(counts));
  assert.deepEqual([titles(), write.receipt.isChanged], [[], true]);
});

live('a write that was sent when the connection broke happens once', async ({ items, local, list, titles, proxy }) => {
  let least = 0;
  const faults = [];
  list.subscribe(() => {
    if (list.state.count < least) faults.push(`${list.state.count} rows after ${least}`);
    least = Math.max(least, list.state.count);
  });
  for (let turn = 0; turn < 8; turn += 1) {
    const write = local.transaction(`turn ${turn}`, (tx) => tx.insert(items, { title: `${turn}` }));
    await null;
    if (turn % 2 === 1) await new Promise(setImmediate);
    proxy.breakAll('cut');
    await write.done;
  }
  await until(() => local.pending.length === 0 && list.state.isCurrent);
  assert.deepEqual(titles(), Array.from({ length: 8 }, (_, turn) => `${turn}`));
  assert.deepEqual(faults, []);
});

live('a list that changes its request, pauses or ends does not hold writes back', async (t) => {
  const { items, local, list, done, titles } = t;
  list.pause();
  await until(() => list.status === 'paused');
  const write = local.transaction('a', (tx) => tx.insert(items, { title: 'a', done: true }));
  await write.done;
  await until(() => write.state === 'settled');
  assert.deepEqual([titles(), titles(done), list.state.isCurrent], [[], ['a'], false]);
  list.resume();
  await until(() => list.state.isCurrent);
  assert.deepEqual(titles(), ['a']);

  // What is shown stays, though it is confirmed while the list is paused.
  const counts = [];
  const shown = local.transaction('c', (tx) => tx.insert(items, { title: 'c' }));
  await null;
  list.subscribe(({ state }) => counts.push(state.count));
  list.pause();
  await shown.done;
  await until(() => shown.state === 'settled');
  list.resume();
  await until(() => list.state.isCurrent);
  assert.ok(counts.every((count) => count === 2) && titles().join() === 'a,c', `${counts} ${titles()}`);
  const types = [];
  list.subscribe(({ type }) => types.push(type));
  await list.change(items.where('done == NO').sorted('title').properties('title', 'done'));
  await until(() => titles().join() !== 'a');
  assert.deepEqual([types.includes('snapshot'), types.includes('diff'), list.state.names.length], [true, false, 2]);
  list.close();
  const last = local.transaction('b', (tx) => tx.update(items, write.ids[0], { title: 'b' }));
  await last.done;
  await until(() => last.state === 'settled');
  assert.deepEqual(titles(done), ['b']);
});

live('a client that is closed parks its writes', async ({ server, nest, items, local, list }) => {
  await server.kill();
  await until(() => list.status === 'disconnected');
  const write = local.transaction('lost', (tx) => tx.insert(items, { title: 'lost' }));
  nest.close();
  await assert.rejects(write.done, { code: 'CLOSED' });
  assert.deepEqual([write.state, local.pending.length, list.status], ['parked', 0, 'ended']);
  const late = local.transaction('late', (tx) => tx.delete(2));
  await assert.rejects(late.done, { code: 'CLOSED' });
  assert.throws(() => local.transaction('x', async () => {}), { code: 'INVALID' });
});

live('a group is shown step by step and written at once; writes after its begin wait for it', async (all) => {
  const { items, local, nest, titles } = all;
  const write = await local.group('pack', async (group) => {
    const box = group.transaction((tx) => tx.insert(items, { title: 'box' }));
    await null;
    assert.deepEqual(titles(), ['box']);
    const later = local.transaction('later', (tx) => tx.insert(items, { title: 'later' }));
    group.transaction((tx) => {
      tx.insert(items, { title: 'cup' }, { of: box, as: 'parent' });
      tx.update(items, box, { title: 'Box' });
    });
    await nest.count(items.where('title == "nothing"'));
    assert.deepEqual([titles(), later.state], [['Box', 'later'], 'queued']);
    assert.deepEqual(local.pending.map(({ state }) => state), ['open', 'queued']);
  });
  const receipt = await write.done;
  assert.equal(receipt.isChanged, true);
  await until(() => local.pending.length === 0);
  assert.deepEqual(titles(), ['Box', 'later']);
  const history = await nest.history({ onlyMine: true, limit: 2 });
  assert.deepEqual(history.map(({ name }) => name), ['later', 'pack']);
});

live('a group that is given up leaves nothing, and one without steps is none', async ({ items, local, titles }) => {
  const stop = new Error('stop');
  await assert.rejects(local.group('no', (group) => {
    group.transaction((tx) => tx.insert(items, { title: 'a' }));
    assert.throws(() => local.undo(), { code: 'BUSY' });
    throw stop;
  }), stop);
  await null;
  await null;
  assert.deepEqual([titles(), local.pending.length], [[], 0]);
  assert.equal(await local.group('nothing', () => {}), null);
  // Half of a transaction is never sent, whatever the program does with its error.
  await assert.rejects(local.group('half', (group) => {
    assert.throws(() => group.transaction((tx) => {
      tx.insert(items, { title: 'a' });
      throw stop;
    }), stop);
  }), stop);
  let kept;
  await local.group('kept', (group) => {
    kept = group;
    group.transaction((tx) => tx.insert(items, { title: 'b' }));
  });
  assert.throws(() => kept.transaction((tx) => tx.insert(items, { title: 'c' })), { code: 'INVALID' });
  await until(() => local.pending.length === 0);
  assert.deepEqual(titles(), ['b']);
});

live('an outline shows own inserts, moves and deletes at once, and its confirmation changes no row', async (all) => {
  const { items, local } = all;
  const outline = await local.outline(items.children(1).properties('title'), { expand: 'all' });
  assert.equal(outline.state.pendingOf(1), 'none');
  await until(() => outline.status === 'live');
  const shown = () => outline.state.rows.map(({ title, depth, children, isExpanded }) =>
    `${' '.repeat(depth)}${children > 0 && !isExpanded ? '+' : ''}${title}`);
  const types = [];
  outline.subscribe(({ type }) => types.push(type));
  const [a, b] = local.transaction('two', (tx) => {
    const first = tx.insert(items, { title: 'a' });
    tx.insert(items, { title: 'b' }, { of: first, as: 'parent' });
  }).ids;
  await null;
  assert.deepEqual([shown(), outline.state.pendingOf(b)], [['a', ' b'], 'sent']);
  const write = local.transaction('move', (tx) => {
    const c = tx.insert(items, { title: 'c' }, { of: 1, as: 'parent', first: true });
    tx.move(items, b, { of: c, as: 'parent' });
  });
  await null;
  assert.deepEqual(shown(), ['c', ' b', 'a']);
  await write.done;
  await until(() => local.pending.length === 0);
  assert.equal(types.filter((type) => type === 'diff').length, 2, types.join());
  await outline.setExpanded(write.ids[0], false);
  assert.deepEqual(shown(), ['+c', 'a']);
  local.transaction('below', (tx) => tx.insert(items, { title: 'd' }, { of: write.ids[0], as: 'parent' }));
  local.transaction('away', (tx) => tx.delete(a));
  await null;
  assert.deepEqual([shown(), outline.state.rows[0].children, outline.state.undecided], [['+c'], 2, 0]);
  await until(() => local.pending.length === 0);
  await outline.expandAll();
  assert.deepEqual(shown(), ['c', ' b', ' d']);
  outline.close();
});
