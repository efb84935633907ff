import assert from 'node:assert/strict';
import net from 'node:net';
import test from 'node:test';
import { runInNewContext } from 'node:vm';
import { Core } from '../../client/core.js';
import { Driver } from '../../client/driver.js';
import { connect } from '../../node.js';
import { clearToken, isLocal, tokenSettings } from '../../client/token.js';
import { unpacker } from '../../client/unpack.js';
import { openTCP, readAddress, readServers } from '../../transports/tcp.js';
import { messages, openWebSocket, readURL } from '../../transports/websocket.js';
import { turn } from './page.js';

/** What a browser allows and refuses of WebSocket. */
class Socket {
  static last = null;

  constructor(url, protocol) {
    Object.assign(this, { url, protocol, sent: [], closed: [], bufferedAmount: 0 });
    Socket.last = this;
  }

  send(data) {
    this.sent.push(data);
  }

  close(code) {
    if (code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException('bad code', 'InvalidAccessError');
    this.closed.push(code);
  }
}

function open(url = 'ws://localhost:1/nest', settings = {}) {
  const events = [];
  const transport = openWebSocket(url, { WebSocket: Socket, ...settings }, {
    opened: () => events.push(['opened']),
    received: (bytes) => events.push(['received', [...bytes]]),
    closed: (error) => events.push(['closed', error?.code]),
  });
  return { transport, events, socket: Socket.last };
}

test('a WebSocket carries bytes, in messages that a server accepts', () => {
  const { transport, events, socket } = open();
  assert.equal(socket.protocol, 'nest.1');
  socket.onopen();
  socket.onmessage({ data: Uint8Array.of(1, 2).buffer });
  assert.deepEqual(events, [['opened'], ['received', [1, 2]]]);
  transport.send([new Uint8Array(70_000).fill(1), Uint8Array.of(9)]);
  assert.deepEqual(socket.sent.map(({ length }) => length), [65_536, 70_001 - 65_536]);
  assert.equal(socket.sent[1].at(-1), 9);
  assert.deepEqual(messages([]), []);
});

test('bytes of another realm, such as that of a frame or of jsdom, are bytes', () => {
  const { events, socket } = open();
  socket.onopen();
  socket.onmessage({ data: runInNewContext('Uint8Array.of(1, 2).buffer') });
  assert.deepEqual(events, [['opened'], ['received', [1, 2]]]);
});

test('all addresses of a client name one store', async () => {
  for (const wrong of [
    { urls: ['nest://a/one', 'nest://b/two'] }, { url: 'nest://a/one', store: 'two' },
  ]) await assert.rejects(connect(wrong), { code: 'INVALID', message: /one and two|two and one/ });
  const server = net.createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const url = `nest://127.0.0.1:${/** @type {any} */ (server.address()).port}/one`;
  let settings;
  const { connect: begin } = Core.prototype;
  Core.prototype.connect = function connected() {
    settings = this.settings;
    return begin.call(this);
  };
  try {
    await assert.rejects(connect({ url, store: undefined }), { code: 'CONNECTION_LOST' });
    assert.equal(settings.store, 'one', 'an undefined option does not hide the store of the address');
  } finally {
    Core.prototype.connect = begin;
    server.close();
  }
});

test('a deadline that is too far for a timer does not end at once', () => {
  const { setTimeout: wait } = globalThis;
  const asked = [];
  globalThis.setTimeout = (body, ms) => {
    asked.push(ms);
    return wait(() => {}, 0);
  };
  try {
    const settings = { homes: ['a:1'], session: '0f'.repeat(16), connectTimeout: Infinity };
    const platform = { open: () => ({ send() {}, close() {} }) };
    new Driver(platform, settings, { ...settings, random: Math.random }, () => {}).run((m, now) => m.connect(now));
  } finally {
    globalThis.setTimeout = wait;
  }
  assert.deepEqual(asked, [0x7fff_ffff]);
});

test('a WebSocket is closed with a code that browsers allow, and then says nothing more', () => {
  for (const end of [
    ({ transport }) => transport.close(),
    ({ socket }) => socket.onmessage({ data: 'text' }),
  ]) {
    const world = open();
    world.socket.onopen();
    end(world);
    assert.deepEqual(world.socket.closed, [1000]);
    const count = world.events.length;
    world.socket.onmessage({ data: new ArrayBuffer(3) });
    world.socket.onclose({ code: 1006, reason: '' });
    assert.equal(world.events.length, count);
  }
});

test('text, another subprotocol and a refused connection are coded', () => {
  const text = open();
  text.socket.onopen();
  text.socket.onmessage({ data: 'x' });
  assert.deepEqual(text.events.at(-1), ['closed', 'PROTOCOL']);
  const other = open();
  other.socket.protocol = '';
  other.socket.onopen();
  assert.deepEqual(other.events, [['closed', 'PROTOCOL']]);
  const refused = open();
  refused.socket.onclose({ code: 1006, reason: '' });
  assert.deepEqual(refused.events, [['closed', 'UNREACHABLE']]);
});

test('a token is not sent where others can read it', () => {
  const token = tokenSettings(`nest_1_${'ab'.repeat(32)}`);
  assert.throws(() => open('ws://example.org/nest', token), { code: 'UNTRUSTED' });
  open('ws://example.org/nest', { ...token, sendsTokenInClear: true });
  open('wss://example.org/nest', token);
  for (const host of ['localhost', '127.0.0.1', '[::1]']) open(`ws://${host}:7/nest`, token);
  for (const host of ['127.evil.org', 'localhost.evil.org', '10.0.0.1']) assert.equal(isLocal(host), false, host);
  assert.equal(isLocal('::ffff:127.0.0.1'), true);
  assert.match(clearToken('a').message, /without TLS/);
});

test('addresses have one form each', () => {
  assert.equal(readURL('http://h:7'), 'ws://h:7/nest');
  assert.equal(readURL('wss://h/other#x'), 'wss://h/other');
  for (const wrong of ['h:7', 'ftp://h', 'nest://h', '']) {
    assert.throws(() => readURL(wrong), { code: 'INVALID' }, wrong);
  }
  assert.deepEqual(['h', ':8', 'h:8', '[::1]:8', '[::1]'].map(readAddress), [
    'h:7000', '127.0.0.1:8', 'h:8', '[::1]:8', '[::1]:7000',
  ]);
  for (const wrong of ['', '7000', 'h:0', 'h:65536', 'a:b', '::1', '[x]:7', 'a b', 'h:7:8', 'u@h']) {
    assert.throws(() => readAddress(wrong), { code: 'INVALID' }, wrong);
  }
  assert.deepEqual(readServers('nests://a,b:8,[::1]:9/shop'), {
    homes: ['a:7000', 'b:8', '[::1]:9'], usesTLS: true, store: 'shop',
  });
  assert.deepEqual(readServers('a/'), { homes: ['a:7000'], usesTLS: false, store: undefined });
  assert.throws(() => readServers('a/shop'), { code: 'INVALID' });
});

test('TCP: bytes arrive as plain arrays, reading can stop, and a refused connection is coded', async () => {
  const peers = [];
  const server = net.createServer((socket) => {
    peers.push(socket);
    socket.on('error', () => {});
    socket.write(Uint8Array.of(1, 2, 3));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const events = [];
  const arrived = new Promise((resolve) => {
    const transport = openTCP(`127.0.0.1:${port}`, {}, {
      opened: () => transport.send([Uint8Array.of(4), Uint8Array.of(5)]),
      received: (bytes) => {
        events.push(bytes);
        resolve(transport);
      },
      closed: () => events.push('closed'),
    });
  });
  const transport = await arrived;
  assert.equal(Object.getPrototypeOf(events[0]), Uint8Array.prototype);
  const [data] = await Promise.all([new Promise((resolve) => peers[0].once('data', resolve))]);
  assert.deepEqual([...data], [4, 5]);
  transport.close();
  await new Promise((resolve) => peers[0].once('close', resolve));
  assert.equal(events.length, 1, 'a transport that its owner closed says nothing');
  await new Promise((resolve) => server.close(resolve));
  const error = await new Promise((resolve) => {
    openTCP(`127.0.0.1:${port}`, {}, { opened() {}, received() {}, closed: resolve });
  });
  assert.equal(error.code, 'UNREACHABLE');
});

test('compressed content must have its declared size', async () => {
  // "row " and 24 numbers, of protocol.md, section 13: it declares 218 bytes.
  const hex = '28b52ffd20dae50200b40218010002000286726f7720303132333435363738393130313233343536373839323031323372'
    + '6f7720323419004004dc058d60312002ee40634004dc81c68008b80b1ac1624004dc81c68008b8038d0111295781fa40cd3ef006';
  const bytes = Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
  const asked = [];
  const unpack = (length) => unpacker(async (body, size) => {
    asked.push(size);
    return new Uint8Array(length);
  });
  assert.equal((await unpack(218)(bytes)).length, 218);
  assert.equal(await unpack(217)(bytes), null);
  assert.equal(await unpack(218)(bytes, 217), null, 'it declares too much');
  assert.equal(await unpack(218)(bytes.subarray(0, 40)), null);
  assert.deepEqual(asked, [218, 218]);
  assert.equal(await unpacker(() => Promise.reject(new Error('broken')))(bytes), null);
  await turn();
});
