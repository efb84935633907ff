// A cache in IndexedDB, in Chromium: pages that are loaded again, that share a database, and whose database fails.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Server, missing, root } from '../live/nestd.js';
import { Chromium, program } from './chromium.js';

const skip = missing || (program === null && 'chromium is missing');
const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));

/** The program of a page: what it does, it tells the test by functions of its window. */
const list = `
import { connect } from '/nest-client/index.js';
import { IndexedDBCache } from '/nest-client/cache.js';

window.seen = [];
window.faults = [];
/** A socket that opens for the client when the test calls window.release. */
class HeldSocket extends WebSocket {
  set onopen(handler) {
    const released = new Promise((resolve) => { window.release = resolve; });
    super.onopen = (event) => released.then(() => handler(event));
  }
}
window.begin = async ({
  name = 'lists', isOffline = false, isHeld = false, byteCountMax, parents = [1], where, session,
} = {}) => {
  const started = performance.now();
  window.cache = await IndexedDBCache.open({ name, byteCountMax, onFault: ({ code }) => window.faults.push(code) });
  // Nothing listens at port 1.
  const nowhere = isOffline && { url: 'ws://127.0.0.1:1/nest' };
  window.nest = await connect({ cache: window.cache, reconnectPauseMax: 100, ...nowhere, ...(session && { session }),
    ...(isHeld && { WebSocket: HeldSocket }) });
  const items = await window.nest.entity('Item');
  window.lists = parents.map((parent) => {
    let request = items.children(parent).properties('title');
    if (where) request = request.where(where);
    const list = window.nest.results(request);
    list.subscribe(({ type, reason, cause }) => window.seen.push([type, reason ?? cause ?? null, list.status,
      list.state.isCurrent, window.titles(list), window.nest.state.phase]));
    return list;
  });
  return performance.now() - started;
};
/** Follows an outline, and what can be undone. */
window.unfold = async (options) => {
  await window.begin({ ...options, parents: [] });
  const items = await window.nest.entity('Item');
  window.outline = await window.nest.outline(items.children(1).properties('title'));
  window.outline.subscribe(({ type }) => window.seen.push(type));
  window.undo = await window.nest.undoStates();
};
window.titles = (list = window.lists[0]) => list.state.rows.map(({ title }) => title).join(' ');
/** Changes the records of a store: each gets its key. */
const flippedEnd = (bytes) => bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte));
const changes = {
  count: (value) => value,
  flipped: (piece) => ({ ...piece, frames: flippedEnd(piece.frames) }),
  lost: () => undefined,
  other: () => 'x',
  empty: () => null,
  revision: (head) => ({ ...head, revision: head.revision + 1 }),
  number: () => 5,
  left: ({ lists, ...record }) => ({ ...record, lists: lists.map(({ request, list }) => (
    { request, list: list.map((one) => ({ ...one, bytes: flippedEnd(one.bytes) })) })) }),
  recording: (head) => ({ ...head, recording: 'ff'.repeat(8) }),
};
window.damage = (name, store, what) => window.records(name, store, changes[what]);
/** Keeps a store from being written, until the page ends. */
window.hold = (name, store) => new Promise((resolve, reject) => {
  const request = indexedDB.open(name);
  request.onerror = () => reject(request.error);
  request.onsuccess = () => {
    const objects = request.result.transaction(store, 'readwrite').objectStore(store);
    const ask = () => {
      objects.count().onsuccess = () => {
        resolve();
        ask();
      };
    };
    ask();
  };
});
window.records = (name, store, change) => new Promise((resolve, reject) => {
  const request = indexedDB.open(name);
  request.onsuccess = () => {
    const database = request.result;
    const transaction = database.transaction(store, 'readwrite');
    const objects = transaction.objectStore(store);
    let count = 0;
    objects.openCursor().onsuccess = ({ target: { result: cursor } }) => {
      if (!cursor) return;
      count += 1;
      const value = change(cursor.value);
      if (value === undefined) cursor.delete();
      else cursor.update(value);
      cursor.continue();
    };
    transaction.oncomplete = () => { database.close(); resolve(count); };
    transaction.onabort = () => reject(transaction.error);
  };
});
window.isReady = true;
`;

test('a cache in IndexedDB', { skip }, async (context) => {
  const site = mkdtempSync(join(tmpdir(), 'nest-site-'));
  const html = '<!doctype html><title>list</title><script type="module" src="list.js"></script>';
  writeFileSync(join(site, 'index.html'), html);
  writeFileSync(join(site, 'list.js'), list);
  cpSync(join(root, 'Clients/js'), join(site, 'nest-client'), { recursive: true });
  const server = await Server.start('--web', 'WEB', '--web-root', site);
  const browser = await Chromium.start();
  const address = `http://${server.web}/`;
  const open = async () => {
    const page = await browser.open(address);
    await page.until(() => window.isReady);
    return page;
  };
  /** Loads a page again, and begins. */
  const again = async (page, options) => {
    await page.go(address);
    await page.until(() => window.isReady);
    return page.evaluate((given) => window.begin(given).catch((error) => error.code), options);
  };
  const live = (page, titles) => page.until((expected) =>
    window.lists.every(({ status }) => status === 'live')
      && (expected === null || window.titles() === expected), titles);
  const flush = (page) => page.evaluate(() => window.cache.flush());

  try {
    await server.nestc(['add', 'Milk', 'Bread']);

    await context.test('a page that is loaded again shows its rows before there is a connection', async () => {
      const page = await open();
      await again(page, {});
      await live(page, 'Milk Bread');
      await flush(page);
      await again(page, { isOffline: true });
      await page.until(() => window.seen.length > 0);
      assert.deepEqual(await page.evaluate(() => window.seen),
        [['snapshot', 'cache', 'cached', false, 'Milk Bread', 'connecting']]);
      assert.equal(await page.evaluate(() => window.nest.server), null);
      await server.nestc(['add', 'Eggs']);
      // Otherwise the handshake may end before the cache has been read.
      await again(page, { isHeld: true });
      await page.until(() => window.seen.length > 0);
      await page.evaluate(() => window.release());
      await live(page, 'Milk Bread Eggs');
      const seen = (await page.evaluate(() => window.seen))
        .map(([type, , status, , titles, phase]) => [type, status, titles, phase]);
      assert.deepEqual([seen[0], seen.at(-1)],
        [['snapshot', 'cached', 'Milk Bread', 'connecting'], ['diff', 'live', 'Milk Bread Eggs', 'ready']]);
      assert.equal(seen.filter(([type]) => type === 'snapshot').length, 1);
      await page.close();
    });

    await context.test('what a page has shown last is written when it is left', async () => {
      const page = await open();
      await again(page, { name: 'left' });
      await live(page, 'Milk Bread Eggs');
      await flush(page);
      await server.nestc(['add', 'Flour']);
      await live(page, 'Milk Bread Eggs Flour');
      await again(page, { name: 'left', isOffline: true });
      await page.until(() => window.seen.length > 0);
      assert.equal(await page.evaluate(() => window.titles()), 'Milk Bread Eggs Flour');
      // What is left, and damaged then, is not applied.
      await again(page, { name: 'left' });
      await live(page, 'Milk Bread Eggs Flour');
      await flush(page);
      await server.nestc(['add', 'Salt']);
      await live(page, 'Milk Bread Eggs Flour Salt');
      await page.go(address);
      await page.until(() => window.isReady);
      assert.equal(await page.evaluate(() => window.damage('left', 'left', 'left')), 1);
      await page.evaluate(() => window.begin({ name: 'left', isOffline: true }));
      await page.until(() => window.seen.length > 0);
      assert.equal(await page.evaluate(() => window.titles()), 'Milk Bread Eggs Flour');
      await page.close();
    });

    await context.test('a page may be left while it writes', async () => {
      const page = await open();
      await again(page, { name: 'writing' });
      await live(page, null);
      await flush(page);
      // Nothing can be written to the views any more, until the page ends.
      await page.evaluate(() => window.hold('writing', 'views'));
      await server.nestc(['add', 'Sugar']);
      await page.until(() => window.titles().endsWith('Sugar'));
      const shown = await page.evaluate(() => window.titles());
      await page.evaluate(() => { window.cache.flush(); });
      await again(page, { name: 'writing', isOffline: true });
      await page.until(() => window.seen.length > 0);
      assert.equal(await page.evaluate(() => window.titles()), shown);
      await page.close();
    });

    await context.test('an outline is there with its fold states, and so is what can be undone', async () => {
      const page = await open();
      const options = { name: 'outline', session: '0f'.repeat(16) };
      await page.evaluate((given) => window.unfold(given), options);
      await page.until(() => window.outline.state.count > 0);
      await page.evaluate(async () => {
        const items = await window.nest.entity('Item');
        const [{ id }] = window.outline.state.rows;
        await window.nest.transaction('below', (tx) => tx.insert(items, { title: 'below' }, { of: id }));
        await window.outline.setExpanded(id, true);
      });
      await page.until(() => window.outline.state.rows[1]?.depth === 1 && window.undo.state?.undo?.name === 'below');
      const before = await page.evaluate(() => window.titles(window.outline));
      await flush(page);
      await page.go(address);
      await page.until(() => window.isReady);
      await page.evaluate((given) => window.unfold(given), { ...options, isOffline: true });
      await page.until(() => window.outline.state.count > 0);
      const { outline, undo } = await page.evaluate(() => ({
        outline: [window.titles(window.outline), window.outline.status, window.outline.state.rows[1].depth],
        undo: window.undo.state.undo.name,
      }));
      assert.deepEqual([outline, undo], [[before, 'cached', 1], 'below']);
      await page.go(address);
      await page.until(() => window.isReady);
      await page.evaluate((given) => window.unfold(given), options);
      await page.until(() => window.outline.state.isCurrent);
      assert.equal(await page.evaluate(() => window.titles(window.outline)), before);
      assert.deepEqual(await page.evaluate(() => window.seen.filter((type) => type === 'reset')), []);
      await page.evaluate(() => window.nest.undo());
      await page.close();
    });

    await context.test('a predicate is known without a server', async () => {
      const page = await open();
      const options = { name: 'where', where: 'title BEGINSWITH "M"' };
      await again(page, options);
      await live(page, 'Milk');
      await flush(page);
      await again(page, { ...options, isOffline: true });
      await page.until(() => window.seen.length > 0);
      assert.equal(await page.evaluate(() => window.titles()), 'Milk');
      await page.close();
    });

    await context.test('two pages with one database do not mix what they write', async () => {
      const pages = [await open(), await open()];
      for (const page of pages) await again(page, { name: 'shared' });
      for (const page of pages) await live(page, null);
      for (let round = 0; round < 5; round += 1) {
        await server.nestc(['add', `round${round}`]);
        const [first, second] = round % 2 === 0 ? pages : [...pages].reverse();
        for (const page of pages) {
          await page.until((title) => window.titles().endsWith(title), `round${round}`);
          if (round === 2) await again(page, { name: 'shared' }).then(() => live(page, null));
        }
        await flush(first);
        await flush(second);
        const third = await open();
        await again(third, { name: 'shared', isOffline: true });
        await third.until(() => window.seen.length > 0);
        const shown = await third.evaluate(() => window.titles());
        assert.equal(shown, await first.evaluate(() => window.titles()));
        assert.deepEqual(await third.evaluate(() => window.faults), []);
        await third.close();
      }
      for (const page of pages) await page.close();
    });

    await context.test('after clear nothing is left', async () => {
      const page = await open();
      await again(page, { name: 'clear' });
      await live(page, null);
      await page.evaluate(async () => {
        window.nest.close();
        await window.cache.clear();
      });
      assert.deepEqual(await page.evaluate(async () => {
        const counts = [];
        for (const store of ['meta', 'predicates', 'views', 'pieces', 'left']) {
          counts.push(await window.damage('clear', store, 'count'));
        }
        return counts;
      }), [0, 0, 0, 0, 0]);
      assert.equal(await again(page, { name: 'clear', isOffline: true }), 'UNREACHABLE');
      await page.close();
    });

    await context.test('it is bounded: the lists that were least recently shown leave first', async () => {
      const page = await open();
      const rows = 'x'.repeat(60);
      const parents = [];
      for (let index = 0; index < 4; index += 1) {
        const [id] = (await server.nestc(['add', `list${index}`])).trim().split('\n').map(Number);
        await server.nestc(['add', '--parent', `${id}`, ...Array.from({ length: 100 }, (_, row) => `${row} ${rows}`)]);
        parents.push(id);
      }
      const byteCountMax = 20_000;
      for (const parent of parents) {
        await again(page, { name: 'bounded', byteCountMax, parents: [parent] });
        await live(page, null);
        await flush(page);
      }
      const sums = await page.evaluate(async () => {
        const found = { bytes: 0, pieces: 0 };
        await window.records('bounded', 'views', (head) => { found.bytes += head.bytes; return head; });
        await window.records('bounded', 'pieces', (piece) => { found.pieces += piece.frames.length; return piece; });
        return found;
      });
      const { bytes, pieces } = sums;
      assert.ok(bytes <= byteCountMax && pieces <= bytes && pieces > byteCountMax / 2, JSON.stringify(sums));
      const isKept = async (parent) => {
        await again(page, { name: 'bounded', byteCountMax, parents: [parent], isOffline: true });
        // What the cache has is read by now, because it answers one call after the other.
        await page.evaluate(() => window.cache.flush());
        return page.evaluate(() => window.lists[0].state.count > 0);
      };
      await page.evaluate(() => window.nest.close());
      assert.equal(await isKept(parents[3]), true);
      assert.equal(await isKept(parents[0]), false);
      await page.close();
    });

    await context.test('a damaged record is never shown, and removed', async () => {
      const page = await open();
      for (const [what, store] of Object.entries({
        flipped: 'pieces', lost: 'pieces', other: 'pieces', empty: 'pieces',
        revision: 'views', number: 'views', recording: 'views',
      })) {
        const name = `damaged ${what}`;
        await again(page, { name });
        await live(page, null);
        await flush(page);
        await page.evaluate(async (...given) => {
          window.nest.close();
          await window.cache.close();
          await window.damage(...given);
        }, name, store, what);
        await again(page, { name, isOffline: true });
        await page.evaluate(() => window.cache.flush());
        const shown = await page.evaluate(() => [window.lists[0].status, window.titles()]);
        assert.deepEqual(shown, ['connecting', ''], what);
        // The next run writes it again.
        await again(page, { name });
        await live(page, null);
        await flush(page);
        await again(page, { name, isOffline: true });
        await page.until(() => window.seen.length > 0);
        assert.match(await page.evaluate(() => window.titles()), /^Milk Bread/, what);
      }
      await page.close();
    });

    await context.test('a database that cannot be used is as none, and the client says so once', async () => {
      const page = await open();
      const newer = (name) => page.evaluate((given) => new Promise((resolve) => {
        const request = indexedDB.open(given, 99);
        request.onsuccess = () => { request.result.close(); resolve('opened'); };
        request.onblocked = () => resolve('blocked');
      }), name);
      // Another page has a newer version.
      assert.equal(await newer('newer'), 'opened');
      await again(page, { name: 'newer' });
      await live(page, null);
      assert.deepEqual(await page.evaluate(() => window.faults), ['STORAGE_FAILURE']);
      // A newer version comes meanwhile: it is not blocked.
      await again(page, { name: 'older' });
      await live(page, null);
      assert.equal(await newer('older'), 'opened');
      await page.until(() => window.faults.length > 0);
      await server.nestc(['add', 'Oats']);
      await page.until(() => window.titles().endsWith('Oats'));
      assert.deepEqual(await page.evaluate(() => [window.faults, window.lists[0].status]), [['UNSUPPORTED'], 'live']);
      await page.close();
    });

    await context.test('without room the client goes on, and says so once', async () => {
      for (const how of ['thrown', 'aborted']) {
        const name = `room ${how}`;
        const page = await open();
        await again(page, { name });
        await live(page, null);
        await flush(page);
        // Chromium enforces a quota only now and then: the store refuses what it is given in either way.
        await page.evaluate((isThrown) => {
          const { put } = IDBObjectStore.prototype;
          IDBObjectStore.prototype.put = function refuse(...given) {
            if (this.name !== 'pieces') return put.apply(this, given);
            if (isThrown) throw new DOMException('there is no room', 'QuotaExceededError');
            const request = put.apply(this, given);
            this.transaction.abort();
            return request;
          };
          window.allow = () => { IDBObjectStore.prototype.put = put; };
        }, how === 'thrown');
        for (const title of [`${how} 1`, `${how} 2`]) {
          await server.nestc(['add', title]);
          await page.until((end) => window.titles().endsWith(end), title);
          await flush(page);
        }
        const shown = await page.evaluate(() => [window.faults, window.lists[0].status]);
        assert.deepEqual(shown, [['STORAGE_FAILURE'], 'live']);
        await page.evaluate(() => window.allow());
        await flush(page);
        // What could not be kept is not there, instead of an older state.
        await again(page, { name, isOffline: true });
        await flush(page);
        assert.deepEqual(await page.evaluate(() => [window.seen, window.lists[0].status]), [[], 'connecting']);
        await page.close();
      }
    });

    await context.test(`random changes, by two users of one database (NEST_SEED=${seed})`, async () => {
      const page = await open();
      for (let run = 0; run < 5; run += 1) {
        assert.equal(await page.evaluate(async (...given) => {
          const { compare } = await import('/nest-client/test/cache/database.js');
          return compare(...given);
        }, seed + run, Number(process.env.NEST_STEPS ?? 40)), null, `NEST_SEED=${seed + run}`);
      }
      assert.deepEqual(page.faults.filter((fault) => !fault.startsWith('WebSocket connection to')), []);
      await page.close();
    });
  } finally {
    await browser.close();
    await server.close();
    rmSync(site, { recursive: true });
  }
});
