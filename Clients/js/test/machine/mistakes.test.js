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
