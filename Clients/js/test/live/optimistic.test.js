// Reserved ids and places near a gap, with a server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { Server, missing } from './nestd.js';

test('inserts with reserved ids go near a gap, and only the session may use its ids', { skip: missing }, async () => {
  const server = await Server.start();
  const clients = [];
  const client = async (options) => {
    const nest = await connect({ url: `nest://${server.address}`, reconnectPauseMax: 100, ...options });
    clients.push(nest);
    return nest;
  };
  try {
    const nest = await client();
    const items = await nest.entity('Item');
    const titles = async () => (await nest.fetch(items.children(1).properties('title'))).rows.map(({ title }) => title);
    const [a, b, c, d, e, f] = await nest.reserveIDs(6);
    const receipt = await nest.transaction('abc', (tx) => {
      for (const [id, title] of [[a, 'a'], [b, 'b'], [c, 'c']]) tx.insert(items, { title }, { id });
    });
    assert.deepEqual([receipt.id(1), receipt.id(2), receipt.id(3)], [a, b, c]);

    // The left neighbour is gone, then both are.
    const drop = (id, title, left, right) => nest.transaction(`drop ${title}`, (tx) =>
      tx.insert(items, { title }, { id, of: 1, near: { left, right } }));
    await nest.transaction('remove', (tx) => tx.delete(b));
    await drop(d, 'd', b, c);
    assert.deepEqual(await titles(), ['a', 'd', 'c']);
    await nest.transaction('move', (tx) => tx.move(items, c, { of: 1, near: { left: a, right: d } }));
    assert.deepEqual(await titles(), ['a', 'c', 'd']);
    await nest.undo();
    await nest.undo();
    await nest.redo();
    assert.equal((await nest.object(d)).values.title, 'd');

    // An id is used once, and belongs to its session.
    await assert.rejects(drop(d, 'again', null, null), { code: 'INVALID' });
    const other = await client();
    await assert.rejects(other.transaction('', (tx) => tx.insert(items, { title: 'x' }, { id: e })), { code: 'INVALID' });
    assert.equal((await other.transaction('', (tx) => tx.insert(items, { title: 'x' }))).id(1) > f, true);

    // The ids outlive a server that is killed, and the client that reserved them.
    await server.restart();
    await drop(e, 'e', b, 99_999);
    nest.close();
    const later = await client({ session: nest.session });
    await later.transaction('f', (tx) => tx.insert(items, { title: 'f' }, { id: f, of: 1, near: { left: a } }));
    const { rows } = await later.fetch(items.children(1).properties('title'));
    assert.deepEqual(rows.map(({ id, title }) => [id, title]).filter(([, title]) => title !== 'x'),
      [[a, 'a'], [f, 'f'], [d, 'd'], [c, 'c'], [e, 'e']]);
  } finally {
    for (const one of clients) one.close();
    await server.close();
  }
});
