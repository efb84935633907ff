// What the vectors do not show of bytes, values, frames and messages: exact numbers and texts, the limits of what a
// client sends, bytes that come in pieces.
import '../../wire/messages-more.js';
import '../../wire/messages-optimistic.js';
import '../../wire/messages-presence.js';
import { Reader, Writer, fromHex, toHex } from '../../wire/bytes.js';
import { ChunkReader } from '../../wire/chunks.js';
import { compressible } from '../../wire/compression.js';
import { errorCodes, errorName, NestError } from '../../wire/errors.js';
import { encodeFrame, FrameDecoder, MORE, preface, readPreface } from '../../wire/frames.js';
import { Limits } from '../../wire/limits.js';
import { decode, encode, errorOf, messageNames, messages, typeOf } from '../../wire/messages.js';
import { decodeFetchRequest } from '../../wire/opposite.js';
import { encodeFetchRequest } from '../../wire/request.js';
import { Double, NestDate, readValue, Reference, UUID, writeValue } from '../../wire/values.js';
import { randomOf, refused, same } from './check.js';

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
    const [m, z, top] = [2n ** 53n, 2n ** 61n, 2n ** 63n];
    for (const n of [m - 1n, m, -m, 1n - m, z - 1n, -z, z, top - 1n, -top, -1n, 0n, 63n, 64n]) {
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
    const long = ['x'.repeat(63), 'ä'.repeat(4000), 'x'.repeat(65536)];
    for (const text of ['\ufefftitle', '\ufeff', '😀', 'é\u0301', ...long]) same(read(written(text)), text);
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
    for (const n of [-1, 1.5, NaN, 2 ** 53, -1n, 2n ** 62n, '5', null, undefined]) {
      refused('INVALID', () => writer.varint(n));
    }
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
      other.compression = compressible;
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
    const long = { steps: [1, 2, 3, 4], leaf: 2, property: 5 };
    refused('INVALID', () => encodeFetchRequest({ entity: 1, columns: [long] }));
    refused('LIMIT_EXCEEDED', () => encodeFetchRequest({ entity: 1, sort: new Array(9).fill({ order: true }) }));
    refused('INVALID', () => encode('undo', { policy: 'gently' }));
  });

  test('a place is the last one if none is named, and only a place of the protocol', () => {
    const moved = (place) => toHex(encode('transaction', {
      preconditions: [], mutations: [{ move: { object: 2, placement: { relationship: 5, owner: 1, place } } }],
    })).slice(-2);
    same([moved(undefined), moved('last'), moved('first')], ['00', '00', '01']);
    for (const place of ['at', 'before', 'toString', {}, { constructor: 1 }, { nowhere: 1 }]) {
      refused('INVALID', () => moved(place));
    }
  });

  test('the newest state is a revision of its own', () => {
    const request = {
      entity: 1, projection: [], sort: [], columns: [], predicate: null, section: null, source: null, window: null,
      outline: null, totals: [],
    };
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
    const path = { steps: [], leaf: 1, property: 1 };
    refused('INVALID', () => encodeFetchRequest({ entity: 3, section: { function: 'week', path } }));
  });

  test('an error has its code, class, retry and details', () => {
    const fields = { code: 'INVALID_PREDICATE', retry: 0, retryAfter: 0, message: 'no', faults: [], column: 7 };
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

  test('every message has one type, a name and a codec; what is no message is refused', () => {
    const all = Object.entries(messages);
    same(new Set(all.map(([, [type]]) => type)).size, all.length);
    same(all.filter(([, [, of]]) => !of?.read || !of.write).map(([name]) => name), []);
    same(all.filter(([name, [type]]) => messageNames.get(type) !== name || typeOf(name) !== type), []);
    refused('UNSUPPORTED', () => encode('constructor'));
    refused('UNSUPPORTED', () => decode('none', new Uint8Array(1)));
    refused('UNSUPPORTED', () => typeOf('constructor'));
  });
}

/** Runs the tests; `vectors` is not needed. */
export function run(vectors, test) {
  for (const suite of [values, primitives, frames, messagesTests]) suite(test);
}
