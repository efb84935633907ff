// What the vectors do not show: the limits of what a client sends, names that JavaScript gives a meaning, bytes that come
// in pieces, and states that share their rows.
import '../../wire/messages-more.js';
import { Reader, Writer, fromHex, toHex } from '../../wire/bytes.js';
import { ChunkReader, ChunkWriter } from '../../wire/chunks.js';
import { errorCodes, errorName, NestError } from '../../wire/errors.js';
import { encodeFrame, FrameDecoder, MORE, preface, readPreface } from '../../wire/frames.js';
import { Limits } from '../../wire/limits.js';
import { addCodecs, decode, encode, errorOf, messages, typeOf } from '../../wire/messages.js';
import { decodeModel, Model, objectID, valueFor } from '../../wire/model.js';
import { decodePredicate, encodePredicate } from '../../wire/predicate.js';
import { decodeFetchRequest, encodeFetchRequest } from '../../wire/request.js';
import { applyDiff, DiffMismatch, digest, SnapshotAssembler } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { Double, NestDate, readValue, Reference, UUID, writeValue } from '../../wire/values.js';
import { bytesOf, fail, randomOf, refused, same } from './check.js';

const written = (value) => {
  const writer = new Writer();
  writeValue(writer, value);
  return toHex(writer.done());
};
const read = (hex) => readValue(new Reader(fromHex(hex)));

function values(test) {
  test('a number is an integer only if it is a safe integer and not -0', () => {
    same([written(-0), written(0), written(1.5), written(Infinity), written(new Double(1))],
      ['058000000000000000', '40', '053ff8000000000000', '057ff0000000000000', '053ff0000000000000']);
    refused('INVALID', () => written(2 ** 53));
    refused('INVALID', () => written(NaN));
    refused('INVALID', () => written(new Double(NaN)));
    same(read('058000000000000000'), -0);
  });

  test('integers and dates are exact in all 64 bits', () => {
    for (const n of [2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n), -(2n ** 53n) + 1n, 2n ** 61n - 1n, -(2n ** 61n), 2n ** 61n,
      2n ** 63n - 1n, -(2n ** 63n), -1n, 0n, 63n, 64n]) {
      const exact = n >= -(2n ** 53n) + 1n && n < 2n ** 53n ? Number(n) : n;
      same(read(written(n)), exact);
      same(read(written(new NestDate(n))).microseconds, exact);
      same(written(exact), written(n));
    }
    refused('INVALID', () => written(2n ** 63n));
    refused('INVALID', () => written(new NestDate(1.5)));
    refused('INVALID', () => written(new Date(NaN)));
  });

  test('text keeps a byte order mark, and is refused with a NUL or half a surrogate pair', () => {
    for (const text of ['\ufefftitle', '\ufeff', '😀', 'é\u0301', 'x'.repeat(63), 'ä'.repeat(4000), 'x'.repeat(65536)]) {
      same(read(written(text)), text);
    }
    for (const text of ['\ud800', 'a\udc00b', '\ude00\ud83d', 'a\0']) refused('INVALID_TEXT', () => written(text));
    refused('VALUE_TOO_LARGE', () => written('x'.repeat(65537)));
    refused('VALUE_TOO_LARGE', () => written('ä'.repeat(32769)));
    refused('VALUE_TOO_LARGE', () => written(new Uint8Array(65537)));
  });

  test('short texts are right wherever they are in a long message, plain or not', () => {
    const random = randomOf(7);
    const characters = [...'ab¢€😀z'];
    const one = () => Array.from({ length: random(40) }, () => characters[random(6)]).join('');
    const texts = Array.from({ length: 3000 }, () => (random(2) ? one() : 'x'.repeat(random(70))));
    const rows = texts.map((text, i) => ({ id: i + 1, values: [text, 'plain ' + i] }));
    same(decode('snapshotRows', encode('snapshotRows', { rows }), { width: 2 }).rows, rows);
  });

  test('what is no value is refused', () => {
    for (const value of [{}, [], Symbol('x'), () => 1, new Map()]) refused('INVALID', () => written(value));
    refused('INVALID', () => written(new UUID('12')));
    refused('INVALID', () => UUID.from('not a uuid'));
    refused('INVALID', () => written(new Reference(-1)));
  });

  test('dates have microseconds as text, and round down as Date', () => {
    same(String(new NestDate(1793439720000001)), '2026-10-31T09:42:00.000001Z');
    same(String(new NestDate(-1)), '1969-12-31T23:59:59.999999Z');
    same(new NestDate(-1).toDate().getTime(), -1);
    same(new NestDate(-(2n ** 62n)).toDate().getTime(), -4611686018427388);
    same(String(new NestDate(2n ** 63n - 1n)), '9223372036854775807 microseconds');
    same(NestDate.from(new Date(5)).microseconds, 5000);
    same(String(UUID.from('00112233-4455-6677-8899-AABBCCDDEEFF')), '00112233-4455-6677-8899-aabbccddeeff');
  });

  test('data is a copy of the bytes received', () => {
    const body = fromHex('070300ff10');
    const data = readValue(new Reader(body));
    body.fill(0);
    same(toHex(data), '00ff10');
  });
}

function primitives(test) {
  test('numbers out of the range of a varint are refused', () => {
    const writer = new Writer();
    for (const n of [-1, 1.5, NaN, 2 ** 53, -1n, 2n ** 62n, '5', null, undefined]) refused('INVALID', () => writer.varint(n));
    refused('MALFORMED', () => new Reader(fromHex('c020000000000000')).varint());
    same(new Reader(fromHex('c020000000000000')).varintAny(), 2n ** 53n);
    same(new Reader(fromHex('ffffffffffffffff')).size() > 2 ** 61, true);
  });

  test('a count is compared with the bytes that are left before anything is made of it', () => {
    refused('MALFORMED', () => new Reader(fromHex('bfffffff')).count());
    refused('MALFORMED', () => new Reader(fromHex('ffffffffffffffff')).count());
    refused('LIMIT_EXCEEDED', () => new Reader(fromHex('bfffffff')).count(10));
    refused('MALFORMED', () => new Reader(fromHex('020000')).count(10, 2));
    refused('MALFORMED', () => decode('snapshotRows', fromHex('bfffffff01'), { width: 300 }));
    refused('MALFORMED', () => new ChunkReader(300).read(fromHex('008000ffff00')));
  });

  test('hexadecimal digits are checked', () => {
    for (const text of ['0', 'xx', '0x', '١٢', null, 5]) refused('INVALID', () => fromHex(text));
    refused('INVALID', () => fromHex('00', 2));
    same(toHex(fromHex('00FFa5')), '00ffa5');
    same(toHex(new Uint8Array(100).fill(0xab)), 'ab'.repeat(100));
  });
}

function frames(test) {
  const frame = (n, flags = 0) => encodeFrame(0x32, flags, 2147483653, new Uint8Array(n).map((_, i) => i + n));

  test('frames come out the same however the bytes are cut', () => {
    const lengths = [0, 1, 5, 300, 4096, 70000, 3];
    const all = lengths.map((n) => frame(n));
    const bytes = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
    all.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
    for (const cut of [1, 2, 7, 11, 12, 13, 1000, 65536, bytes.length]) {
      const decoder = new FrameDecoder(1048576);
      const out = [];
      for (let at = 0; at < bytes.length; at += cut) {
        decoder.push(bytes.slice(at, at + cut));
        for (let next = decoder.next(); next; next = decoder.next()) out.push(next);
      }
      same(out.map(({ body }) => toHex(body)), lengths.map((n) => toHex(frame(n).subarray(12))), `in pieces of ${cut}`);
      same(decoder.waiting, 0);
    }
  });

  test('a body that was handed out does not change when more bytes come', () => {
    const decoder = new FrameDecoder(1048576);
    const bytes = [...frame(40), ...frame(50)];
    decoder.push(Uint8Array.from(bytes.slice(0, 20)));
    decoder.push(Uint8Array.from(bytes.slice(20, 60)));
    const { body } = decoder.next();
    const before = toHex(body);
    for (const byte of bytes.slice(60)) decoder.push(Uint8Array.of(byte));
    decoder.push(frame(3000));
    same(toHex(body), before);
    same(decoder.next().body.length, 50);
  });

  test('a frame over the limit is refused before it is sent, and from its header when it comes', () => {
    const refusal = refused('FRAME_TOO_LARGE', () => frame(Limits.frameBytesMax + 1));
    same(refusal.retry, 0);
    same(frame(Limits.frameBytesMax).length, Limits.frameBytesMax + 12);
    refused('FRAME_TOO_LARGE', () => encodeFrame(0x10, 0, 1, new Uint8Array(11), 10));
    const decoder = new FrameDecoder();
    decoder.push(frame(4097).subarray(0, 12));
    refused('FRAME_TOO_LARGE', () => decoder.next());
  });

  test('unknown low flags are refused, high flags are not', () => {
    const decoder = new FrameDecoder(1048576);
    decoder.push(frame(0, MORE | 0xf0));
    same(decoder.next().flags, 0xf1);
    for (const flag of [2, 4, 8]) {
      const other = new FrameDecoder(1048576);
      other.compression = true;
      other.push(frame(0, flag));
      refused('UNSUPPORTED_FLAG', () => other.next());
    }
  });

  test('the preface of a server is read when it is whole', () => {
    same(toHex(preface()), '4e45535401010000');
    same(readPreface(fromHex('4e455354010101')), null);
    same(readPreface(fromHex('4e4553540105020006')), { version: 1, highest: 5, lowest: 2 });
    refused('PROTOCOL', () => readPreface(fromHex('48')));
  });
}

function messagesTests(test) {
  test('what is over a limit is refused before it is sent', () => {
    const mutation = { delete: { object: 1 } };
    const transaction = (more) => encode('transaction', { preconditions: [], mutations: [], ...more });
    refused('LIMIT_EXCEEDED', () => transaction({ mutations: new Array(10001).fill(mutation) }));
    refused('LIMIT_EXCEEDED', () => transaction({ name: 'x'.repeat(257) }));
    refused('LIMIT_EXCEEDED', () => transaction({ coalescing: { key: 'k'.repeat(65), milliseconds: 1 } }));
    refused('LIMIT_EXCEEDED', () => transaction({ coalescing: { key: 'k', milliseconds: 60001 } }));
    refused('INVALID', () => transaction({ mutations: [{ delete: { object: 0 } }] }));
    refused('INVALID', () => transaction({ mutations: [{ rename: {} }] }));
    refused('INVALID', () => transaction({ key: 'secret' }));
    refused('LIMIT_EXCEEDED', () => encode('hello', { session: '00'.repeat(16), clientName: 'ä'.repeat(200) }));
    refused('INVALID', () => encodeFetchRequest({ entity: 1, columns: [{ steps: [1, 2, 3, 4], leaf: 2, property: 5 }] }));
    refused('LIMIT_EXCEEDED', () => encodeFetchRequest({ entity: 1, sort: new Array(9).fill({ order: true }) }));
    refused('INVALID', () => encode('undo', { policy: 'gently' }));
  });

  test('a place is the last one if none is named, and only a place of the protocol', () => {
    const moved = (place) => toHex(encode('transaction', {
      preconditions: [], mutations: [{ move: { object: 2, placement: { relationship: 5, owner: 1, place } } }],
    })).slice(-2);
    same([moved(undefined), moved('last'), moved('first')], ['00', '00', '01']);
    for (const place of ['at', 'before', 'toString', {}, { constructor: 1 }, { near: 1 }]) refused('INVALID', () => moved(place));
  });

  test('the newest state is a revision of its own', () => {
    const request = { entity: 1, projection: [], sort: [], columns: [], predicate: null, section: null, source: null, window: null };
    const body = encode('fetch', { atLeast: null, request });
    same(toHex(body), 'ffffffffffffffff0100');
    same(decode('fetch', body), { atLeast: null, request });
  });

  test('a request is encoded alike whatever is left out of it', () => {
    const window = { anchor: 5, before: 1, after: 2 };
    const bytes = encodeFetchRequest({ entity: 3, window });
    same(toHex(bytes), '03010803050102');
    same(decodeFetchRequest(bytes).window, window);
    same(toHex(encodeFetchRequest({ entity: 3, predicate: new Uint8Array([0]) })), '0300');
    refused('INVALID', () => encodeFetchRequest({ entity: 3, section: { function: 'week', path: { steps: [], leaf: 1, property: 1 } } }));
  });

  test('an error has its code, class, retry and details', () => {
    const fields = { code: 'INVALID_PREDICATE', retry: 0, retryAfter: 0, message: 'no', object: null, faults: [], leader: null, column: 7 };
    const error = errorOf(decode('error', encode('error', fields)));
    same([error.code, error.number, error.class, error.column, error.message, error.name, error instanceof Error],
      ['INVALID_PREDICATE', 0x306, 3, 7, 'no', 'NestError', true]);
    const unknown = errorOf(decode('error', fromHex('05ff090000' + '00')));
    same([unknown.code, unknown.number, unknown.class, unknown.retry], ['ERROR_05ff', 0x5ff, 5, 3]);
    same(errorName(0x404), 'NOT_FOUND');
    same(new NestError('TOKEN_EXPIRED', '').number, 0x204);
    same(new NestError('NOT_LEADER', '').retry, 4);
    same(new Set(errorCodes.map((code) => new NestError(code, '').number)).size, errorCodes.length);
  });

  test('every message has one type, and a codec when the rare ones are loaded', () => {
    const types = Object.values(messages).map(([type]) => type);
    same(new Set(types).size, types.length);
    same(Object.entries(messages).filter(([, [, of]]) => !of).map(([name]) => name), []);
    const of = messages.history[1];
    addCodecs({ history: null });
    refused('UNSUPPORTED', () => decode('history', new Uint8Array(1)));
    same(typeOf('history'), 0x15);
    addCodecs({ history: of });
    refused('UNSUPPORTED', () => encode('constructor'));
  });
}

// A model whose names are those of JavaScript's own properties.
function model(test) {
  const names = ['__proto__', 'constructor', 'then', 'depth', 'hasOwnProperty', 'toString'];
  const attribute = (name, i) => ({ number: i + 1, name, type: 'string', default: null, minimum: null, maximum: null });
  const entity = { number: 1, name: '__proto__', attributes: names.map(attribute), relationships: [], uniquenessConstraints: [],
    indexes: [], parent: null, label: null, root: null };
  const made = decodeModel(encode('model', { entities: [entity] }));

  test('properties may have names that JavaScript uses itself', () => {
    same(names.map((name) => made.entity('__proto__').property(name).number), [1, 2, 3, 4, 5, 6]);
    same([made.find('constructor'), made.entity(1).find('valueOf'), made.entity(1).find(7)], [undefined, undefined, undefined]);
    same(refused('UNKNOWN_PROPERTY', () => made.entity(1).property('valueOf')).message.includes('valueOf'), true);
    refused('UNKNOWN_ENTITY', () => made.entity('toString'));
  });

  test('a model cannot be changed', () => {
    for (const part of [made, made.entities, made.entity(1), made.entity(1).attributes, made.entity(1).property('then')]) {
      same(Object.isFrozen(part), true);
    }
    same(new Model('00', []).entities, []);
  });

  test('values are converted by the type of the attribute', () => {
    const of = (type) => ({ name: 'x', type });
    same(valueFor(of('double'), 1), new Double(1));
    same(valueFor(of('float'), -0), new Double(-0));
    same([valueFor(of('integer'), 5n), valueFor(of('integer16'), -0), valueFor(of('string'), null)], [5n, 0, null]);
    same([valueFor(of('decimal'), 1.5), valueFor(of('decimal'), '1e400'), valueFor(of('decimal'), 2n ** 70n)],
      ['1.5', '1e400', String(2n ** 70n)]);
    same(valueFor(of('date'), new Date(1)), new NestDate(1000));
    same(valueFor(of('uuid'), '00112233-4455-6677-8899-aabbccddeeff'), new UUID('00112233445566778899aabbccddeeff'));
    same(valueFor({ name: 'owner', destination: 1 }, { id: 5 }), new Reference(5));
    for (const [type, value] of [['string', 5], ['integer', 1.5], ['integer', '5'], ['boolean', 1], ['date', 5], ['double', '1'],
      ['double', NaN], ['decimal', NaN], ['data', 'x'], ['uuid', 'x'], ['uri', 1], ['integer', 2 ** 53]]) {
      refused('INVALID', () => valueFor(of(type), value), `${type} ${value}`);
    }
    for (const id of [0, -1, 1.5, '5', null, 2 ** 53, {}]) refused('INVALID', () => objectID(id));
  });
}

function results(test) {
  const head = (sections, more) => ({
    reason: 'first', revision: 7, sectionCount: sections.length, sections: sections.map(([key, rowCount]) => ({ ...sectionKey(key), rowCount })),
    position: { total: sections.reduce((sum, [, n]) => sum + n, 0), sectionTotal: sections.length, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null },
    ...more,
  });
  const rows = (from, count) => Array.from({ length: count }, (_, i) => ({ id: from + i, values: ['row'] }));
  const whole = (sections, cut) => {
    const total = sections.reduce((sum, [, n]) => sum + n, 0);
    const assembler = new SnapshotAssembler(head(sections), [1]);
    for (let at = 0; at < total; at += cut) assembler.addRows(rows(1 + at, Math.min(cut, total - at)));
    return assembler.finish(false);
  };

  test('rows run through the sections wherever frames are cut', () => {
    const sections = [['A', 3], ['B', 0], ['C', 1], ['D', 5]];
    for (const cut of [1, 2, 3, 4, 9]) {
      const state = whole(sections, cut);
      same(state.sections.map(({ key, rows: of }) => [key, of.map(({ id }) => id)]),
        [['A', [1, 2, 3]], ['B', []], ['C', [4]], ['D', [5, 6, 7, 8, 9]]]);
      same([state.revision, state.projection], [7, [1]]);
    }
  });

  test('a snapshot with too many or too few rows or sections is refused', () => {
    const two = () => new SnapshotAssembler(head([['', 2]]), [1]);
    refused('MALFORMED', () => two().addRows(rows(1, 3)));
    refused('MALFORMED', () => {
      const assembler = two();
      assembler.addRows(rows(1, 1));
      assembler.finish(false);
    });
    refused('MALFORMED', () => two().addSections([{ ...sectionKey('B'), rowCount: 0 }]));
    refused('MALFORMED', () => {
      const assembler = new SnapshotAssembler(head([['A', 1]], { sectionCount: 2 }), [1]);
      assembler.addRows(rows(1, 1));
      assembler.addSections([{ ...sectionKey('B'), rowCount: 1 }]);
    });
    refused('MALFORMED', () => new SnapshotAssembler(head([['A', 1]], { sectionCount: 2 }), [1]).finish(false));
    refused('MALFORMED', () => {
      const assembler = new SnapshotAssembler(head([['A', 1]], { sectionCount: 2 }), [1]);
      assembler.addSections([{ ...sectionKey('B'), rowCount: 1 }]);
    });
  });

  test('the digest of a snapshot is checked', () => {
    const assembler = new SnapshotAssembler(head([['', 2]], { digest: '0bf629dbb969a574' }), [1]);
    assembler.addRows(rows(2, 2));
    same(assembler.finish().sections[0].rows.length, 2);
    const other = new SnapshotAssembler(head([['', 2]], { digest: '0de4cfd267c80b08' }), [1]);
    other.addRows(rows(2, 2));
    same(refused('PROTOCOL', () => other.finish()).reason, 'digest');
  });

  const none = { deletedRows: [], deletedSections: [], insertedSections: [], moves: [], insertedRows: [], updates: [], position: null };

  test('a diff leaves the old state and what it does not touch as they are', () => {
    const old = whole([['A', 3], ['B', 2]], 9);
    const next = applyDiff(old, { ...none, from: 7, to: 9, total: 5, updates: [{ at: [0, 1], values: [{ property: 1, value: 'new' }] }] }, false);
    same(next.sections[1] === old.sections[1], true);
    same([next.sections[0].rows[0] === old.sections[0].rows[0], next.sections[0].rows[1].values, old.sections[0].rows[1].values],
      [true, ['new'], ['row']]);
    same([next.revision, old.revision], [9, 7]);
  });

  test('a diff of a change of request may end the window, another one keeps it', () => {
    const old = { ...whole([['', 1]], 1), position: { total: 9 } };
    same(applyDiff(old, { ...none, from: 7, to: 8, total: 1 }, false).position, { total: 9 });
    same(applyDiff(old, { ...none, from: 7, to: 7, total: 1 }, false).position, null);
    same(applyDiff(old, { ...none, from: 5, to: 8, total: 1, position: { total: 3 } }, false).position, { total: 3 });
  });

  test('random diffs lead to what a plain simulation of them leads to', () => {
    const random = randomOf(20);
    for (let round = 0; round < 300; round++) randomDiff(random, none);
  });

  test('coordinates that are no numbers of rows are a mismatch, not a crash', () => {
    const old = whole([['', 2]], 2);
    for (const change of [{ moves: [{ from: [5, 0], to: [0, 0] }] }, { updates: [{ at: [1, 0], values: [] }] },
      { insertedRows: [{ at: [4, 0], id: 9, values: ['x'] }] }, { deletedSections: [3] }, { insertedSections: [{ at: 5, key: 'x' }] }]) {
      try {
        applyDiff(old, { ...none, from: 7, to: 8, total: 2, ...change }, false);
        fail(`${JSON.stringify(change)} was applied`);
      } catch (error) {
        same([error instanceof DiffMismatch, error.reason], [true, 'coordinates'], error.message);
      }
    }
  });
}

// A state and another one; the diff between them, with any moves; then the other one again.
function randomDiff(random, none) {
  const sectionCount = 1 + random(4);
  const state = (ids) => {
    const sections = Array.from({ length: sectionCount }, (_, i) => ({ ...sectionKey('ABCD'[i]), rows: [] }));
    for (const id of ids) sections[random(sectionCount)].rows.push({ id, values: [id] });
    return { revision: 1, projection: [1], sections, position: null };
  };
  const shuffled = (ids) => ids.map((id) => [random(1e6), id]).sort((a, b) => a[0] - b[0]).map(([, id]) => id);
  const all = Array.from({ length: 30 }, (_, i) => i + 1);
  const old = state(shuffled(all).slice(0, random(30)));
  const next = state(shuffled(all).slice(0, random(30)));
  const places = ({ sections }) => new Map(sections.flatMap(({ rows }, s) => rows.map(({ id }, i) => [id, [s, i]])));
  const [before, after] = [places(old), places(next)];
  const byPlace = (a, b) => (a.at ?? a.to)[0] - (b.at ?? b.to)[0] || (a.at ?? a.to)[1] - (b.at ?? b.to)[1];
  const diff = {
    ...none, from: 1, to: 2, total: after.size, digest: digest(next.sections),
    deletedRows: [...before].filter(([id]) => !after.has(id)).map(([id, at]) => ({ at, id, reason: 'deleted' })).sort(byPlace),
    moves: [...before].filter(([id]) => after.has(id)).map(([id, from]) => ({ from, to: after.get(id) })).sort(byPlace),
    insertedRows: [...after].filter(([id]) => !before.has(id)).map(([id, at]) => ({ at, id, values: [id] })).sort(byPlace),
  };
  const sent = decode('diff', encode('diff', diff), { width: 1 });
  const got = applyDiff(old, sent);
  same(got.sections.map(({ rows }) => rows.map(({ id }) => id)), next.sections.map(({ rows }) => rows.map(({ id }) => id)));
}

function chunks(test) {
  test('an upload of many rows is cut into chunks, which go on where the one before ended', () => {
    const writer = new ChunkWriter(3);
    const rows = Array.from({ length: 20000 }, (_, i) => ({
      depth: i === 0 ? 0 : 1 + i % 7 % 3, values: [`title ${i} ${'x'.repeat(i % 100)}`, i % 3 === 0, i % 2 ? new Uint8Array([i]) : null],
    }));
    for (let i = 1; i < rows.length; i++) rows[i].depth = Math.min(rows[i].depth, rows[i - 1].depth + 1);
    const bodies = rows.map((row) => writer.add(row)).concat(writer.finish()).filter((body) => body);
    same([bodies.length > 3, writer.rowCount, bodies.every(({ length }) => length < 330000)], [true, 20000, true]);
    const reader = new ChunkReader(3);
    same(bodies.flatMap((body) => reader.read(body)), rows.map((row) => ({ id: null, ...row })));
    same(writer.finish(), null);
  });

  test('a row that is no row of a tree is refused', () => {
    refused('INVALID', () => new ChunkWriter(0).add({ depth: 1, values: [] }));
    refused('INVALID', () => new ChunkWriter(1).add({ depth: 0, values: [] }));
    const writer = new ChunkWriter(0);
    writer.add({ depth: 0, values: [] });
    refused('INVALID', () => writer.add({ depth: 2, values: [] }));
    refused('INVALID', () => writer.add({ depth: -1, values: [] }));
    refused('UNSUPPORTED', () => new ChunkReader(1).read(fromHex('0128b52ffd')));
  });
}

function predicates(test) {
  test('a predicate is the same after it was read and written', () => {
    const bytes = bytesOf('03 020000010109030184 6d696c6b 020000010301000101 0402');
    same(toHex(encodePredicate(decodePredicate(bytes))), toHex(bytes));
    same(decodePredicate(fromHex('00')), []);
    const program = [{ quantifier: 1, path: { steps: [3], leaf: 1, property: 2 }, operator: 'IN', folding: 0, values: [new Double(1), 1, -0] }];
    same(decodePredicate(encodePredicate(program))[0].values, [new Double(1), 1, new Double(-0)]);
  });
}

/** Runs the tests; `vectors` is not needed. */
export function run(vectors, test) {
  for (const suite of [values, primitives, frames, messagesTests, model, results, chunks, predicates]) suite(test);
}
