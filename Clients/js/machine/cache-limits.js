/**
 * Limits of a cache: protocol.md, section 17, has those with a name in parentheses.
 * @module
 */

/** Bytes of the states in a cache; the least recently shown are removed first (`cacheBytesMax`). */
export const CACHE_BYTES_MAX = 64 << 20;
/** Bytes of one state; a larger one is not kept (`cacheViewBytesMax`). */
export const CACHE_VIEW_BYTES_MAX = 16 << 20;
/** Bytes that wait to be written; beyond them changes are dropped (`cacheUnwrittenBytesMax`). */
export const CACHE_UNWRITTEN_BYTES_MAX = 32 << 20;
/** Milliseconds after which changes are written, all together (`cacheWriteMilliseconds`). */
export const CACHE_WRITE_MS = 1_000;
/** Revisions after which the cache gets the new revision of a state that has not changed (`cacheRevisionStep`). */
export const CACHE_REVISION_STEP = 256;
/** Changes of small states are not rewritten until they have so many bytes. */
export const CACHE_CHANGE_BYTES_MIN = 16 << 10;
/** Parsed predicates; the least recently used are removed first. */
export const CACHE_PREDICATES_MAX = 256;
/** UTF-16 units of the text of a predicate that is kept. */
export const CACHE_PREDICATE_TEXT_MAX = 4_096;
/** Milliseconds that a client waits for its cache before it goes on without what it has asked for. */
export const CACHE_READ_MS_MAX = 2_000;
/** Milliseconds that opening, or removing, a database may take. */
export const CACHE_OPEN_MS_MAX = 3_000;
