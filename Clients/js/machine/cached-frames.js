/**
 * The states of a cache: rebuilt from the frames that led to them, and written as one snapshot.
 * @module
 */

import { Writer } from '../wire/bytes.js';
import { NestError } from '../wire/errors.js';
import { fnv1a, hashText } from '../wire/hash.js';
import { decode, encode } from '../wire/messages.js';
import { digest } from '../wire/results.js';
import { Double, writeValue } from '../wire/values.js';
import { TotalsView } from './totals.js';
import { T } from './types.js';

/** @typedef {import('./spec.js').Spec} Spec */
/** @typedef {import('./recording.js').Recording} Recording */

/**
 * A message of the server, as it came.
 * @typedef {{ type: number, body: Uint8Array }} CachedFrame
 */

/**
 * The last state of a view: cache.d.ts.
 * @typedef {object} CachedView
 * @property {string} request
 * @property {string} identity
 * @property {string} modelHash
 * @property {string} historyID
 * @property {number} revision
 * @property {string} digest
 * @property {string} recording
 * @property {number} sequence
 * @property {readonly CachedFrame[]} frames
 */

/**
 * A state that a list may begin with.
 * @typedef {object} LoadedView
 * @property {string} request
 * @property {import('./views.js').Point} head
 * @property {any} state
 * @property {Recording | null} recording
 * @property {boolean} isConfirmed whether a server has confirmed it to this client
 * @property {number} bytes
 */

/** Any view id: SUBSCRIBED must have one. */
const VIEW = 0x80000000;
const ROWS_PER_FRAME = 512;
const PARTS = new Set([T.snapshotSections, T.snapshotRows]);
const PLAYED = new Set([T.snapshot, ...PARTS, T.diff, T.totals, T.resultTotals]);

/**
 * Why a cached state cannot be used.
 * @param {string} message
 * @returns {never}
 */
function fault(message) {
  throw new NestError('MALFORMED', message);
}

/** A view that takes frames from a cache, as that of a connection takes them. */
class Player extends TotalsView {
  /** @param {any} m @param {any} diff @param {number} bytes */
  diffed(m, diff, bytes) {
    // Progress, which is not recorded, has led from the revision before to that of the diff.
    if (this.head) this.head.revision = Math.max(this.head.revision, diff.from);
    super.diffed(m, diff, bytes);
  }

  /** @param {any} m @param {string} reason @returns {never} */
  restart(m, reason) {
    return fault(reason);
  }
}

/** The frame of SUBSCRIBED with a projection. @param {number[]} projection @returns {CachedFrame} */
export function subscribedFrame(projection) {
  const body = encode('subscribed', { view: VIEW, first: 'snapshot', revision: 0, reason: '', projection });
  return { type: T.subscribed, body };
}

/** @param {readonly CachedFrame[]} frames */
export const bytesOf = (frames) => frames.reduce((sum, { body }) => sum + body.length, 0);

/**
 * Rebuilds a state from its frames, with the decoders of the connection.
 * @param {CachedView} view
 * @param {Spec} spec
 * @returns {LoadedView}
 * @throws NestError if the frames do not lead to the state that the view says
 */
export function load(view, spec) {
  const { request, modelHash, historyID, revision, frames } = view;
  const [first, ...rest] = frames;
  if (first?.type !== T.subscribed) fault('it does not begin with SUBSCRIBED');
  const { projection } = decode('subscribed', first.body);
  const player = new Player(VIEW, projection, spec.windowed);
  player.hasSteps = Boolean(spec.wire.outline);
  const list = { spec, follow() {}, show() {}, settle() {}, reset() {} };
  player.lists.add(/** @type {any} */ (list));
  /** @type {any} what a view uses of the machine */
  const m = { welcome: { historyID }, seen: null, own: [], authors: [], lateNodes: 0, latePauses: null };
  let snapshotBytes = first.body.length;
  let isSnapshot = true;
  for (const [index, { type, body }] of rest.entries()) {
    if (!PLAYED.has(type)) fault(`a frame has the type ${type}`);
    const isFirst = type === T.snapshot || type === T.resultTotals;
    if (!isFirst && !player.head && !player.assembler) fault('it has no snapshot');
    player.frame(m, { type, body }, PARTS.has(rest[index + 1]?.type));
    if (isSnapshot) snapshotBytes += body.length;
    if (player.head) isSnapshot = false;
  }
  const { head, state, isReady } = player;
  if (!head || !isReady) return fault('its snapshot is not complete');
  if (head.revision > revision) fault('a frame is newer than the view');
  const found = digest(state.sections);
  if (found !== view.digest) fault(`its digest is ${found}, and was ${view.digest}`);
  const bytes = bytesOf(frames);
  const recording = {
    request, modelHash, historyID, number: view.recording, sequence: view.sequence, revision, digest: found,
    snapshotBytes, changeBytes: bytes - snapshotBytes,
  };
  return { request, head: { history: historyID, revision }, state, recording, isConfirmed: false, bytes };
}

/**
 * The key of a section as it came: a double is a number in a state, and its hash says what it was.
 * @param {{ key: any, hash: { high: number, low: number } }} section
 */
function keyBytes({ key, hash }) {
  const exact = typeof key === 'number' ? [key, new Double(key)] : [key];
  for (const one of exact) {
    const writer = new Writer();
    writeExact(writer, one);
    const bytes = writer.done();
    if (hashText(fnv1a(bytes)) === hashText(hash)) return bytes;
  }
  return fault('the key of a section cannot be written');
}

/** Writes a value so that it is read as the same one. @param {Writer} writer @param {any} value */
function writeExact(writer, value) {
  const isLarge = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  writeValue(writer, isLarge ? new Double(value) : value);
}

/**
 * Writes a state as the server sends it first.
 * @param {any} state
 * @param {string} text its digest
 * @param {Spec} spec
 * @returns {CachedFrame[]}
 */
export function framesOf(state, text, { wire }) {
  const { revision, projection, sections, position, totals } = state;
  const frames = [subscribedFrame(projection)];
  if (totals) {
    const values = (/** @type {any} */ named) => wire.totals.map((/** @type {any} */ { name }) => named[name]);
    const those = sections.flatMap((/** @type {any} */ one, /** @type {number} */ index) =>
      (one.totals ? [{ index, values: values(one.totals) }] : []));
    const fields = { revision, isBeforeRows: true, values: values(totals), sections: those };
    frames.push({ type: T.resultTotals, body: encode('resultTotals', fields) });
  }
  const count = sections.reduce((/** @type {number} */ sum, /** @type {any} */ { rows }) => sum + rows.length, 0);
  const whole = { total: count, sectionTotal: sections.length, start: { row: 0, section: 0, rowInSection: 0 } };
  const writer = new Writer();
  writer.u8(0);
  writer.varint(revision);
  writer.u64(text);
  const { total, sectionTotal, start, anchor = null } = position ?? whole;
  for (const number of [total, sectionTotal, start.row, start.section, start.rowInSection, anchor ?? 0]) {
    writer.varint(number);
  }
  writer.varint(sections.length);
  writer.varint(sections.length);
  for (const section of sections) {
    writer.raw(keyBytes(section));
    writer.varint(section.rows.length);
  }
  frames.push({ type: T.snapshot, body: writer.done().slice() });
  const rows = sections.flatMap((/** @type {any} */ section) => section.rows);
  for (let from = 0; from < rows.length; from += ROWS_PER_FRAME) frames.push(rowsFrame(rows, from));
  return frames;
}

/** @param {any[]} all @param {number} from @returns {CachedFrame} */
function rowsFrame(all, from) {
  const rows = all.slice(from, from + ROWS_PER_FRAME);
  const writer = new Writer();
  writer.varint(rows.length);
  for (const { id, values } of rows) {
    writer.varint(id);
    for (const value of values) writeExact(writer, value);
  }
  return { type: T.snapshotRows, body: writer.done().slice() };
}
