/** The number of each message by its name: protocol.md, section 6. */
export { types as T } from '../wire/messages.js';

/**
 * Feature bits that a client wants: transfers, resuming, undo, names of own requests, presence, outlines, authors,
 * totals, large values. Bits 3 and 4 need Zstandard.
 */
export const FEATURES = 0x17a7;
export const FEATURE_RESUME = 1 << 1;
