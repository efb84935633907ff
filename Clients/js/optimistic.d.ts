/** Optimistic writes: lists show this client's writes at once, and the server decides what stays. */

import type {
  BaseRow, Change, FetchRequest, ListState, Nest, NestError, NewObject, ObjectLike, OutlineChange, OutlineExpansion,
  OutlineResults, OutlineState, Receipt, Results, Row, Transaction,
} from './index.js';

/** A new object of a write. */
export interface LocalObject extends NewObject {
  /** Null until ids are in stock, and for what `findOrCreate` returns. */
  readonly id: number | null;
}

/** The steps of a write. Inserts have reserved ids. */
export interface LocalTransaction extends Transaction {
  insert(...args: Parameters<Transaction['insert']>): LocalObject;
}

/**
 * `open`: its group has not ended. `queued`: not sent. `sent`: no answer yet. `committed`: durable, but some list has
 * not reached its revision. `settled`: every list shows it as the server has it. `refused`: the server has refused it,
 * it was undone before it was sent, or its group was given up (CANCELLED). `parked`: it is not known whether it
 * happened, or it cannot be sent to this server; the program decides.
 */
export type WriteState = 'open' | 'queued' | 'sent' | 'committed' | 'settled' | 'refused' | 'parked';

/** A write that lists show before the server has it. */
export interface Write {
  readonly kind: 'transaction' | 'undo' | 'redo';
  readonly name: string | null;
  readonly state: WriteState;
  /**
   * Resolves when it is durable, and after lists have shown that; null for an undo that found nothing to take back at
   * the server. Rejects if it was refused or parked: `error.faults` lists every mistake.
   */
  readonly done: Promise<Receipt | null>;
  /** The ids of the objects that it inserts, in order; null: not known yet, or of `findOrCreate`. */
  readonly ids: readonly (number | null)[];
  readonly key: string;
  readonly receipt: Receipt | null;
  readonly error: NestError | null;
  /** The refused write that was to make an object which this one names, so that it was refused too. */
  readonly cause: Write | null;
  /**
   * Sends it again after it was refused or parked, as another write. With a function its steps are made anew, and its
   * inserts without an `id` get the reserved ids of this one in their order, or new ones if the store has another
   * history now. Without, the steps are the same, and INVALID if they have ids of another history; a parked write keeps
   * its key, so that it happens at most once. It comes after the writes made meanwhile; `inPlace`: before those that were
   * made after this one and are not sent, for one that is corrected before the program goes on.
   */
  again(body?: (tx: LocalTransaction) => void, given?: { inPlace?: boolean }): Write;
}

/** The transactions of a group. */
export interface LocalGroup {
  /** Adds steps, and shows them at once. If `body` throws, the group is given up. INVALID after its end. */
  transaction<R>(body: (tx: LocalTransaction) => R): R;
}

/** A state that may show writes which the server has not confirmed. */
export interface LocalState<R extends BaseRow = Row> extends ListState<R> {
  /** How many things are known for which rows may differ from what the server will answer. */
  readonly undecided: number;
  /** Whether the list follows the server: not while it is disconnected, paused, or read anew. */
  readonly isCurrent: boolean;
  /** Whether an unconfirmed write changes a row; `queued` if one of them was not sent. */
  pendingOf(row: ObjectLike): 'none' | 'queued' | 'sent';
}

/** As of a list; `pending`: no row has changed, but whether rows are pending, `undecided` or `isCurrent`. */
export type LocalChange<R extends BaseRow = Row> = (Change<R> | { readonly type: 'pending' })
  & { readonly state: LocalState<R> };

/** A live list that shows this client's own writes. */
export interface LocalResults<R extends BaseRow = Row>
  extends Omit<Results<R>, 'state' | 'subscribe' | 'getSnapshot' | typeof Symbol.asyncIterator>,
  AsyncIterable<LocalChange<R>> {
  readonly state: LocalState<R>;
  subscribe(listener: (change: LocalChange<R>) => void): () => void;
  getSnapshot(): LocalState<R>;
}

/** The state of an outline that may show writes which the server has not confirmed. */
export interface LocalOutlineState extends OutlineState {
  readonly undecided: number;
  readonly isCurrent: boolean;
  pendingOf(row: ObjectLike): 'none' | 'queued' | 'sent';
}

/** As of an outline; `pending`: no row has changed, but whether rows are pending, `undecided` or `isCurrent`. */
export type LocalOutlineChange = (OutlineChange | { readonly type: 'pending' }) & { readonly state: LocalOutlineState };

/** A live outline that shows this client's own writes. */
export interface LocalOutlineResults
  extends Omit<OutlineResults, 'state' | 'subscribe' | 'getSnapshot' | typeof Symbol.asyncIterator>,
  AsyncIterable<LocalOutlineChange> {
  readonly state: LocalOutlineState;
  subscribe(listener: (change: LocalOutlineChange) => void): () => void;
  getSnapshot(): LocalOutlineState;
}

export interface UndoneOptions {
  policy?: 'keep' | 'force' | 'strict';
  rehomes?: boolean;
}

export interface Optimistic {
  /** A live list that shows own writes at once. */
  results<R extends BaseRow = Row>(request: FetchRequest<R, any>): Promise<LocalResults<R>>;
  /**
   * Makes a write, shows it in all lists at the end of this turn, and sends it. Writes are sent in their order. One
   * that the server could not carry out is sent again: what was sent behind it may come before it, and is sent again
   * with it if it was refused. `body` has no asynchronous steps.
   */
  transaction(
    name: string | null, body: (tx: LocalTransaction) => void,
    options?: { coalescing?: { key: string; milliseconds: number } | null },
  ): Write;
  /**
   * A live outline that shows own writes at once, as far as the rows of its window say what they give. What folds and
   * unfolds waits for the server. After `change({ where })` a row is decided only if it has the values that the new
   * predicate reads.
   */
  outline(request: FetchRequest<any, any>, options?: OutlineExpansion): Promise<LocalOutlineResults>;
  /**
   * Makes one write of several transactions, which are shown one by one: one undo entry, sent when `body` has ended.
   * Writes after its begin wait for it, so do not wait inside for one that is made outside. If `body` throws, nothing is
   * sent. Null: nothing was written. It has the limits of a transaction. `instead`: a refused write; the group comes
   * before the writes that were made after that one and are not sent.
   */
  group(name: string | null, body: (group: LocalGroup) => unknown, given?: { instead?: Write | null }):
    Promise<Write | null>;
  /**
   * Takes back the newest entry of the session, after all writes before. A write of this client that is not settled is
   * not shown any more at once; one that was not sent is not sent, unless it coalesces with one before it. BUSY while
   * the newest write is a group that has steps and has not ended.
   */
  undo(options?: UndoneOptions): Write;
  /**
   * Does again what was taken back last. Lists show it when the server has done it; at once if it is a write that was
   * not sent.
   */
  redo(options?: UndoneOptions): Write;
  /** The writes that are not settled, refused or parked, in their order. */
  readonly pending: readonly Write[];
  /** Calls a function after each change of `pending`, or of the state of a write. Returns what ends it. */
  subscribe(listener: () => void): () => void;
}

/** The optimistic side of a client; the same for each call. */
export function optimistic(nest: Nest<any>): Optimistic;
