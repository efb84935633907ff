// What /wire decides without a page: frames from bytes however they are cut, what each belongs to, and what it says.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import './modules.js';
import { Random } from '../../Clients/js/test/live/random.js';
import { fromHex } from '../../Clients/js/wire/bytes.js';
import { decodeModel } from '../../Clients/js/wire/model.js';

const { BODY_MAX, BYTES_MAX, Context, Cutter, FRAMES_MAX, Ring } = await import('../shell/tap.js');
const { belongsTo, describe, hexLines, isSecret, linesOf, nameOf } = await import('../wire/describe.js');
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

test('every message of the protocol can be read and has its name', () => {
  const { entities: [first] } = vectors('frames').find(({ type }) => type === 'model').fields;
  assert.ok(first);
  let count = 0;
  for (const { name, type, hex, fields, id } of vectors('frames')) {
    if (T[type] === undefined || hex === undefined) continue;
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

test('fields are lines with two spaces a level', () => {
  assert.deepEqual(linesOf({ a: 1, b: { c: 'x\ny', d: [1, 2] }, e: [{ f: true }, { g: 'z', h: { i: 0 } }], j: [] }), [
    'a: 1', 'b:', '  c: x y', '  d: 1, 2', 'e:', '  - f: true', '  - g: z', '    h:', '      i: 0', 'j: ',
  ]);
});
