import { messages } from '../wire/messages.js';

/**
 * The number of each message by its name: protocol.md, section 6.
 * @type {Record<string, number>}
 */
export const T = {};
for (const [name, [type]] of Object.entries(messages)) T[name] = Number(type);

/** Frames of a stream: they go to the request's `stream` as they are. */
export const STREAMED = new Set([
  T.subtreeStart, T.subtreeChunk, T.subtreeEnd, T.backupStart, T.backupChunk, T.backupEnd, T.checkProgress, T.checked,
]);

/** The last frames of a stream: they end the request. */
export const STREAM_ENDS = new Set([T.subtreeEnd, T.backupEnd, T.checked]);

/** Feature bits that a client wants: transfers, resuming, undo, authors. Bits 3 and 4 need Zstandard. */
export const FEATURES = 0x207;
export const FEATURE_RESUME = 1 << 1;
export const FEATURE_CHUNKS = 1 << 3;
export const FEATURE_FRAMES = 1 << 4;
