/**
 * Caches: a client that has one begins with the last state of its lists and outlines, and then gets one net difference.
 *
 * A program may bring its own: anything with the methods of `Cache`. A cache serves one store and one user. It gets
 * messages of the server as they came and gives them back; the client proves them before it shows anything. A cache may
 * forget everything at any time.
 */

import type { NestError } from './index.js';

/**
 * A message of the server, as it came: protocol.md, section 6. Of an outline also the client's SUBSCRIBE, RESUBSCRIBE and
 * SET_EXPANDED, which have its fold states.
 */
export interface CachedFrame {
  readonly type: number;
  readonly body: Uint8Array;
}

/** A predicate that the server has read, in the byte form of PREDICATE. Its key says text, entity, model and zone. */
export interface CachedPredicate {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** The body of MODEL, with its hash. */
export interface CachedModel {
  /** Of the client that has read it: see `CachedView`. */
  readonly identity: string;
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** The last state of a view: SUBSCRIBED, a snapshot, and what has changed it since. */
export interface CachedView {
  /**
   * The request in its byte form, as hexadecimal digits; of an outline, without its fold states. It identifies the view.
   * The view of the undo state has the body of GET_UNDO_STATE, which no fetch request has.
   */
  readonly request: string;
  /**
   * A hash of the token and of the name of the store that the client was made with. A client with another one does not
   * use the state.
   */
  readonly identity: string;
  readonly modelHash: string;
  readonly historyID: string;
  /** The newest revision at which the state is exact. */
  readonly revision: number;
  /** The digest of the state: protocol.md, section 12. */
  readonly digest: string;
  /** Identifies the snapshot that the frames begin with. */
  readonly recording: string;
  /** How many frames were recorded since that snapshot, with its own. */
  readonly sequence: number;
  readonly frames: readonly CachedFrame[];
}

/**
 * Frames that follow those of a view. A cache adds them only to the view of this `recording`, with this `sequence`, at
 * the revision `base`; otherwise another client has written the view, and it drops them.
 */
export interface CacheAppend {
  readonly request: string;
  readonly recording: string;
  /** That of the view before the frames; afterwards it is greater by their number. */
  readonly sequence: number;
  readonly base: number;
  /** Empty: only the revision is new. */
  readonly frames: readonly CachedFrame[];
  /** Of the state after the frames. */
  readonly revision: number;
  readonly digest: string;
}

/** Something to keep, or to forget. */
export type CacheChange =
  | { readonly type: 'model'; readonly model: CachedModel }
  /** Read by the server, or used again. */
  | ({ readonly type: 'predicate' } & CachedPredicate)
  /** A new state of a view, instead of the last one. */
  | { readonly type: 'replace'; readonly view: CachedView }
  | { readonly type: 'append'; readonly append: CacheAppend }
  | { readonly type: 'remove'; readonly request: string; readonly reason: string };

/** What `connect({ cache })` takes. */
export interface Cache {
  /** The last model that a client has read, with the predicates that are kept. */
  model(): Promise<(CachedModel & { readonly predicates?: readonly CachedPredicate[] }) | null>;
  /** The state of the view with this request, with everything that was recorded before this call. */
  view(request: string): Promise<CachedView | null>;
  /** Records changes, in this order. Returns at once. */
  record(changes: readonly CacheChange[]): void;
  /** Resolves when everything that was recorded is kept. The client calls it when it is closed. */
  flush(): Promise<void>;
  /** Forgets everything. For the program: a client does not call it. */
  clear?(): Promise<void>;
  /** Keeps nothing any more. For the program, too. */
  close?(): Promise<void>;
}

export interface IndexedDBCacheOptions {
  /** Of the database. Use one for each store and each user. */
  name: string;
  /** Beyond it, the states that were least recently shown are removed: 67,108,864 if left out. */
  byteCountMax?: number;
  /** Called once with the reason if the cache does not work; `console.warn` if left out. */
  onFault?: (error: NestError) => void;
}

/**
 * A cache in a database of the browser, for pages and workers. Changes are written together, at most every second and
 * when the page is hidden or left. Several pages may use one database: if two change the same list, the first one
 * writes it. Every record has a checksum; one that is damaged is removed, and never shown. Nothing is encrypted.
 */
export class IndexedDBCache implements Cache {
  /** Programs call `open`. */
  constructor(options: IndexedDBCacheOptions);
  /**
   * Opens the database, or makes it. If the platform has none (a private window, say), or it cannot be used, the cache
   * stays empty, the client works without, and `fault` has the reason. Rejects only for wrong options.
   */
  static open(options: IndexedDBCacheOptions): Promise<IndexedDBCache>;
  /** The last reason for which something could not be kept or read; null if there is none. */
  readonly fault: NestError | null;
  model(): ReturnType<Cache['model']>;
  view(request: string): Promise<CachedView | null>;
  record(changes: readonly CacheChange[]): void;
  flush(): Promise<void>;
  /**
   * Forgets everything, for example when the user signs out. Close the clients that use the cache before, in all pages:
   * they would record the states that they show. Rejects with INVALID if the states may still be there.
   */
  clear(): Promise<void>;
  /** Writes everything, and closes the database. */
  close(): Promise<void>;
}

/** A cache in memory. It outlives a client, not the page: for tests, and for programs that make their client anew. */
export class MemoryCache implements Cache {
  constructor(options?: { byteCountMax?: number });
  model(): ReturnType<Cache['model']>;
  view(request: string): Promise<CachedView | null>;
  record(changes: readonly CacheChange[]): void;
  flush(): Promise<void>;
  clear(): Promise<void>;
  close(): Promise<void>;
}
