#!/usr/bin/env node
// How long 100,000 rows take from the bytes of SNAPSHOT_ROWS to a state, beside JSON.parse of the same rows:
//
//     node Clients/js/bench/decode.js [--rows 100000] [--rounds 15] [--json] [--limit]
//
// Rounds alternate between the two; the figures are medians of processor time. `first` is the first decoding of the
// process, before the compiler knows the code. --limit: exit status 1 above 60 ms for a list of 1.9 MB, or above twice
// JSON.parse for either kind of rows.

import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { FrameDecoder, MORE, encodeFrame } from '../wire/frames.js';
import { decode, encode, typeOf } from '../wire/messages.js';
import '../wire/buffer.js';
import '../wire/opposite.js';
import { SnapshotAssembler, digest } from '../wire/results.js';
import { sectionKey } from '../wire/rows.js';
import { Double, NestDate, Reference, UUID } from '../wire/values.js';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '15' },
    json: { type: 'boolean', default: false }, limit: { type: 'boolean', default: false },
  },
});
const rowCount = Number(options.rows);
const millisecondsMax = 60 * rowCount / 100_000;
const ratioMax = 2;

// The columns of each kind of row, as values of the protocol. A list as a page shows it; and one of every type.
const words = ['Milk', 'Bread', 'call Ann', 'mend the bike', 'Käse', 'water plants', 'Butter', 'pay rent'];
const columns = {
  title: (i) => words[i & 7] + (i & 1023),
  done: (i) => i % 3 === 0,
  count: (i) => i % 200,
  weight: (i) => new Double(i / 8 + 0.1),
  due: (i) => new NestDate(1.76e15 + i * 60_000_001),
  price: (i) => `${i}.25`,
  parent: (i) => new Reference(1 + i % 5000),
  code: (i) => new UUID(i.toString(16).padStart(32, '0')),
  note: (i) => (i % 4 ? null : 'a longer text that no short form holds, for it has more than 63 bytes, as notes have'),
};
const kinds = { list: ['title', 'done', 'count'], 'all types': Object.keys(columns) };
const limits = { list: millisecondsMax, 'all types': Infinity };

/** The frames of a snapshot, as a server cuts them, and the same rows as JSON. */
function build(names) {
  const rowOf = (_, i) => ({ id: 2 + i * 3, values: names.map((name) => columns[name](i)) });
  const rows = Array.from({ length: rowCount }, rowOf);
  const key = sectionKey('');
  const state = [{ ...key, rows }];
  const position = { total: rowCount, sectionTotal: 1, start: { row: 0, section: 0, rowInSection: 0 }, anchor: null };
  const sections = [{ key: '', rowCount }];
  const head = { reason: 'first', revision: 7, digest: digest(state), position, sectionCount: 1, sections };
  const frames = [encodeFrame(typeOf('snapshot'), MORE, 0x80000001, encode('snapshot', head))];
  const each = 4096;
  for (let at = 0; at < rowCount; at += each) {
    const more = at + each < rowCount ? MORE : 0;
    const body = encode('snapshotRows', { rows: rows.slice(at, at + each) });
    frames.push(encodeFrame(typeOf('snapshotRows'), more, 0x80000001, body));
  }
  const json = JSON.stringify(rows.map(({ id, values }) => ({ id, values: values.map(plain) })));
  return { bytes: new Uint8Array(Buffer.concat(frames)), json, projection: names.map((_, i) => i + 1) };
}

/** A value as JSON has it. */
function plain(value) {
  if (value instanceof Double) return value.value;
  return value instanceof NestDate ? value.microseconds : value;
}

/** From bytes to a checked state, as the library does it. */
function decodeState({ bytes, projection }, checks) {
  const decoder = new FrameDecoder(1 << 20);
  // In pieces of 64 KiB, as sockets give them.
  let assembler = null;
  for (let at = 0; at < bytes.length; at += 65536) {
    decoder.push(bytes.subarray(at, at + 65536));
    for (let found; (found = decoder.next()) !== null;) {
      if (!assembler) assembler = new SnapshotAssembler(decode('snapshot', found.body), projection);
      else assembler.addRows(decode('snapshotRows', found.body, { width: projection.length }).rows);
    }
  }
  return assembler.finish(checks);
}

function milliseconds(body) {
  const before = process.cpuUsage();
  const result = body();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1000, result];
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const figure = (value) => Number(value.toPrecision(3));

let isAbove = false;
const report = [];
for (const [kind, names] of Object.entries(kinds)) {
  const input = build(names);
  const first = milliseconds(() => decodeState(input, true))[0];
  const times = { decode: [], digest: [], json: [] };
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const [time, state] = milliseconds(() => decodeState(input, false));
    times.decode.push(time);
    times.digest.push(milliseconds(() => digest(state.sections))[0]);
    const [json, parsed] = milliseconds(() => JSON.parse(input.json));
    times.json.push(json);
    const last = state.sections[0].rows.at(-1);
    if (parsed.length !== rowCount || parsed.at(-1).id !== last.id) throw new Error('the rows differ');
  }
  const [decoded, digested, json] = [times.decode, times.digest, times.json].map(median);
  const ratio = median(times.decode.map((time, round) => time / times.json[round]));
  const isOver = decoded > limits[kind] || ratio > ratioMax;
  isAbove ||= isOver;
  report.push({
    workload: 'decode', rows: kind, count: rowCount, bytes: input.bytes.length,
    jsonBytes: Buffer.byteLength(input.json),
    decodeMilliseconds: figure(decoded), jsonMilliseconds: figure(json), ratio: figure(ratio),
    digestMilliseconds: figure(digested), firstMilliseconds: figure(first), isWithinLimit: !isOver,
  });
}

if (options.json) {
  for (const each of report) console.log(JSON.stringify(each));
} else {
  const processor = cpus()[0]?.model ?? 'unknown processor';
  console.log(`Node ${process.versions.node}, ${processor}, ${rowCount} rows, ms of processor time`);
  console.log('rows        MB    decode  JSON.parse  ratio  digest  first');
  for (const each of report) {
    const { decodeMilliseconds, jsonMilliseconds, ratio, digestMilliseconds, firstMilliseconds } = each;
    const figures = [[decodeMilliseconds, 1, 8], [jsonMilliseconds, 1, 11], [ratio, 2, 6], [digestMilliseconds, 1, 7],
      [firstMilliseconds, 1, 6]];
    console.log(each.rows.padEnd(10), (each.bytes / 1e6).toFixed(2).padStart(5),
      ...figures.map(([value, digits, width]) => value.toFixed(digits).padStart(width)));
  }
  console.log(`limits: ${millisecondsMax} ms for the list, ${ratioMax} times JSON.parse for both`);
}
if (options.limit && isAbove) {
  console.error('above the limit');
  process.exitCode = 1;
}
