// What a program does wrong is refused with a code, and harms nothing else.
import assert from 'node:assert/strict';
import test from 'node:test';
import { optionsOf, start } from '../../client/connect.js';
import { quote } from '../../client/text.js';
import { Reference, UUID } from '../../wire/values.js';
import { Page, turn } from './page.js';

test('connect takes a URL or options, and refuses an option that it does not know', () => {
  assert.deepEqual(optionsOf('nest://db.example'), { url: 'nest://db.example' });
  assert.deepEqual(optionsOf(undefined), {});
  assert.deepEqual(optionsOf(null), {});
  for (const wrong of [{ address: 'db' }, { host: 'db', port: 7000 }, { userName: 'x' }]) {
    assert.throws(() => optionsOf(wrong), { code: 'INVALID' });
  }
});

test('names that cannot be sent are refused before anything is', async () => {
  const page = new Page();
  for (const wrong of [{ user: '\ud800' }, { user: 'a\0' }, { user: 5 }, { clientName: 7 }]) {
    await assert.rejects(start(page.platform, ['a:1'], wrong), ({ code }) => /^INVALID/.test(code));
  }
  await assert.rejects(start(page.platform, ['a:1'], { token: 'nest_7' }), { code: 'INVALID' });
  assert.equal(page.opened, 0);
  const nest = await page.connect({ token: '' });
  assert.equal(nest.settings.token, null);
  nest.close();
});

test('a mistake in what no caller waits for ends the client, with its code', async () => {
  const page = new Page();
  const nest = await page.connect();
  const { received } = page.events;
  nest.run((m) => {
    m.received = () => {
      throw new RangeError('a mistake of the library');
    };
  });
  received(new Uint8Array(1));
  assert.equal(nest.state.phase, 'closed');
  assert.match(nest.state.error.message, /a mistake of the library/);
  assert.equal(nest.state.error.code, 'INTERNAL');
});

test('what a platform throws as it opens a connection becomes a NestError', async () => {
  const { platform } = new Page();
  const open = () => {
    throw new TypeError('a page of https cannot open ws:');
  };
  await assert.rejects(start({ ...platform, open }, ['a:1'], {}), { code: 'UNREACHABLE', message: /https/ });
});

test('a key that is null or undefined is a new one, and OUTCOME_UNKNOWN names the key', async () => {
  const page = new Page();
  const nest = await page.connect();
  const writes = [
    nest.transaction('x', () => {}, { key: null }), nest.transaction('x', () => {}, { key: undefined }),
    nest.undo({ key: undefined }), nest.redo({ key: null, policy: undefined }), nest.undo(),
  ];
  const keys = [];
  for (const name of ['transaction', 'transaction', 'undo', 'redo', 'undo']) {
    keys.push((await page.next(name)).fields.key);
  }
  assert.equal(keys.every((key) => /^[0-9a-f]{32}$/.test(key)), true);
  nest.close();
  const errors = (await Promise.allSettled(writes)).map(({ reason }) => reason);
  assert.deepEqual(errors.map(({ code }) => code), Array(5).fill('OUTCOME_UNKNOWN'));
  assert.deepEqual(new Set(errors.map(({ key }) => key)), new Set(keys));
});

test('a step after the end of a transaction is refused', async () => {
  const page = new Page();
  const nest = await page.connect();
  let kept;
  const write = nest.transaction('x', (tx) => {
    kept = tx;
  });
  await page.next('transaction');
  assert.throws(() => kept.delete(3), { code: 'INVALID' });
  nest.close();
  await assert.rejects(write, { code: 'OUTCOME_UNKNOWN' });
});

test('a reference or uuid in a predicate is nothing else', () => {
  assert.equal(quote(new Reference(7)), '7');
  assert.throws(() => quote(new Reference('999 OR TRUEPREDICATE')), { code: 'INVALID' });
  assert.throws(() => quote(new UUID('") OR TRUEPREDICATE')), { code: 'INVALID' });
  assert.throws(() => quote({}), { code: 'INVALID' });
});

test('a call refuses an option that it does not know, and a time that is none, before anything is sent', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const none = () => {};
  const operations = await nest.operations();
  const wrong = [
    nest.undo({ polisy: 'force' }), nest.redo({ rehome: true }), nest.revert(3, { expected: 3 }),
    nest.transaction('x', none, { Key: 'x' }), nest.fetch(items, { timeOut: 1 }), nest.count(items, { atleast: 3 }),
    nest.object(1, { sinal: null }), nest.history({ max: 3 }), nest.preview('undo', { expected: 3 }),
    nest.changes({ entity: 'Item' }).next(), nest.export({ entity: items, root: 1, relation: 'children' }),
    nest.import({ entity: items, properties: [], placement: {} }, []),
    nest.fetch(items, { timeout: NaN }), nest.object(1, { timeout: -1 }), nest.undo({ timeout: '5' }),
    operations.createToken({ name: 'x', expiry: new Date() }),
  ];
  for (const { reason } of await Promise.allSettled(wrong)) assert.equal(reason?.code, 'INVALID', String(reason));
  assert.match(await nest.undo({ polisy: 1 }).catch(({ message }) => message), /'polisy', only expected, policy/);
  assert.deepEqual(page.sent, []);
  for (const options of [null, undefined, {}]) nest.fetch(items, options).catch(none);
  assert.equal((await page.next('fetch')).name, 'fetch');
  for (const options of [{ requestTimeout: NaN }, { connectTimeout: '5' }, { reconnectPauseMax: -1 }]) {
    assert.throws(() => optionsOf(options), { code: 'INVALID' });
  }
  assert.deepEqual(optionsOf({ connectTimeout: Infinity }), { connectTimeout: Infinity });
  nest.close();
});

test('signal and timeout count also while the server reads the predicate', async () => {
  const page = new Page();
  const nest = await page.connect();
  const items = await nest.entity('Item');
  const controller = new AbortController();
  const reads = [
    nest.fetch(items.where('a == 1'), { signal: controller.signal }),
    nest.count(items.where('b == 1'), { timeout: 20 }),
    nest.fetch(items.where('a == 1')),
  ];
  const { id } = await page.next('parsePredicate');
  await assert.rejects(reads[1], { code: 'TIMED_OUT' });
  controller.abort();
  await assert.rejects(reads[0], { code: 'CANCELLED' });
  await assert.rejects(nest.fetch(items.where('c'), { signal: controller.signal }), { code: 'CANCELLED' });
  page.reply('predicate', { predicate: new Uint8Array([0]) }, id);
  await page.next('fetch');
  await turn();
  assert.equal(page.sent.filter(({ name }) => name === 'fetch').length, 0, 'only the third was sent');
  nest.close();
  await assert.rejects(reads[2], { code: 'CLOSED' });
});

test('a write, an undo and a write are sent in their order, although the undo loads a module first', async () => {
  const page = new Page();
  const nest = await page.connect();
  const writes = [nest.transaction('x', () => {}), nest.undo(), nest.transaction('y', () => {}), nest.redo()];
  const isWrite = ({ name }) => /transaction|undo|redo/.test(name);
  for (let i = 0; i < 100 && page.sent.filter(isWrite).length < 4; i++) await turn();
  assert.deepEqual(page.sent.filter(isWrite).map(({ name }) => name), ['transaction', 'undo', 'transaction', 'redo']);
  nest.close();
  await Promise.allSettled(writes);
});

test('the change of a paused list waits until it continues', async () => {
  const page = new Page();
  const nest = await page.connect({ requestTimeout: 20 });
  const items = await nest.entity('Item');
  const list = nest.results(items.properties('title'));
  await page.list([[2, 'Milk']]);
  list.pause();
  await page.next('unsubscribe');
  let end = null;
  list.change(items.properties('done')).then((value) => {
    end = value;
  }, (error) => {
    end = error.code;
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(end, null);
  list.resume();
  await page.next('subscribe');
  while (end === null) await turn();
  assert.equal(end, 'TIMED_OUT', 'from then on its time passes');
  nest.close();
});
