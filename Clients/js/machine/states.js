/**
 * States of subscriptions: how frames become one, and how often it is compared with the server's digest.
 * @module
 */

import { toHex } from '../wire/bytes.js';
import { decode } from '../wire/messages.js';
import { encodeFetchRequest } from '../wire/request.js';
import { applyDiff, SnapshotAssembler } from '../wire/results.js';
import { DIGEST_EVERY, DIGEST_ROWS_ALWAYS, DIGEST_ROWS_MAX } from './limits.js';
import { T } from './types.js';

/** @typedef {import('./subscriptions.js').Spec} Spec */
/** @typedef {import('./subscriptions.js').Subscription} Subscription */

/**
 * @param {any} wire a fetch request: wire/request.js
 * @param {any} model the hash of the model it is made for
 * @param {any} request what the caller gave
 * @returns {Spec}
 */
export function specOf(wire, model, request) {
  const bytes = encodeFetchRequest(wire);
  return Object.freeze({ wire, bytes, key: toHex(bytes), model, windowed: Boolean(wire.window), request });
}

/**
 * Follows the anchor of a window: another object becomes the anchor when the one before leaves the result. A client
 * that subscribes again must name the last anchor that it has received.
 * @param {Spec} spec
 * @param {any} position
 * @returns {Spec}
 */
export function withAnchor(spec, position) {
  const { window } = spec.wire;
  const anchor = position?.anchor;
  if (!anchor || !window || !('anchor' in window) || window.anchor === anchor) return spec;
  return specOf({ ...spec.wire, window: { ...window, anchor } }, spec.model, spec.request);
}

/**
 * Adds a frame of a snapshot.
 * @param {any} assembler null for the head
 * @param {{ type: number, body: Uint8Array }} frame
 * @param {number[]} projection
 * @returns {any} the assembler
 */
export function assemble(assembler, { type, body }, projection) {
  if (type === T.snapshot) return new SnapshotAssembler(decode('snapshot', body), projection);
  if (type === T.snapshotSections) assembler.addSections(decode('snapshotSections', body).sections);
  else assembler.addRows(decode('snapshotRows', body, { width: projection.length }).rows);
  return assembler;
}

/**
 * @param {any} assembler after the last frame
 * @param {boolean} windowed
 * @returns {any} the state; throws if frames are missing or the digest differs
 */
export function finish(assembler, windowed) {
  const state = assembler.finish();
  return windowed ? state : { ...state, position: null };
}

/**
 * Applies a diff. A digest takes time for each row: small states are always compared, larger ones sometimes.
 * @param {Subscription} sub
 * @param {any} diff
 * @returns {any} the new state; throws if the diff does not fit
 */
export function apply(sub, diff) {
  const isSample = diff.total <= DIGEST_ROWS_MAX && ++sub.unchecked >= DIGEST_EVERY;
  const checks = isSample || diff.total <= DIGEST_ROWS_ALWAYS;
  if (checks) sub.unchecked = 0;
  // The machine has compared the revisions. The answer to RESUBSCRIBE fits every state that is not newer.
  const revision = diff.from === diff.to ? diff.to : sub.head?.revision;
  return applyDiff({ ...sub.state, revision }, diff, checks);
}
