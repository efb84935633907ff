// What /wire decides without a page: frames from bytes however they are cut, what each belongs to, and what it says.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import './modules.js';
import { Random } from '../../Clients/js/test/live/random.js';
import { fromHex } from '../../Clients/js/wire/bytes.js';
import { decodeModel } from '../../Clients/js/wire/model.js';
import { seeds } from './seeds.js';

const { BODY_MAX, BYTES_MAX, Context, Cutter, FRAMES_MAX, Ring, tapped } = await import('../shell/tap.js');
const { Gate, HELD_BYTES_MAX, HELD_FRAMES_MAX, HELD_MS_MAX, Hold } = await import('../shell/hold.js');
const { belongsTo, describe, heldWords, hexLines, isSecret, linesOf, nameOf } = await import('../wire/describe.js');
const { Names } = await import('../wire/names.js');
const { encodeFrame, preface } = await import('../../Clients/js/wire/frames.js');
const { encode, types: T } = await import('../../Clients/js/wire/messages.js');

const vectors = (name) => JSON.parse(readFileSync(new URL(`../../Tests/Vectors/${name}.json`, import.meta.url)));
const names = new Names();

test('frames come out the same however the bytes are cut, and what is no frame ends the recording', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const random = new Random(seed);
    const sent = Array.from({ length: 20 }, (_, index) =>
      [0x10 + random.below(0x60), index, new Uint8Array(random.below(300)).fill(index)]);
    const bytes = Buffer.concat([preface(), ...sent.map(([type, id, body]) => encodeFrame(type, 0, id, body))]);
    const cutter = new Cutter();
    const seen = [];
    for (let at = 0; at < bytes.length;) {
      const end = Math.min(bytes.length, at + random.below(200));
      seen.push(...cutter.cut(new Uint8Array(bytes.subarray(at, end))));
      at = end;
    }
    assert.deepEqual(seen.map(({ type, id, body }) => [type, id, new Uint8Array(body)]), sent, `seed ${seed}`);
    assert.deepEqual(cutter.cut(new Uint8Array(12).fill(0xff)), []);
    assert.deepEqual(cutter.cut(new Uint8Array(encodeFrame(0x06, 0, 0, new Uint8Array(8)))), []);
  }
});

test('the ring is bounded by frames and by bytes, and says what it dropped', () => {
  const ring = new Ring();
  let seen = 0;
  const end = ring.follow((entry) => { seen += entry === null ? 0 : 1; });
  for (let index = 0; index < FRAMES_MAX + 5; index += 1) ring.add({ body: new Uint8Array(1) });
  assert.deepEqual([ring.entries.length, ring.dropped, seen, ring.entries[0].number],
    [FRAMES_MAX, 5, FRAMES_MAX + 5, 6]);
  for (let index = 0; index < 100; index += 1) ring.add({ body: new Uint8Array(BODY_MAX) });
  assert.ok(ring.entries.reduce((sum, { body }) => sum + body.length, 0) <= BYTES_MAX);
  end();
  ring.clear();
  ring.add({ kind: 'opened' });
  assert.deepEqual([ring.entries.length, ring.dropped, seen], [1, 0, FRAMES_MAX + 105]);
});

test('a reply is of its request, and rows are of the view that was subscribed', () => {
  const context = new Context();
  const see = (name, id, fields, isOut, time) => {
    const body = encode(name, fields);
    return context.see({ type: T[name], flags: 0, id, body }, isOut, time);
  };
  const request = { entity: 1, projection: [1, 2], sort: [], columns: [], window: { offset: 0, limit: 5 } };
  assert.deepEqual(see('ping', 0, { payload: '0000000000000000' }, true, 0), { of: null, shape: null });
  see('subscribe', 7, { resume: null, atLeast: 0, request }, true, 100);
  const view = 2 ** 31 + 5;
  const subscribed = { view, first: 'snapshot', revision: 0, reason: '', projection: [2] };
  const answer = see('subscribed', 7, subscribed, false, 101);
  assert.deepEqual([answer.of.type, answer.of.time, answer.shape.hasWindow], [T.subscribe, 100, true]);
  assert.deepEqual(see('progress', view, { revision: 1 }, false, 102).shape,
    { entity: 1, hasWindow: true, projection: [2], columns: [] });
  // The request is answered: another frame of its number is of none.
  assert.equal(see('done', 7, {}, false, 103).of, null);
  // A stream goes on until its last frame.
  see('check', 8, {}, true, 104);
  assert.equal(see('checkProgress', 8, { name: 'x', number: 1, count: 2 }, false, 105).of.type, T.check);
  const checked = { revision: 1, objectCount: 0, problemCount: 0, problems: [] };
  assert.equal(see('checked', 8, checked, false, 106).of.type, T.check);
  assert.equal(see('done', 8, {}, false, 107).of, null);
});

/** Messages between the nodes of a cluster: no page gets one. */
const OF_NODES = /^(follow|logHead|record|logBehind|peer[A-Z].*)$/;

test('every message of the protocol can be read and has its name', () => {
  const { entities: [first] } = vectors('frames').find(({ type }) => type === 'model').fields;
  assert.ok(first);
  let count = 0;
  for (const { name, type, hex, fields, id } of vectors('frames')) {
    if (hex === undefined) continue;
    if (T[type] === undefined) {
      assert.match(type, OF_NODES, `${name}: the page does not know ${type}`);
      continue;
    }
    const bytes = fromHex(hex.replaceAll(/\s/g, ''));
    const body = bytes.subarray(12);
    const frame = { type: bytes[4], flags: bytes[5] & ~2, id, size: body.length, shape: null };
    if (bytes[5] & 2) continue;
    // Rows have as many values as their view has properties, which the frame itself does not say.
    const width = fields.valueCount ?? 0;
    frame.shape = { entity: 1, hasWindow: Boolean(fields.window), columns: [], projection: Array(width).fill(1) };
    const said = describe(frame, body, names);
    assert.equal(said.fault, null, `${name}: ${said.fault}`);
    assert.equal(said.name, nameOf(T[type]), name);
    assert.ok(Array.isArray(linesOf(said.fields)), name);
    count += 1;
  }
  assert.ok(count > 100, String(count));
});

test('secrets of this window are not shown', () => {
  const secret = 'ab'.repeat(32);
  const session = 'cd'.repeat(16);
  const body = encode('hello', { clientName: 'x', session, token: { number: 7, secret } });
  const said = describe({ type: T.hello, flags: 0, id: 0, shape: null }, body, names);
  const text = linesOf(said.fields).join('\n') + said.summary;
  assert.ok(!text.includes(secret) && !text.includes(session), text);
  assert.match(text, /token 7/);
  assert.deepEqual([isSecret({ type: T.hello }), isSecret({ type: T.welcome })], [true, false]);
});

test('what cannot be read says why', () => {
  const of = (frame, body) => describe({ flags: 0, id: 1, shape: null, ...frame }, body, names);
  assert.match(of({ type: 0x9f }, new Uint8Array(3)).fault, /does not know/);
  assert.equal(of({ type: 0x9f }, new Uint8Array(3)).name, 'TYPE 9f');
  assert.match(of({ type: T.receipt }, new Uint8Array(0)).fault, /cannot be read/);
  assert.match(of({ type: T.history, flags: 2 }, null).fault, /compressed/);
  assert.match(of({ type: T.history }, null).fault, /too long/);
});

test('predicates have the text that nestc prints', () => {
  const { model: hex, cases } = vectors('predicates');
  const model = decodeModel(fromHex(hex));
  const named = new Names(model);
  for (const { entity, text, bytes, canonical } of cases) {
    assert.equal(named.predicate(fromHex(bytes), model.entity(entity).number), canonical, text);
  }
});

test('entities, properties and paths have the names of the model, or numbers', () => {
  const { model: hex } = vectors('predicates');
  const model = decodeModel(fromHex(hex));
  const named = new Names(model);
  const person = model.entity('Person');
  const number = (name) => person.property(name).number;
  assert.deepEqual([named.entity(person.number), named.entity(999)], ['Person', 'entity 999']);
  assert.deepEqual([named.property(number('name'), person.number), named.property(0), named.property(65535),
    named.property(999, person.number), new Names().property(3)],
  ['name', '@entity', '@depth', 'property 999', 'property 3']);
  const path = { steps: [number('boss')], leaf: 1, property: number('name') };
  assert.equal(named.path(path, person.number), 'boss.name');
  assert.equal(named.path({ steps: [], leaf: 2, property: number('phones') }, person.number), 'phones.@count');
  assert.equal(named.property(65281, person.number, [null, path]), 'boss.name');
  assert.equal(named.sortKey({ path, descending: true, folding: 1 }, person.number), 'boss.name[c] descending');
  assert.equal(named.sortKey({ order: true }, person.number), 'order');
});

test('frames belong to the connection, a request or a view; bytes have rows of 16', () => {
  assert.deepEqual([belongsTo(0), belongsTo(12), belongsTo(2 ** 31 + 3)], ['the connection', 'request 12', 'view 3']);
  const lines = hexLines(new Uint8Array([...Buffer.from('nest of eagles!'), 0, 255]));
  assert.deepEqual(lines, [
    '0000  6e 65 73 74 20 6f 66 20  65 61 67 6c 65 73 21 00  nest of eagles!.',
    '0010  ff                                                .',
  ]);
  assert.deepEqual(hexLines(new Uint8Array(0)), []);
});

test('writes that are shown at once: reserved ids, the revisions of requests, inserts as, places near', () => {
  const of = (type, fields) => describe({ type: T[type], flags: 0, id: 1, shape: null }, encode(type, fields), names);
  assert.deepEqual([nameOf(T.reserve), nameOf(T.reserved), nameOf(T.own)], ['RESERVE', 'RESERVED', 'OWN']);
  assert.equal(of('reserve', { count: 64 }).summary, '64 ids');
  assert.equal(of('reserved', { first: 500, count: 64 }).summary, 'ids 500 to 563');
  assert.equal(of('reserved', { first: 500, count: 1 }).summary, 'id 500');
  assert.equal(of('own', { revisions: [8, 9], requests: [5, 7] }).summary,
    'revision 8 of request 5, revision 9 of request 7');
  assert.equal(of('own', { revisions: [8, 9], requests: null }).summary, 'revision 8, revision 9');
  const near = (left, right) => ({ relationship: 5, owner: 1, place: { near: { left, right } } });
  const insertAs = (object, place) => ({ insertAs: { object, entity: 1, values: [], placements: [place] } });
  const write = (...mutations) => of('transaction', { key: null, name: 'add', preconditions: [], mutations });
  const one = write(insertAs(900, near(7, 8)));
  assert.equal(one.summary, '“add”, insert as #900');
  assert.ok(linesOf(one.fields).some((line) => line.trim() === 'near: after #7, else before #8, else last'),
    linesOf(one.fields).join('\n'));
  const two = write(insertAs(900, near(null, null)), insertAs(901, near(-1, null)), { delete: { object: 3 } });
  assert.equal(two.summary, '“add”, 2 × insert as, delete');
  const places = linesOf(two.fields).filter((line) => line.includes('near')).map((line) => line.trim());
  assert.deepEqual(places, ['near: last', 'near: after the object of insert 1, else last']);
});

// MARK: Holding back

/** Frames by names, as a server sends them: the preface first. */
const stream = (sent) => Buffer.concat([preface(),
  ...sent.map(([type, size], index) => encodeFrame(type, 0, index + 1, new Uint8Array(size).fill(index)))]);
const receipts = (types) => types.filter((type) => type === T.receipt || type === T.own);

test('what waits comes out whole and in order, however the bytes are cut and the switch is used', () => {
  for (const seed of seeds(200)) {
    const random = new Random(seed);
    const sent = Array.from({ length: 40 }, () =>
      [random.pick([T.receipt, T.own, T.diff, T.progress, T.pong]), random.below(60)]);
    const bytes = stream(sent);
    const got = [];
    const gate = new Gate((part) => got.push(...part));
    const cutter = new Cutter();
    const delivered = [];
    let cut = 0;
    /** The frames that are held, by a simple model: what was sent and has not been let go. */
    let held = [];
    let isHolding = false;
    let arrived = 0;
    const check = (why) => {
      delivered.push(...cutter.cut(new Uint8Array(got.slice(cut))).map(({ type }) => type));
      cut = got.length;
      assert.deepEqual(gate.held, held, `seed ${seed}, ${why}: what waits`);
      assert.ok(Buffer.from(got).equals(bytes.subarray(0, got.length)), `seed ${seed}, ${why}: order`);
    };
    const starts = sent.reduce((all, [, size]) => [...all, all.at(-1) + 12 + size], [8]);
    for (let at = 0; at < bytes.length;) {
      const act = random.weighted({ push: 12, on: 2, off: 1, next: 3 });
      if (act === 'push') {
        const end = Math.min(bytes.length, at + random.below(90));
        gate.push(new Uint8Array(bytes.subarray(at, end)));
        // A frame has come when its header has.
        for (; arrived < sent.length && starts[arrived] + 12 <= end; arrived += 1) {
          const [type] = sent[arrived];
          if (gate.isOn && receipts([type]).length > 0) isHolding = true;
          if (isHolding) held.push(type);
        }
        at = end;
      } else if (act === 'next') {
        gate.next();
        const following = held.findIndex((type, index) => index > 0 && gate.isOn && receipts([type]).length > 0);
        isHolding = following > 0;
        held = isHolding ? held.slice(following) : [];
      } else {
        gate.isOn = act === 'on';
        if (act === 'off') {
          gate.release();
          isHolding = false;
          held = [];
        }
      }
      check(act);
    }
    gate.release();
    held = [];
    check('the end');
    assert.ok(Buffer.from(got).equals(bytes), `seed ${seed}: all bytes`);
    assert.deepEqual(delivered, sent.map(([type]) => type), `seed ${seed}: all frames`);
  }
});

test('frames wait up to a limit of their number, their bytes and the time', (context) => {
  let timer = null;
  context.mock.method(globalThis, 'setTimeout', (act, milliseconds) => (timer = { act, milliseconds }));
  context.mock.method(globalThis, 'clearTimeout', () => { timer = null; });
  const hold = new Hold();
  let got = 0;
  const gate = hold.open((bytes) => { got += bytes.length; });
  const push = (type, size) => gate.push(new Uint8Array(encodeFrame(type, 0, 1, new Uint8Array(size))));
  gate.push(new Uint8Array(preface()));
  hold.set(true);
  push(T.receipt, 10);
  const first = timer;
  push(T.progress, 1);
  assert.deepEqual([got, hold.held], [8, [T.receipt, T.progress]]);
  assert.deepEqual([timer === first, timer.milliseconds], [true, HELD_MS_MAX], 'the time of the first one counts');
  timer.act();
  assert.deepEqual([got, hold.held, hold.isOn], [8 + 22 + 13, [], true]);
  // After that, the next one waits again, for as long.
  push(T.own, 2);
  assert.deepEqual([hold.held, timer.milliseconds], [[T.own], HELD_MS_MAX]);
  for (let count = 1; count < HELD_FRAMES_MAX; count += 1) push(T.progress, 0);
  assert.equal(hold.held.length, HELD_FRAMES_MAX);
  push(T.progress, 0);
  assert.deepEqual([hold.held, timer], [[], null]);
  push(T.receipt, 0);
  const size = 1 << 20;
  for (let bytes = size; bytes < HELD_BYTES_MAX; bytes += size) push(T.snapshot, size);
  assert.equal(hold.held.length, HELD_BYTES_MAX / size);
  push(T.snapshot, size);
  assert.deepEqual(hold.held, []);
  // One that ends by a mistake of the network loses what waits; any other end comes behind it.
  push(T.receipt, 5);
  const before = got;
  gate.end(true);
  assert.deepEqual([got, hold.held], [before, []]);
  const other = hold.open((bytes) => { got += bytes.length; });
  other.push(new Uint8Array(stream([[T.receipt, 5]])));
  other.end(false);
  assert.deepEqual([got, hold.held], [before + 8 + 17, []]);
});

test('what the client sends follows what it shows in the same turn, in its order, and is sent before the end', async () => {
  const log = [];
  class Socket extends EventTarget {
    url = 'ws://host/nest';
    get bufferedAmount() { return 7; }
    send(bytes) { log.push(...bytes); }
    close() { log.push('closed'); }
  }
  const ring = new Ring();
  const { Tap } = tapped(ring, Socket);
  const socket = new Tap();
  const bytes = Uint8Array.of(1, 2);
  queueMicrotask(() => log.push('shown'));
  socket.send(bytes);
  bytes.fill(9);
  socket.send(Uint8Array.of(3));
  assert.deepEqual([log, socket.bufferedAmount], [[], 10]);
  await null;
  assert.deepEqual([log, socket.bufferedAmount], [['shown', 1, 2, 3], 7]);
  socket.send(Uint8Array.of(4));
  socket.close();
  await null;
  assert.deepEqual(log, ['shown', 1, 2, 3, 4, 'closed']);
});

test('the client gets frames through the tap, and they are recorded as it gets them', () => {
  class Socket extends EventTarget {
    url = 'ws://host/nest';
    send() {}
    close() {}
  }
  const ring = new Ring();
  const { Tap, hold } = tapped(ring, Socket);
  const socket = new Tap();
  const got = [];
  socket.onmessage = ({ data }) => got.push(...new Uint8Array(data));
  const bytes = new Uint8Array(stream([[T.progress, 3], [T.own, 4], [T.diff, 5], [T.receipt, 6]]));
  const names_ = () => ring.entries.filter(({ kind }) => kind === 'frame').map(({ type }) => nameOf(type));
  hold.set(true);
  socket.dispatchEvent(Object.assign(new Event('message'), { data: bytes.slice().buffer }));
  assert.deepEqual(names_(), ['PROGRESS']);
  assert.equal(heldWords(hold.held), '3 frames wait: OWN, DIFF, RECEIPT');
  hold.next();
  assert.deepEqual(names_(), ['PROGRESS', 'OWN', 'DIFF']);
  assert.equal(heldWords(hold.held), '1 frame waits: RECEIPT');
  hold.set(false);
  assert.deepEqual(got, [...bytes]);
  assert.deepEqual([names_().at(-1), heldWords(hold.held)], ['RECEIPT', 'No frame waits.']);

  // What a client closes takes what waits with it: the frames of one user are not for the next one.
  hold.set(true);
  const count = ring.entries.length;
  const other = new Tap();
  const late = new Uint8Array(stream([[T.receipt, 5]]));
  other.dispatchEvent(Object.assign(new Event('message'), { data: late.slice().buffer }));
  assert.equal(heldWords(hold.held), '1 frame waits: RECEIPT');
  other.close(1000);
  other.dispatchEvent(Object.assign(new Event('close'), { code: 1000, reason: '' }));
  assert.deepEqual([ring.entries.slice(count).map(({ kind }) => kind), hold.held], [['closed'], []]);
  // One that the server ends has given all before.
  const last = new Tap();
  last.onmessage = ({ data }) => got.push(...new Uint8Array(data));
  last.dispatchEvent(Object.assign(new Event('message'), { data: late.slice().buffer }));
  last.dispatchEvent(Object.assign(new Event('close'), { code: 1001, reason: '' }));
  assert.deepEqual(ring.entries.slice(-2).map(({ kind }) => kind), ['frame', 'closed']);
  assert.deepEqual(got.slice(-late.length), [...late]);
});

test('fields are lines with two spaces a level', () => {
  assert.deepEqual(linesOf({ a: 1, b: { c: 'x\ny', d: [1, 2] }, e: [{ f: true }, { g: 'z', h: { i: 0 } }], j: [] }), [
    'a: 1', 'b:', '  c: x y', '  d: 1, 2', 'e:', '  - f: true', '  - g: z', '    h:', '      i: 0', 'j: ',
  ]);
});
