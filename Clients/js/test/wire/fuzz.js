// Bytes of all vectors, changed at random: decoding gives a value or a NestError, nothing else, and ends.
import '../../wire/messages-more.js';
import '../../wire/messages-optimistic.js';
import '../../wire/opposite.js';
import { NestError } from '../../wire/errors.js';
import { ChunkReader } from '../../wire/chunks.js';
import { compressible, contentSize } from '../../wire/compression.js';
import { FrameDecoder } from '../../wire/frames.js';
import { decode, encode, messages } from '../../wire/messages.js';
import { decodeModel } from '../../wire/model.js';
import { decodePredicate } from '../../wire/predicate.js';
import { applyDiff, SnapshotAssembler } from '../../wire/results.js';
import { sectionKey } from '../../wire/rows.js';
import { bytesOf, fail, randomOf } from './check.js';
import { ofNodes } from './fields.js';

const extremes = [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xbf, 0xc0, 0xff];

function changed(bytes, random) {
  let all = [...bytes];
  for (let n = 1 + random(4); n > 0; n--) {
    const at = random(all.length + 1);
    const kind = random(5);
    if (kind === 0) all[at] = random(256);
    else if (kind === 1) all[at] = extremes[random(extremes.length)];
    else if (kind === 2) all = all.slice(0, at);
    else if (kind === 3) all.splice(at, random(4));
    else all.splice(at, 0, ...all.slice(random(all.length + 1)).slice(0, random(20)));
  }
  return Uint8Array.from(all);
}

const state = () => ({
  revision: 7, projection: [1, 3], position: null,
  sections: [{ ...sectionKey(''), rows: [1, 2, 3].map((id) => ({ id, values: ['row', true] })) }],
});

// What a client does with a message that came.
function use(type, body, context) {
  if (type === 'subtreeChunk') return new ChunkReader(context.width, contentSize).read(body);
  if (type === 'model') return decodeModel(body);
  const fields = decode(type, body, context);
  if (type === 'diff') applyDiff(state(), fields);
  if (type === 'snapshot') new SnapshotAssembler(fields, [1, 3]).finish();
  if (fields.request?.predicate) decodePredicate(fields.request.predicate);
  return encode(type, fields);
}

function attempt(what, body) {
  try {
    body();
    return 'value';
  } catch (error) {
    if (error instanceof NestError) return error.code;
    throw new Error(`${what()}: ${error.stack}`);
  }
}

/** Runs the fuzz tests. `vectors.seed`: of the random numbers, default 1; `vectors.rounds`: changes of each vector. */
export function run(vectors, test) {
  const seed = vectors.seed ?? 1;
  const rounds = vectors.rounds ?? 40;
  const all = [...vectors.frames.map(({ type, hex, fields }) => ({
    type, bytes: bytesOf(hex).subarray(12), width: fields.valueCount ?? 0, hasWindow: 'window' in fields,
  })), ...vectors.negative.filter(({ kind }) => kind === 'message').map(({ type, hex, valueCount, hasWindow }) => ({
    type, bytes: bytesOf(hex), width: valueCount ?? 0, hasWindow: hasWindow ?? false,
  }))].filter(({ type }) => !ofNodes.has(type));

  test(`changed bodies give values or NestErrors, seed ${seed}`, () => {
    const random = randomOf(seed);
    const outcomes = new Map();
    for (const { type, bytes, width, hasWindow } of all) {
      for (let round = 0; round < rounds; round++) {
        const body = changed(bytes, random);
        const outcome = attempt(() => `${type} ${body}`, () => use(type, body, { width, hasWindow }));
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    }
    for (const needed of ['value', 'MALFORMED', 'INVALID_TEXT', 'UNSUPPORTED', 'LIMIT_EXCEEDED']) {
      if (!outcomes.has(needed)) fail(`no change led to ${needed}: ${[...outcomes]}`);
    }
  });

  test(`random bytes as any message, seed ${seed}`, () => {
    const random = randomOf(seed + 1);
    for (const type of Object.keys(messages)) {
      for (let round = 0; round < rounds; round++) {
        const body = Uint8Array.from({ length: random(60) }, () => (random(3) ? random(8) : random(256)));
        attempt(() => `${type} ${body}`, () => use(type, body, { width: random(4), hasWindow: random(2) === 1 }));
      }
    }
  });

  test(`changed streams of frames, seed ${seed}`, () => {
    const random = randomOf(seed + 2);
    const stream = vectors.frames.flatMap(({ hex }) => [...bytesOf(hex)]);
    for (let round = 0; round < rounds; round++) {
      const from = random(stream.length);
      const bytes = changed(stream.slice(from, from + 2000), random);
      const decoder = new FrameDecoder(1048576);
      decoder.compression = random(2) === 1 ? compressible : null;
      attempt(() => `frames ${bytes}`, () => {
        for (let at = 0; at < bytes.length;) {
          const cut = 1 + random(50);
          decoder.push(bytes.slice(at, at + cut));
          at += cut;
          for (let frame = decoder.next(); frame; frame = decoder.next()) if (frame.flags & 2) contentSize(frame.body);
        }
      });
    }
  });
}
