// An outline and the undo state of a client with a cache against nestd: they are there without a server, as they were
// shown last, and then get the difference.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryCache } from '../../cache.js';
import { connect } from '../../node.js';
import { optimistic } from '../../optimistic.js';
import { missing, Server, until } from './nestd.js';

const SESSION = '0f'.repeat(16);
const textOf = ({ rows }) => rows.map(({ title, depth }) => `${'.'.repeat(depth)}${title}`).join(' ');

for (const isLocal of [false, true]) {
  const what = isLocal ? 'an optimistic outline' : 'an outline';
  test(`${what} begins with what it has shown last`, { skip: missing }, async () => {
    const server = await Server.start();
    const cache = new MemoryCache();
    const clients = [];
    const begin = async (options = { cache, session: SESSION }) => {
      const nest = await connect({ url: `nest://${server.address}`, reconnectPauseMax: 100, ...options });
      clients.push(nest);
      return { nest, items: await nest.entity('Item') };
    };
    const outlineOf = ({ nest, items }) => {
      const request = items.children(1).properties('title');
      return isLocal ? optimistic(nest).outline(request) : nest.outline(request);
    };
    try {
      const first = await begin();
      let list;
      await first.nest.transaction('a list', (tx) => {
        list = tx.insert(first.items, { title: 'list' }, { of: 1 });
        for (const title of ['a', 'b']) tx.insert(first.items, { title }, { of: list });
        for (const title of ['c', 'd']) tx.insert(first.items, { title }, { of: 1 });
      });
      const undo = await first.nest.undoStates();
      const outline = await outlineOf(first);
      await until(() => outline.state.rows.length === 3 && undo.state?.undo?.name === 'a list');
      await outline.setExpanded(outline.state.rows[0], true);
      await until(() => outline.state.rows.length === 5);
      await outline.scroll({ offset: 2, limit: 100 });
      await outline.setExpanded(outline.state.rows.at(-1), true);
      await outline.scroll({ offset: 0, limit: 100 });
      await until(() => textOf(outline.state) === 'list .a .b c d');
      first.nest.close();

      await server.kill();
      const next = await begin();
      const again = await outlineOf(next);
      await until(() => again.state.rows.length > 0);
      assert.deepEqual([textOf(again.state), again.status, again.state.isCurrent], ['list .a .b c d', 'cached', false]);
      assert.equal((await next.nest.undoStates()).state.undo.name, 'a list');
      const types = [];
      again.subscribe(({ type }) => types.push(type));

      await server.start();
      const other = await begin({});
      await other.nest.transaction('more', (tx) => {
        tx.insert(other.items, { title: 'new' }, { of: 1, at: 0 });
        tx.insert(other.items, { title: 'e' }, { of: again.state.rows.at(-1).id });
      });
      await until(() => again.state.isCurrent && again.state.rows.length === 7);
      assert.equal(textOf(again.state), 'new list .a .b c d .e');
      assert.ok(!types.includes('reset') && !types.includes('snapshot'), types.join(' '));
    } finally {
      for (const nest of clients) nest.close();
      await server.close();
    }
  });
}
