// The proxy and its random numbers: without faults it changes nothing, and with faults it only cuts off the end.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { ChaosProxy } from './proxy.js';
import { Random } from './random.js';

test('random numbers repeat with their seed, and reach all values', () => {
  const draw = (seed) => {
    const random = new Random(seed);
    return Array.from({ length: 2000 }, () => random.below(6));
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  assert.deepEqual([...new Set(draw(7))].sort(), [0, 1, 2, 3, 4, 5]);
  const random = new Random(1);
  const names = Array.from({ length: 400 }, () => random.weighted({ often: 9, seldom: 1, never: 0 }));
  const seldom = names.filter((name) => name === 'seldom').length;
  assert.ok(seldom > 10 && seldom < 100 && !names.includes('never') && !names.includes(undefined), `${seldom}`);
});

/** `once` would reject with the socket's error. */
const closed = (socket) => new Promise((resolve) => socket.once('close', resolve));

/** A server that sends back what it gets, and a proxy in front of it. */
async function echo(seed, body) {
  const server = createServer((socket) => { socket.on('error', () => {}); socket.pipe(socket); });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await ChaosProxy.start(() => server.address().port, new Random(seed));
  try {
    return await body(proxy);
  } finally {
    await proxy.close();
    server.close();
  }
}

/** Sends bytes through the proxy; returns what came back before the end, and whether that was orderly. */
async function exchange(proxy, bytes) {
  const socket = connect(proxy.port, '127.0.0.1');
  const parts = [];
  let failed = null;
  socket.on('data', (part) => parts.push(part)).on('error', (error) => { failed = error.code; });
  socket.end(bytes);
  await closed(socket);
  return { back: Buffer.concat(parts), failed };
}

const sent = Buffer.from(Array.from({ length: 10_000 }, (_, index) => index * 7 & 255));

test('a calm proxy forwards every byte', () => echo(1, async (proxy) => {
  const { back, failed } = await exchange(proxy, sent);
  assert.equal(failed, null);
  assert.ok(back.equals(sent));
  assert.deepEqual(proxy.counts, { connections: 1, faults: 0, refused: 0, bytes: 20_000 });
}));

test('a wild proxy delivers a beginning of the bytes, and sometimes all', () => echo(5, async (proxy) => {
  proxy.wild = true;
  let whole = 0;
  for (let turn = 0; turn < 24; turn += 1) {
    const { back, failed } = await exchange(proxy, sent);
    assert.ok(back.equals(sent.subarray(0, back.length)));
    if (back.length === sent.length && !failed) whole += 1;
  }
  assert.ok(whole > 0 && whole < 24, `${whole} of 24`);
  assert.ok(proxy.counts.faults > 0 && proxy.counts.refused > 0, JSON.stringify(proxy.counts));
  proxy.calm();
  assert.ok((await exchange(proxy, sent)).back.equals(sent));
}));

test('breakAll ends every connection', () => echo(3, async (proxy) => {
  const socket = connect(proxy.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('a');
  await once(socket, 'data');
  proxy.breakAll('reset');
  await closed(socket);
  assert.equal(proxy.links.size, 0);
}));
