// What the web port refuses, and with which code: asked by raw sockets, because a browser would not send it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeFrame, preface } from '../../wire/frames.js';
import { decode, typeOf } from '../../wire/messages.js';
import { Server, missing, root } from './nestd.js';
import { Messages, RawSocket, frame, handshake, login, opcodes, proof } from './rawsocket.js';

test('the web port', { skip: missing }, async (context) => {
  const server = await Server.start('--web', 'WEB', '--web-root', root, '--web-origin', 'https://app.example');
  try {
    await refuse(context, server);
  } finally {
    await server.close();
  }
});

async function refuse(context, server) {
  /** Sends a head; returns the answer. */
  const ask = async (head) => {
    const raw = new RawSocket(server.webPort);
    raw.write(head);
    const answer = await raw.head();
    await raw.close();
    return answer;
  };
  /** A WebSocket after the handshake. */
  const open = async (...bytes) => {
    const raw = new RawSocket(server.webPort);
    raw.write(handshake(server.web));
    const answer = await raw.head();
    assert.equal(answer.status, 101, answer.text);
    for (const each of bytes) raw.write(each);
    return raw;
  };
  /** The server still serves, and is the process that it was. */
  const isAlive = async () => {
    const raw = await open(frame(opcodes.binary, login));
    assert.equal((await new Messages(raw).next()).name, 'welcome');
    await raw.close();
    assert.equal(server.process.exitCode ?? server.process.signalCode, null, server.log);
  };

  await context.test('accepts a handshake, and proves that it read it', async () => {
    const { status, fields } = await ask(handshake(server.web));
    assert.equal(status, 101);
    assert.equal(fields['sec-websocket-accept'], proof);
    assert.equal(fields['sec-websocket-protocol'], 'nest.1');
    assert.equal(fields['sec-websocket-extensions'], undefined, 'no compression of messages');
  });

  await context.test('refuses names that are not its own, and origins that may not connect', async () => {
    const { webPort, web } = server;
    const cases = [
      [421, { Host: 'evil.example' }], [421, { Host: `evil.example:${webPort}` }],
      [421, { Host: `localhost.evil.example:${webPort}` }], [421, { Host: '10.0.0.1' }],
      [400, { Host: null }], [400, { Host: [web, 'evil.example'] }], [400, { Host: 'a b' }], [400, { Host: '' }],
      [101, { Host: `LOCALHOST:${webPort}` }], [101, { Host: `[::1]:${webPort}` }],
      [403, { Origin: 'null' }], [403, { Origin: 'http://evil.example' }], [403, { Origin: `https://${web}` }],
      [403, { Origin: 'http://127.0.0.1:1' }], [403, { Origin: `http://localhost:${webPort}` }], [403, { Origin: '' }],
      [403, { Origin: `http://${web}.evil.example` }], [403, { Origin: 'https://app.example:444' }],
      [400, { Origin: [`http://${web}`, 'http://evil.example'] }],
      [101, { Origin: `http://${web}` }], [101, { Origin: 'https://app.example' }],
      [101, { Host: `localhost:${webPort}`, Origin: `http://localhost:${webPort}` }],
    ];
    for (const [status, fields] of cases) {
      assert.equal((await ask(handshake(web, fields))).status, status, JSON.stringify(fields));
    }
    const file = (fields) => ask(handshake(web, { Upgrade: null, Connection: null, ...fields }, 'GET / HTTP/1.1'));
    assert.equal((await file({ Host: 'evil.example' })).status, 421, 'files too');
    assert.equal((await file({ Origin: 'http://evil.example' })).status, 403);
  });

  await context.test('refuses handshakes that are not of this protocol', async () => {
    const cases = [
      [426, { 'Sec-WebSocket-Version': '12' }], [426, { 'Sec-WebSocket-Version': null }],
      [400, { 'Sec-WebSocket-Key': null }], [400, { 'Sec-WebSocket-Key': 'c2hvcnQ=' }],
      [400, { 'Sec-WebSocket-Protocol': null }], [400, { 'Sec-WebSocket-Protocol': 'nest.2, chat' }],
      [101, { 'Sec-WebSocket-Protocol': 'chat, nest.1' }], [101, { Connection: 'keep-alive, Upgrade' }],
      [426, { Upgrade: null }], [426, { Upgrade: 'h2c' }], [426, { Connection: null }], [426, { Connection: 'close' }],
      [400, { 'Content-Length': '5' }], [400, { 'Transfer-Encoding': 'chunked' }],
    ];
    for (const [status, fields] of cases) {
      assert.equal((await ask(handshake(server.web, fields))).status, status, JSON.stringify(fields));
    }
    assert.equal((await ask(handshake(server.web, {}, 'POST /nest HTTP/1.1'))).status, 405);
    assert.equal((await ask(handshake(server.web, {}, 'GET /nest HTTP/2.0'))).status, 505);
    assert.equal((await ask(`GET /nest HTTP/1.1\nHost: ${server.web}\n\n\r\n\r\n`)).status, 400, 'lines without CR');
    assert.equal((await ask(handshake(server.web, { Padding: 'x'.repeat(9000) }))).status, 431);
    assert.equal((await ask(handshake(server.web, { Padding: Array(500).fill('x') }))).status, 431);
  });

  await context.test('survives an upgrade with another request behind it', async () => {
    for (const connection of ['Upgrade', 'upgrade\t', 'upgrade\t, x']) {
      const raw = new RawSocket(server.webPort);
      raw.write(handshake(server.web, { Connection: connection }) + handshake(server.web, {}, 'GET / HTTP/1.1'));
      assert.ok((await raw.head()) !== null);
      await raw.close();
    }
    await isAlive();
  });

  await context.test('serves no file outside of its root, and says how a page may behave', async () => {
    const get = (path, fields = {}) => ask(
      handshake(server.web, { Upgrade: null, Connection: null, ...fields }, `GET ${path} HTTP/1.1`));
    const paths = ['/../etc/passwd', '/%2e%2e/etc/passwd', '/.git/HEAD', '/a/%2e%2e/%2e%2e/etc/passwd',
      '/%2fetc/passwd', '/Clients\\js', '/none'];
    for (const path of paths) {
      assert.equal((await get(path)).status, 404, path);
    }
    assert.equal((await get('/%00')).status, 404);
    const readme = await get('/README.md');
    assert.equal(readme.status, 200);
    assert.equal((await get('/README.md', { 'If-None-Match': readme.fields.etag })).status, 304);
    assert.equal(readme.fields['x-content-type-options'], 'nosniff');
    for (const rule of ["default-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) {
      assert.ok(readme.fields['content-security-policy'].includes(rule), rule);
    }
  });

  await context.test('ends a WebSocket with the code of what is wrong', async () => {
    const { text, binary, continuation, close, ping, pong } = opcodes;
    const data = Buffer.from('nest');
    const cases = {
      text: [1003, frame(text, data)],
      'an unmasked frame': [1002, frame(binary, data, { masked: false })],
      'a reserved bit, as compressed messages have it': [1002, frame(binary, data, { rsv: 4 })],
      'an unknown opcode': [1002, frame(3, data)],
      'a continuation of nothing': [1002, frame(continuation, data)],
      'a message inside a message': [1002, frame(binary, login, { fin: false }), frame(binary, data)],
      'text inside a message': [1002, frame(binary, login, { fin: false }), frame(text, data)],
      'a ping in parts': [1002, frame(ping, data, { fin: false })],
      'a ping of 126 bytes': [1002, frame(ping, Buffer.alloc(126))],
      'a payload of 65,537 bytes': [1009, frame(binary, Buffer.alloc(10), { claimed: 65537 })],
      'a payload of 2^40 bytes': [1009, frame(binary, Buffer.alloc(10), { claimed: 2 ** 40 })],
      'a close with a code that no client may send': [1002, frame(close, Buffer.from([0x03, 0xed]))],
      'a close of one byte': [1002, frame(close, Buffer.from([3]))],
      'a close with a reason that is not UTF-8': [1007, frame(close, Buffer.from([3, 0xe8, 0xff]))],
      'a close': [1000, frame(close, Buffer.from([3, 0xe8]))],
      'a close of an application': [3999, frame(close, Buffer.from([0x0f, 0x9f]))],
      'a close without a code': [1000, frame(close)],
      'a pong without a ping, then text': [1003, frame(pong, data), frame(text, data)],
    };
    for (const [name, [code, ...bytes]] of Object.entries(cases)) {
      const raw = await open(...bytes);
      let last = { close: undefined };
      for (const messages = new Messages(raw); last.close === undefined;) last = await messages.next();
      assert.equal(last.close, code, name);
      await raw.ended;
    }
    await isAlive();
  });

  await context.test('accepts the byte stream however messages cut it, and answers pings', async () => {
    const raw = await open();
    for (const byte of login) raw.write(frame(opcodes.binary, Buffer.from([byte])));
    const messages = new Messages(raw);
    assert.equal((await messages.next()).name, 'welcome');
    assert.equal(messages.preface.toString('hex'), '4e45535401010100');
    raw.write(frame(opcodes.ping, Buffer.from('are you there')));
    const answer = await messages.next();
    assert.deepEqual([answer.opcode, answer.payload.toString()], [opcodes.pong, 'are you there']);
    const bytes = Buffer.from(encodeFrame(typeOf('getModel'), 0, 1, new Uint8Array()));
    raw.write(frame(opcodes.binary, bytes.subarray(0, 5), { fin: false }));
    raw.write(frame(opcodes.ping));
    raw.write(frame(opcodes.continuation, bytes.subarray(5)));
    assert.equal((await messages.next()).opcode, opcodes.pong, 'a ping may come between the parts of a message');
    assert.equal((await messages.next()).name, 'model');
    await raw.close();
  });

  await context.test('refuses what the protocol refuses, with its codes', async () => {
    const version = await open(frame(opcodes.binary, Buffer.from('4e4553547f7e0000', 'hex')));
    const messages = new Messages(version);
    assert.notEqual((await messages.next()).close, undefined);
    assert.equal(messages.preface.toString('hex'), '4e45535400010100', 'no version in common');
    const getModel = encodeFrame(typeOf('getModel'), 0, 1, new Uint8Array());
    const early = await open(frame(opcodes.binary, Buffer.concat([preface(), getModel])));
    const answers = new Messages(early);
    const error = await answers.next();
    assert.equal(decode('error', error.body).code, 'PROTOCOL', 'HELLO must come first');
    assert.equal((await answers.next()).close, 1008);
    const other = await open(frame(opcodes.binary, Buffer.from('GET / HTTP/1.1\r\n')));
    assert.notEqual((await new Messages(other).next()).close, undefined);
    // So many bytes may come before WELCOME.
    const large = await open();
    const padding = encodeFrame(0xff, 0, 0, new Uint8Array(4000));
    large.write(frame(opcodes.binary, Buffer.concat([preface(), padding, padding, padding])));
    let last;
    for (const read = new Messages(large); last?.close === undefined;) last = await read.next();
    assert.ok([1008, 1009].includes(last.close), `${last.close}`);
    await isAlive();
  });

  await context.test('ends handshakes that stop half way', async () => {
    const stops = {
      'nothing at all': [], 'half a head': ['GET /nest HTTP/1.1\r\nHost: local'],
      'no HELLO': [handshake(server.web)],
      'half a preface': [handshake(server.web), frame(opcodes.binary, preface().subarray(0, 3))],
      'half a frame': [handshake(server.web), frame(opcodes.binary, login).subarray(0, 20)],
    };
    await Promise.all(Object.entries(stops).map(async ([name, parts]) => {
      const raw = new RawSocket(server.webPort);
      for (const part of parts) raw.write(part);
      if (parts.length > 0 && name !== 'half a head') assert.equal((await raw.head()).status, 101, name);
      if (name === 'half a head') assert.equal((await raw.head()).status, 408);
      await raw.ended;
    }));
    await isAlive();
  });
}
