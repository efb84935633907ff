/** A client of nest, for browsers and everything else that has WebSocket. README.md has examples. */

/** A refusal or a failure. Act by `code`, for an unknown code by `retry`; the message is for people. */
export class NestError extends Error {
  constructor(code: string, message: string, details?: object);
  /** The name of the code, such as NOT_FOUND: protocol.md, section 14. */
  readonly code: string;
  readonly number: number;
  /**
   * 0: the same request would fail again. Not executed: 1 send it again at once, 2 after a pause, 4 connect again
   * first. 3: it may have been executed, so send it again only with the same key.
   */
  readonly retry: number;
  /** Milliseconds to wait first; 0: none named. */
  readonly retryAfter: number;
  readonly object: number | null;
  /** Everything that is wrong with the state that a transaction would leave. */
  readonly faults: readonly Fault[];
  /** With INVALID_PREDICATE: where the mistake is, counted from 1 in Unicode scalars. */
  readonly column: number | null;
  /** With OUTCOME_UNKNOWN of a write: its key, with which it may be sent again. */
  readonly key: string | null;
}

export interface Fault {
  readonly entity: number;
  readonly property: number | null;
  readonly object: number | null;
  readonly reason: string;
  readonly message: string;
}

/** A date, exact to the microsecond. */
export class NestDate {
  constructor(microseconds: number | bigint);
  static from(date: Date): NestDate;
  /** Since 1970-01-01 00:00 UTC; a BigInt beyond 2^53-1. */
  readonly microseconds: number | bigint;
  /** Rounded down to the millisecond. */
  toDate(): Date;
  toJSON(): string;
}

/** The other end of a to-one relationship. */
export class Reference {
  constructor(id: number);
  readonly id: number;
}

export class UUID {
  constructor(hex: string);
  static from(text: string): UUID;
  readonly hex: string;
}

/** What a row has of an attribute of the type largeData or largeText: `nest-client/values` sends and reads its bytes. */
export class LargeValue {
  constructor(bytes: Uint8Array);
  /** The number of the value in its store. */
  readonly id: number | bigint;
  /** The number of bytes. */
  readonly length: number;
  /** The SHA-256 of the bytes, in hexadecimal digits. */
  readonly sha256: string;
}

/** A double, where a number alone could be an integer. */
export class Double {
  constructor(value: number);
  readonly value: number;
}

/** What a property holds. Integers beyond 2^53-1 are BigInt. */
export type Value = null | boolean | number | bigint | string | Uint8Array | NestDate | Reference | UUID | LargeValue;
/** What a program may give for a property; one that is undefined is left out. */
export type Given = Value | Date | Double | ObjectLike | undefined;
/** An object: its id, or anything that has one. */
export type ObjectLike = number | { readonly id: number } | NewObject;

/**
 * What every row has. Each value also has a property of its name, unless that is `id`, `values`, `get`, `toJSON`,
 * `constructor` or `__proto__`. These are getters: `{...row}` has none of them, `row.toJSON()` has all.
 */
export interface BaseRow {
  readonly id: number;
  /** In the order of `state.names`. */
  readonly values: readonly Value[];
  /** The value of a name; undefined if rows have no such value. */
  get(name: string): any;
  toJSON(): Record<string, unknown>;
}

/** A row of a request that does not say which values it has. */
export interface Row extends BaseRow {
  readonly [name: string]: any;
}

/** What `nestc model generate typescript` says of an entity. */
export interface EntityTypes {
  readonly row: BaseRow;
  /** What rows can have: the names of its attributes and to-one relationships. */
  readonly names: string;
  /** What a program may give for its properties. */
  readonly values: Record<string, any>;
  /** The entities that its to-many relationships lead to. */
  readonly toMany: object;
}

/** An entity of which a program does not say what it has. */
export interface AnyEntity {
  readonly row: Row;
  readonly names: string;
  readonly values: Record<string, Given>;
  readonly toMany: any;
}

/** The entities of a program that does not say which there are. */
export interface AnyModel {
  readonly [entity: string]: AnyEntity;
}

/** The row with the named properties; values of related objects are in `get`. */
export type Picked<R extends BaseRow, K extends string> =
  string extends keyof R ? Row : BaseRow & Pick<R, Extract<K, keyof R>>;

/** What `properties` takes: names of the entity, paths such as `owner.name` and `phones.@count`, and `@entity`. */
export type PropertyName<T extends EntityTypes> = T['names'] | `${string}.${string}` | '@entity';

type NoInfer<T> = [T][T extends any ? 0 : never];

export interface Section<R extends BaseRow = Row> {
  /** "" in a result without sections. */
  readonly key: Value;
  readonly rows: readonly R[];
  readonly count: number;
  /** Over all its rows, also those that a window does not show: as `ListState.totals`. */
  readonly totals?: Totals;
  at(index: number): R | undefined;
}

/**
 * Values over all rows, by the texts of the request without spaces: `totals['sum(minutes)']`. Exact: integers beyond
 * 2^53-1 are BigInt, decimals and averages of them are text.
 */
export interface Totals {
  readonly [total: string]: Value;
}

/** Where a window is in the whole result. */
export interface Position {
  readonly total: number;
  readonly sectionTotal: number;
  readonly start: { readonly row: number; readonly section: number; readonly rowInSection: number };
  readonly anchor: number | null;
}

/** The state of a list, or the answer to a fetch: frozen. */
export interface ListState<R extends BaseRow = Row> {
  /** The revision that has changed it last. */
  readonly revision: number;
  readonly request: FetchRequest<R, any>;
  readonly names: readonly string[];
  readonly rows: readonly R[];
  readonly sections: readonly Section<R>[];
  /** The rows shown, and those of the whole result. */
  readonly count: number;
  readonly total: number;
  readonly position: Position | null;
  /** Of the same revision as the rows. Undefined without `totals(…)`, and before the first rows. */
  readonly totals?: Totals;
  /**
   * Only of the lists of a client with a cache: whether the list follows the server. False of a state of the cache, and
   * while the list is disconnected, paused or read anew.
   */
  readonly isCurrent?: boolean;
  /** What JSON.stringify and console.log of Node show. */
  toJSON(): { readonly revision: number; readonly total: number; readonly rows: readonly R[] };
}

/** A request for objects. Immutable: each method returns another one. The texts are those of docs/query-language.md. */
export interface FetchRequest<R extends BaseRow = Row, T extends EntityTypes = AnyEntity> {
  /** Only for types: the entity. */
  readonly '~entity'?: T;
  readonly model: Model;
  /** In a template, values are quoted: where`title == ${typed}`, without quotation marks. */
  where(predicate: string): FetchRequest<R, T>;
  where(predicate: TemplateStringsArray, ...values: unknown[]): FetchRequest<R, T>;
  sorted(...keys: string[]): FetchRequest<R, T>;
  /** Attributes, to-one relationships, `@entity`, and paths: `parent.title`, `children.@count`, `children.@sum.size`. */
  properties<K extends PropertyName<T>>(...names: (K | readonly K[])[]): FetchRequest<Picked<T['row'], K>, T>;
  columns(...names: string[]): FetchRequest<R, T>;
  section(path: string, by?: 'value' | 'firstCharacter' | 'year' | 'month' | 'day'): FetchRequest<R, T>;
  /** Values over all rows and over those of each section: `count`, `sum(path)`, `min(path)`, `max(path)`, `avg(path)`. */
  totals(...texts: string[]): FetchRequest<R, T>;
  window(offset: number, limit: number): FetchRequest<R, T>;
  around(object: ObjectLike, before: number, after: number): FetchRequest<R, T>;
  whole(): FetchRequest<R, T>;
  /** INVALID if this request has a condition, an order or a window: begin with the entity. */
  of(object: ObjectLike, relationship: string): FetchRequest;
  with(changes: object): FetchRequest;
}

/** For `instanceof`: requests begin with `nest.entity(name)`. */
export const FetchRequest: abstract new (...args: never[]) => FetchRequest;

/** An entity, and the request for all its objects. Each to-many relationship is a method: `items.children(1)`. */
export interface Entity extends FetchRequest {
  readonly name: string;
  readonly [relationship: string]: any;
}

/** An entity of a generated model: its to-many relationships are methods, `users.phones(ann)`. */
export type TypedEntity<M, N extends keyof M> = M[N] extends EntityTypes
  ? FetchRequest<M[N]['row'], M[N]> & { readonly name: N } & {
    readonly [K in keyof M[N]['toMany']]: (object: ObjectLike) => RelatedTo<M, M[N]['toMany'][K]>;
  }
  : never;

type RelatedTo<M, N> = N extends keyof M
  ? M[N] extends EntityTypes ? FetchRequest<M[N]['row'], M[N]> : never
  : never;

/** `Entity`, unless the model says which entities there are. */
export type EntityOf<M, N extends keyof M> = string extends keyof M ? Entity : TypedEntity<M, N>;

export interface Model {
  readonly hash: string;
  readonly entities: readonly any[];
  entity(name: string | number): any;
  find(name: string | number): any;
}

/** A change of a list. `state` is the state after it. */
export type Change<R extends BaseRow = Row> = { readonly state: ListState<R> } & (
  /** The reason `cache`: the state of an earlier run, which the server has not confirmed. */
  | { readonly type: 'snapshot'; readonly reason: string }
  | {
    readonly type: 'diff';
    readonly from: number;
    readonly to: number;
    /** By old and new positions: protocol.md, section 11. */
    readonly diff: any;
    /** The revisions of this client's own writes. */
    readonly own: readonly number[];
    readonly authors: readonly Author[];
  }
  | { readonly type: 'position'; readonly position: Position }
  | { readonly type: 'totals' }
  | { readonly type: 'progress'; readonly revision: number }
  | { readonly type: 'request' }
  /** `cache`: the store cannot continue the state of the cache, which has another history or model. */
  | { readonly type: 'reset'; readonly cause: 'server' | 'mismatch' | 'request' | 'cache'; readonly message: string }
  | { readonly type: 'disconnected'; readonly reason: string }
  | { readonly type: 'resumed'; readonly revision: number; readonly isExact: boolean }
  | { readonly type: 'paused' }
  | { readonly type: 'ended'; readonly error: NestError | null }
);

export interface Author {
  readonly revision: number;
  readonly sessionNumber: number;
  readonly user: string | null;
  /** Whether the user is what the client has said of itself, because the server has no tokens. */
  readonly userClaimed: boolean;
}

/** A live list. Close it when it is not needed any more. */
export interface Results<R extends BaseRow = Row> extends AsyncIterable<Change<R>> {
  /** The newest state. */
  readonly state: ListState<R>;
  /** The newest revision at which `state` is exact. */
  readonly revision: number;
  readonly request: FetchRequest<R, any>;
  /** `cached`: it shows a state of the cache, which the server has not confirmed. */
  readonly status: 'connecting' | 'cached' | 'live' | 'loading' | 'disconnected' | 'paused' | 'ended';
  readonly error: NestError | null;
  /** For React: `useSyncExternalStore(list.subscribe, list.getSnapshot)`. */
  subscribe(listener: (change: Change<R>) => void): () => void;
  getSnapshot(): ListState<R>;
  /** True when the server has accepted the request; false if a later call has replaced it, or the list was closed. */
  change(request: FetchRequest<R, any>): Promise<boolean>;
  pause(): void;
  resume(): void;
  close(): void;
}

/** A row of an outline. An attribute with one of these names is in `get`. */
export interface OutlineRow extends Row {
  /** 0 for the children of the object that the outline is below. */
  readonly depth: number;
  /** How many children it has that the predicate admits, shown or not. */
  readonly children: number;
  readonly hasChildren: boolean;
  /** Whether its children are shown. A row without children has this state too: it counts when children come. */
  readonly isExpanded: boolean;
}

/** The state of an outline: frozen. Its rows are in preorder, those of its window. */
export interface OutlineState extends ListState {
  readonly rows: readonly OutlineRow[];
  /** How many rows are before the first of `rows`; `total` has them all, as the outline is unfolded. */
  readonly start: number;
  /** The object above the outline. */
  readonly under: number;
  /** -1 if it is not shown. */
  indexOf(object: number | { readonly id: number }): number;
  /**
   * -1 for a row of depth 0, or if the parent is before the window: for writes ask for the relationship that leads to
   * it, such as `parent`.
   */
  parentIndex(index: number): number;
  /** The index after the last shown row that is below a row. */
  subtreeEnd(index: number): number;
}

/** Adjacent rows that left, moved or came together, such as a sub-tree. No row is in two runs of a change. */
export interface OutlineRun {
  readonly kind: 'removed' | 'moved' | 'inserted';
  /** The index of the first row before the change; null: inserted. */
  readonly from: number | null;
  /** The index of the first row after the change; null: removed. */
  readonly to: number | null;
  readonly count: number;
}

/** A change of an outline. `runs`, for an animation: first what left, then what moved, then what came. */
export type OutlineChange = Exclude<Change, { type: 'diff' }> & { readonly state: OutlineState }
  | Extract<Change, { type: 'diff' }> & { readonly state: OutlineState; readonly runs: readonly OutlineRun[] };

/** Which rows are unfolded: none, all, or those whose boolean attribute of this name is true. */
export interface OutlineExpansion {
  expand?: 'none' | 'all' | (string & {});
  /** Objects with the other state. */
  except?: Iterable<number | { readonly id: number }>;
  /** States of objects in an outline by an attribute, whatever their attribute is. */
  set?: Iterable<readonly [number | { readonly id: number }, boolean]>;
}

/** The rows that an outline shows: by their numbers, or around an object that it follows. At most 1,000. */
export type OutlineWindow = { offset?: number; limit?: number }
  | { around: number | { readonly id: number }; before?: number; after?: number };

/**
 * A live outline. Its calls return true when the server has accepted them; false if later calls have replaced all of
 * it, or the outline was closed. If the server refuses, they reject and nothing changes.
 */
export interface OutlineResults extends AsyncIterable<OutlineChange> {
  readonly state: OutlineState;
  readonly revision: number;
  readonly request: FetchRequest;
  readonly status: Results['status'];
  readonly error: NestError | null;
  /** Which rows are unfolded, as the server has confirmed it; JSON keeps it for `nest.outline` in a later run. */
  readonly folds: { expand: string; except: number[]; set: [number, boolean][] };
  subscribe(listener: (change: OutlineChange) => void): () => void;
  getSnapshot(): OutlineState;
  /** Folds or unfolds objects, shown or not. */
  setExpanded(
    objects: number | { readonly id: number } | Iterable<number | { readonly id: number }>, isExpanded: boolean,
  ): Promise<boolean>;
  expandAll(): Promise<boolean>;
  foldAll(): Promise<boolean>;
  /** Shows what is below another object. */
  zoom(object: number | { readonly id: number }): Promise<boolean>;
  scroll(window: OutlineWindow): Promise<boolean>;
  /** Several things in one step; what is left out stays. A predicate that is null shows all rows. */
  change(to: OutlineExpansion & {
    under?: number | { readonly id: number }; where?: string | null; window?: OutlineWindow;
  }): Promise<boolean>;
  pause(): void;
  resume(): void;
  close(): void;
}

/** A new object of a transaction, for its later steps and for `receipt.id`. */
export interface NewObject {
  readonly index: number;
}

/** Where an object goes. */
export interface Place {
  first?: boolean;
  last?: boolean;
  before?: ObjectLike;
  after?: ObjectLike;
  at?: number;
  /**
   * The gap where a user dropped an object: after `left` if it is still in the list, else before `right`, else last.
   * Unlike `before` and `after`, it is not refused if one is gone.
   */
  near?: { left?: ObjectLike | null; right?: ObjectLike | null };
}

/** Under which owner, by which to-one relationship (`as`, if there are several), and where. */
export interface Placement extends Place {
  of: ObjectLike;
  as?: string;
}

/** The id that an object gets: one of `nest.reserveIDs` that no object has had; any other is INVALID. */
export interface ReservedID {
  id: number;
}

export interface Transaction {
  /** `place`: where, or `{ id }`, alone or together with a whole place. */
  insert<T extends EntityTypes>(
    entity: FetchRequest<any, T>, values?: NoInfer<T>['values'],
    place?: Placement | (ReservedID & { [name in keyof Placement]?: never }) | (ReservedID & Placement) | null,
  ): NewObject;
  findOrCreate<T extends EntityTypes>(
    entity: FetchRequest<any, T>, match: NoInfer<T>['values'], values?: NoInfer<T>['values'], place?: Placement | null,
  ): NewObject;
  update<T extends EntityTypes>(entity: FetchRequest<any, T>, object: ObjectLike, values: NoInfer<T>['values']): void;
  move(entity: FetchRequest<any, any>, object: ObjectLike, place: Placement): void;
  delete(object: ObjectLike): void;
  relate(entity: FetchRequest<any, any>, owner: ObjectLike, relationship: string, object: ObjectLike, place?: Place): void;
  unrelate(entity: FetchRequest<any, any>, owner: ObjectLike, relationship: string, object: ObjectLike): void;
  setRelated(entity: FetchRequest<any, any>, owner: ObjectLike, relationship: string, objects: readonly ObjectLike[]): void;
  /** The object must not have changed since the revision. */
  expect(object: ObjectLike, revision?: number): void;
}

/** What an undo left, or overwrote. */
export interface Conflict {
  readonly reason: string;
  /** Its name; a number if the client could not read the model. */
  readonly entity: string | number;
  readonly object: number;
  readonly property: string | number | null;
  readonly revision: number | null;
  readonly sessionNumber: number | null;
  readonly label: string;
  readonly user: string | null;
}

export interface Receipt {
  readonly revision: number;
  readonly isChanged: boolean;
  /** Whether this repeats the answer to an earlier request with the same key. */
  readonly isReplayed: boolean;
  readonly name: string;
  readonly conflictCount: number;
  /** The first 100. */
  readonly conflicts: readonly Conflict[];
  id(object: NewObject | number): number;
  result(object: NewObject | number): { readonly id: number; readonly isFound: boolean };
}

export interface CallOptions {
  /** Abandons the request. A write may have been executed: OUTCOME_UNKNOWN. */
  signal?: AbortSignal;
  /** Milliseconds from the call to the answer, with all that it waits for. 30,000 if left out; Infinity: never. */
  timeout?: number;
}

export interface WriteOptions extends CallOptions {
  /** 32 hexadecimal digits. To repeat a write whose outcome is unknown, send it again with `error.key`. */
  key?: string | null;
}

export interface UndoOptions extends WriteOptions {
  policy?: 'keep' | 'force' | 'strict';
  rehomes?: boolean;
  /** The entry that is meant, by its revision. */
  expected?: number | null;
}

/** A point in the changes of a store. */
export interface ChangePoint {
  readonly history: string;
  readonly revision: number;
  readonly place?: number;
}

export interface ChangeFeed extends AsyncIterableIterator<any> {
  next(): Promise<IteratorResult<any>>;
  return(): Promise<IteratorResult<any>>;
  close(): Promise<void>;
}

export interface UndoStates extends AsyncIterable<any> {
  /** The newest state; of a client with a cache the last one of an earlier run, until the server has sent it. */
  readonly state: any;
  /** Whether it was closed, or has ended with its client: listeners are called then too. */
  readonly isEnded: boolean;
  readonly error: NestError | null;
  subscribe(listener: (state: any) => void): () => void;
  getSnapshot(): any;
  close(): void;
}

/** Where somebody is. Of other programs, `value` is null if their bytes have another form. */
export interface PresencePlace {
  /** The object that is selected, for example a row. */
  readonly object: number | null;
  /** The number of the attribute of it that is edited. */
  readonly property: number | null;
  /** The selection in the text of that attribute, in UTF-16 code units: where it began, and the caret. */
  readonly anchor: number | null;
  readonly head: number | null;
}

/** Somebody who is present. */
export interface Person {
  /** Names the client as long as it is present, also after a short loss of its connection. */
  readonly connection: number;
  /** The public number of its session, as history and authors have it; 0: it has none yet. */
  readonly session: number;
  readonly name: string | null;
  /** Whether no server has checked the name: show `~name`. */
  readonly claimed: boolean;
  readonly isSelf: boolean;
  readonly value: PresencePlace | null;
  readonly bytes: Uint8Array;
}

/** Who is present at an object, and where. Iterate it, or `subscribe`: both get the newest state only. */
export interface Presence extends AsyncIterable<readonly Person[]> {
  readonly scope: number;
  /** Frozen, by `connection`; this client is among them after `set`. */
  readonly state: readonly Person[];
  /** Whether that is the state of now: false while there is no connection. */
  readonly isLive: boolean;
  readonly isEnded: boolean;
  /** Why it has ended (NOT_FOUND: there is no such object), or why the server does not show this client now. */
  readonly error: NestError | null;
  /** Shows this client, instead of what it showed before; null: not at all. Only the newest is sent. */
  set(value: {
    object?: number | { readonly id: number } | null;
    property?: number | { readonly number: number } | null; anchor?: number | null; head?: number | null;
  } | Uint8Array | null): void;
  subscribe(listener: (state: readonly Person[]) => void): () => void;
  getSnapshot(): readonly Person[];
  close(): void;
}

export interface ClientState {
  readonly phase: 'connecting' | 'ready' | 'reconnecting' | 'closed';
  readonly address: string | null;
  /** Why there is no connection. */
  readonly error: NestError | null;
  /** Milliseconds before the next attempt. */
  readonly pause: number;
}

/** For `instanceof`: a client begins with `connect`. */
export const Nest: abstract new (...args: never[]) => Nest;

/** A connection that lasts. `M`: the entities, as `nestc model generate typescript` writes them. */
export interface Nest<M = any> {
  readonly state: ClientState;
  /**
   * What the server has said: `historyID`, `revision`, `role`, `user`, `tokenExpires` and others. Null before the first
   * connection, which only a client that begins with its cache may wait for.
   */
  readonly server: any;
  /** Owns the undo stacks of this client. Keep it secret; with it, a later run can undo the work of this one. */
  readonly session: string;
  onState(listener: (state: ClientState) => void): () => void;
  /** Ends lists, feeds and undo states; their loops are done. Requests fail with CLOSED, or OUTCOME_UNKNOWN. */
  close(): void;
  ping(): Promise<number>;
  /** A new key for a write, if you want to store it before you send it. */
  newKey(): string;
  model(): Promise<Model>;
  entity<N extends keyof M & string>(name: N): Promise<EntityOf<M, N>>;
  /** What a request is to the server, with its predicates in the byte form: for `nest-client/rules`. */
  resolve(request: FetchRequest<any, any>): Promise<any>;
  results<R extends BaseRow = Row>(request: FetchRequest<R, any>): Results<R>;
  /** What is below an object, in preorder: `outline(items.children(1), { expand: 'all' })`. */
  outline(request: FetchRequest<any, any>, options?: OutlineExpansion): Promise<OutlineResults>;
  /** Who is present at an object, for example the root of an outline. */
  presence(scope: number | { readonly id: number }): Promise<Presence>;
  fetch<R extends BaseRow = Row>(
    request: FetchRequest<R, any>, options?: CallOptions & { atLeast?: number | 'newest' },
  ): Promise<ListState<R>>;
  count(request: FetchRequest<any, any>, options?: CallOptions & { atLeast?: number | 'newest' }): Promise<number>;
  object(id: number | { readonly id: number }, options?: CallOptions): Promise<{
    readonly entity: string;
    readonly id: number;
    readonly revision: number;
    readonly values: Readonly<Record<string, Value>>;
    readonly counts: Readonly<Record<string, number>>;
  }>;
  explain(request: FetchRequest<any, any>): Promise<any>;
  statistics(): Promise<Map<string, number | bigint>>;
  transaction(
    name: string | null, body: (tx: Transaction) => unknown,
    options?: WriteOptions & { coalescing?: { key: string; milliseconds: number } | null },
  ): Promise<Receipt>;
  /**
   * Reserves ids for objects that a program shows before the server has inserted them: `tx.insert(entity, values, { id })`.
   * They belong to the session, are durable, and no other object ever gets them. A session keeps its newest 1,048,576
   * unused ids, in at most 100 pieces; older ones are lost. Used in ascending order, they are few pieces. Under another
   * history id, which a restored store has, do not use ids that were reserved before. An id that is not reserved, or
   * was used, is INVALID. `count`: 1 to 65,536. Each call is a commit: ask for many at once.
   */
  reserveIDs(count: number, options?: CallOptions): Promise<readonly number[]>;
  undo(options?: UndoOptions): Promise<Receipt>;
  redo(options?: UndoOptions): Promise<Receipt>;
  revert(revision: number, options?: Omit<UndoOptions, 'expected'> & { ofAnyone?: boolean }): Promise<Receipt>;
  preview(
    what?: 'undo' | 'redo' | { revision: number; ofAnyone?: boolean },
    options?: { policy?: 'keep' | 'force' | 'strict'; rehomes?: boolean },
  ): Promise<any>;
  undoState(): Promise<any>;
  undoStates(): Promise<UndoStates>;
  history(
    options?: CallOptions & { before?: number; limit?: number; onlyMine?: boolean; object?: number | Reference | null },
  ): Promise<readonly any[]>;
  group<T>(name: string | null, body: (nest: Nest<M>) => Promise<T>): Promise<T>;
  beginGroup(name?: string | null): Promise<number>;
  joinGroup(number: number): Promise<number>;
  endGroup(): Promise<void>;
  changes(options?: { since?: ChangePoint | null; entities?: (string | Entity)[] }): ChangeFeed;
  export(request: any): Promise<any>;
  import(request: any, rows: any): Promise<any>;
  operations(): Promise<any>;
  tokens(): Promise<any>;
}

export interface ConnectOptions {
  /** `wss://HOST/nest`. In a page, left out: `/nest` of its own server. */
  url?: string;
  /** Servers with the same store: the client goes to another one when one fails. */
  urls?: readonly string[];
  /** `nest_NUMBER_SECRET`. It is sent only over TLS, or to this machine. */
  token?: string | null;
  sendsTokenInClear?: boolean;
  /** 32 secret hexadecimal digits; left out: new ones. */
  session?: string;
  /** A label of this client's user, for servers without tokens. */
  user?: string;
  clientName?: string;
  /** The name of the store that the servers must have. */
  store?: string;
  /** The time zone of dates in predicates, such as Europe/Berlin; left out: UTC. */
  zone?: string;
  onState?: (state: ClientState) => void;
  /** Milliseconds. */
  connectTimeout?: number;
  requestTimeout?: number;
  reconnectPauseMax?: number;
  /** Whether the server may compress large answers, where the platform unpacks Zstandard. */
  compression?: boolean;
  /** Instead of that of the platform. */
  WebSocket?: unknown;
  /** Whether the lists of a page pause after it was hidden for 30 seconds. */
  pausesWhenHidden?: boolean;
  /**
   * Lists begin with their last state from it: nest-client/cache. If it has the model of an earlier run, `connect`
   * resolves at once, and the client connects meanwhile. It is not closed because no server can be reached.
   */
  cache?: import('./cache.js').Cache;
}

/**
 * Connects. Rejects with NestError if no server can be used. `connect<Model>(…)`: with the entities of a generated model.
 */
export function connect<M = AnyModel>(options?: ConnectOptions | string): Promise<Nest<M>>;

/** Writes a value in a predicate, so that it cannot become anything else. */
export function quote(value: unknown): string;
