/**
 * Compressed frames. Only a client whose platform can unpack them loads this module.
 * @module
 */

import { compressible } from '../wire/compression.js';
import { dispatch } from './frames.js';
import { QUEUE_BYTES_HARD_MAX } from './limits.js';

/** @typedef {import('./machine.js').Machine} Machine */

const FEATURE_CHUNKS = 1 << 3;
const FEATURE_FRAMES = 1 << 4;

/** The features that the client asks for. @param {Machine} m */
export const features = (m) => FEATURE_CHUNKS | (m.refusesPacked ? 0 : FEATURE_FRAMES);

/** The frames of this connection that may be compressed. @param {Machine} m @param {any} welcome */
export const allowed = (m, welcome) =>
  (!m.refusesPacked && (welcome.features & FEATURE_FRAMES) !== 0 ? compressible : null);

/** Bytes have arrived behind a frame that is being unpacked. @param {Machine} m */
export function waits(m) {
  if (m.decoder.waiting <= QUEUE_BYTES_HARD_MAX) return;
  m.refusesPacked = true;
  m.closeConnection('the client unpacks more slowly than the server sends');
}

/**
 * The content of a compressed frame, as `take` has asked for it.
 * @param {Machine} m
 * @param {any} unpack
 * @param {Uint8Array | null} body null: it cannot be unpacked
 * @param {number} now
 */
export function unpacked(m, unpack, body, now) {
  m.now = now;
  if (unpack !== m.packed || m.isClosing) return;
  m.packed = null;
  m.guarded(() => {
    if (!body) return m.violation('a compressed frame that cannot be unpacked');
    dispatch(m, { ...unpack.frame, body });
    m.readFrames();
  });
}
