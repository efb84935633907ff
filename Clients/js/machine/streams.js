/**
 * Streams: sub-trees, large values, backups and checks. Their frames go to the request's `stream` as they are. Only programs that
 * transfer something load this module.
 * @module
 */

import '../wire/messages-more.js';
import { Reader } from '../wire/bytes.js';
import { decode } from '../wire/messages.js';
import { sizeError } from './calls.js';
import { answerArrived, handlers } from './frames.js';
import { note } from './seen.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./frames.js').Frame} Frame */

/** The last frames of a stream: they end the request. */
const STREAM_ENDS = new Set([T.subtreeEnd, T.backupEnd, T.checked]);

const PARTS = [T.subtreeStart, T.subtreeChunk, T.backupStart, T.backupChunk, T.checkProgress, ...STREAM_ENDS];
for (const type of PARTS) handlers.set(type, partArrived);
handlers.set(T.credit, credited);
handlers.set(T.value, valueArrived);

/** VALUE begins the answer to GET_VALUE, and is the answer to PUT_VALUE. @param {Machine} m @param {Frame} frame */
function valueArrived(m, frame) {
  if (m.table.inFlight.get(frame.id)?.request.answer === T.value) return answerArrived(m, frame);
  note(m, new Reader(frame.body).varint());
  partArrived(m, frame);
}

/** @param {Machine} m @param {Frame} frame */
function partArrived(m, { type, id, body }) {
  const call = m.table.inFlight.get(id)?.request.owner?.call;
  if (type === T.subtreeStart) note(m, new Reader(body).varint());
  if (call) m.emit({ type: 'part', call, part: type, body });
  if (STREAM_ENDS.has(type)) m.finish(id, { type, body });
}

/** @param {Machine} m @param {Frame} frame */
function credited(m, { id, body }) {
  const { owner, kind } = m.table.inFlight.get(id)?.request ?? {};
  if (owner && kind === 'upload') m.emit({ type: 'credit', call: owner.call, bytes: decode('credit', body).bytes });
}

/**
 * Sends a frame of a stream under the id of its request.
 * @param {Machine} m
 * @param {object} call
 * @param {number} type chunk, end or credit
 * @param {Uint8Array} body
 * @returns {boolean} false if the request is over
 */
export function sendPart(m, call, type, body) {
  const id = m.table.idOf(call);
  const isConnected = m.phase === 'ready' || m.phase === 'leaving';
  if (id === undefined || !isConnected || sizeError(m, body.length)) return false;
  if (type === T.subtreeEnd) {
    const entry = /** @type {import('./table.js').Entry} */ (m.table.inFlight.get(id));
    entry.request = { ...entry.request, isEnded: true };
  }
  m.send(type, id, body);
  return true;
}
