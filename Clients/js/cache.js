/**
 * Caches: a client that has one begins with the last state of its lists.
 * @module
 */

// `connect` loads it with the first cache: it is here when it is needed.
import './client/cache.js';

export { IndexedDBCache } from './cache/indexeddb.js';
export { MemoryCache } from './cache/memory.js';
