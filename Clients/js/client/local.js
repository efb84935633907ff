/**
 * A client's own writes, shown before the server has them: what connects the pending writes (overlay/pending.js) and
 * the lists (local-lists.js) to the machine.
 * @module
 */

import { encode } from '../wire/messages.js';
import '../wire/messages-optimistic.js';
import '../wire/messages-undo.js';
import { decode } from '../wire/messages.js';
import { NestError } from '../wire/errors.js';
import { submit } from '../machine/calls.js';
import { handlers } from '../machine/frames.js';
import { T } from '../machine/types.js';
import { rememberOwn } from '../machine/views.js';
import { laidLists } from '../overlay/laid-lists.js';
import { Pending } from '../overlay/pending.js';
import { Listeners, report } from './listeners.js';
import { LocalList } from './local-lists.js';
import { LocalGroup, LocalTransaction, Write } from './local-writes.js';
import { loaded } from './nest.js';
import { invalid, known } from './options.js';
import { Receipt } from './transaction.js';
import { shownConflicts } from './undo.js';

/** Ids that are reserved at a time, and how many are left when more are. */
const STOCK = 64;
const STOCK_MIN = 16;
/** How long lists wait for what the server will say about writes, in milliseconds. */
const HOLD_MS_MAX = 2_000;
/** The pauses before a write is sent again that was not executed, in milliseconds. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 10_000;
const RESERVE_PAUSE_MS = 1_000;
/**
 * How long a write is sent again with its key, in milliseconds. A server keeps keys for a day: afterwards it would carry
 * the write out a second time.
 */
const REPEAT_MS_MAX = 23 * 3_600_000;
/** Of how many objects it is remembered which refused write was to make them. */
const UNMADE_MAX = 256;
/** How often a write is sent that fails in the server. */
const ATTEMPTS_MAX = 10;

/** A write with these errors is parked: the program decides. */
const PARKED = new Set(['OUTCOME_UNKNOWN', 'SCHEMA_CHANGED', 'CLOSED', 'UNAUTHENTICATED', 'TOKEN_EXPIRED']);

handlers.set(T.own, (m, { body }) => {
  const { revisions, requests } = decode('own', body);
  rememberOwn(m, revisions);
  for (const one of m.followers) one.own?.(m, revisions, requests ?? []);
});

const tooOld = () => new NestError('OUTCOME_UNKNOWN',
  'the connection was lost a day ago, before the answer: the change may have been made');

/** Whether a write is sent again, and has no answer yet. @param {Write} write */
const isRetried = (write) => write.isRetried && write.receipt === null;

/** What the machine calls; its events come back in the order of the server's frames. */
class Link {
  model = null;
  // It does not read revisions.
  head = { history: '', revision: Infinity };
  /** @type {any} */
  #welcome = null;

  /** @param {Local} local */
  constructor(local) {
    this.local = local;
  }

  /** A connection is ready; also called when a list waits for a node that lags. @param {any} m */
  begin(m) {
    if (m.phase !== 'ready' || this.#welcome === m.welcome) return;
    this.#welcome = m.welcome;
    this.local.began(m);
    this.#emit(m, { type: 'ready' });
  }

  /** @param {any} m @param {number[]} revisions @param {number[]} requests */
  own(m, revisions, requests) {
    requests.forEach((id, index) => {
      const write = m.table.inFlight.get(id)?.request.owner?.call?.write;
      if (write) this.#emit(m, { type: 'own', write, revision: revisions[index] });
    });
  }

  /** @param {any} m */
  lost(m) {
    this.#welcome = null;
    this.#emit(m, { type: 'lost' });
  }

  /** @param {any} m @param {any} error */
  end(m, error) {
    m.followers.delete(this);
    m.emit({ type: 'end', to: this.local, error });
  }

  mayWait() {
    return false;
  }

  /** @param {any} m @param {any} change */
  #emit(m, change) {
    m.emit({ type: 'change', to: this.local, change });
  }
}

export class Local {
  /** @type {Pending<Write>} */
  #pending = new Pending();
  /** @type {Set<LocalList>} */
  #lists = new Set();
  /** @type {number[]} */
  #stock = [];
  /** The history whose ids are in stock. @type {any} */
  #history = null;
  #isReserving = false;
  /** What `redo` does again, newest last: writes that were undone before they were sent, and undos. @type {Write[]} */
  #undone = [];
  /** How many writes were made. */
  #places = 0;
  /** Settled writes whose answer was that they be sent again: their receipts are missing. @type {Set<Write>} */
  #owed = new Set();
  #isReady = false;
  /** Until when nothing is sent, because a write was not executed; not of the clock on the wall, which may be set. */
  #pauseEnds = 0;
  /** @type {any} */
  #timer = null;
  /**
   * Since when lists wait; null if they do not.
   * @type {number | null}
   */
  #heldSince = /** @type {any} */ (null);
  /** @type {any} */
  #holdTimer = null;
  #isScheduled = false;
  #isForced = false;
  #isFlushing = false;
  /** The last refused writes, by the objects that they were to make. @type {Map<number, Write>} */
  #unmade = new Map();
  /** @type {any} */
  #error = null;
  /** @type {Listeners<any>} */
  #listeners = new Listeners();

  /** @param {import('./nest.js').Nest} nest */
  constructor(nest) {
    this.nest = nest;
    const link = new Link(this);
    nest.run((m) => {
      if (m.error) throw m.error;
      m.followers.add(link);
      link.begin(m);
    });
  }

  // MARK: For the program

  /**
   * A live list that shows this client's own writes at once.
   * @param {any} request
   * @returns {Promise<any>} Results whose states are `LocalState`
   */
  async results(request) {
    // Deciding needs the model.
    await this.nest.model();
    const list = new LocalList(this, request);
    this.#lists.add(list);
    return list.results;
  }

  /**
   * A live outline that shows this client's own writes at once.
   * @param {any} request
   * @param {any} [folds] as of `nest.outline`
   * @returns {Promise<any>} Results whose states are of the class `LocalOutlineState`
   */
  async outline(request, folds) {
    await this.nest.model();
    const { localOutline } = await loaded(import('./local-outlines.js'));
    const list = localOutline(this, request, folds, await /** @type {any} */ (this.nest).outlines?.());
    this.#lists.add(list);
    return list.results;
  }

  /**
   * Makes a write and shows it.
   * @param {string | null} name
   * @param {(tx: LocalTransaction) => void} body
   * @param {{ coalescing?: any }} [given]
   * @returns {Write}
   */
  transaction(name, body, given) {
    const { coalescing = null } = known('transaction', given, ['coalescing']);
    const write = this.#write(name, body, { coalescing }, (count) => this.#take(count));
    this.#undone = [];
    return write;
  }

  /**
   * Makes one write of several transactions, which are shown one by one.
   * @param {string | null} name
   * @param {(group: LocalGroup) => any} body
   * @param {{ instead?: Write | null }} [given] a refused write, before whose successors it is sent
   * @returns {Promise<Write | null>} null: it has written nothing
   */
  async group(name, body, given) {
    const { instead = null } = known('group', given, ['instead']);
    if (typeof body !== 'function') invalid('it is group(name, body)');
    const tx = new LocalTransaction((count) => this.#take(count));
    const write = new Write(this, 'transaction', name || null, tx, {});
    write.phase = 'open';
    if (instead) write.place = instead.place;
    tx.isSent = true;
    this.#add(write);
    const group = new LocalGroup(write, () => this.#grew(write));
    try {
      await body(group);
      if (group.error) throw group.error;
    } catch (error) {
      this.#giveUp(write);
      throw error;
    }
    if (tx.mutations.length === 0) {
      this.#giveUp(write);
      return null;
    }
    if (write.phase !== 'open') return write;
    write.phase = 'queued';
    this.#undone = [];
    this.#restock();
    this.#send();
    this.#changed();
    this.#schedule(true);
    return write;
  }

  /** A group has more steps. @param {Write} write */
  #grew(write) {
    const { tx } = write;
    write.isShown = tx?.missing.length === 0;
    this.#restock();
    this.#changed();
    this.#schedule(true);
  }

  /** Nothing of a group is sent. @param {Write} write */
  #giveUp(write) {
    if (write.phase !== 'open') return;
    this.#fail(write, 'refused', new NestError('CANCELLED', 'its group was given up'));
    this.#send();
    this.#changed();
    this.#schedule(true);
  }

  /** Takes back the newest entry of the session, after all writes before. @param {any} [given] @returns {Write} */
  undo(given) {
    const fields = known('undo', given, ['policy', 'rehomes']);
    const targets = this.#newestEntry();
    if (targets.some(({ phase }) => phase === 'open')) {
      throw new NestError('BUSY', 'the newest write is a group that has not ended');
    }
    const [target] = targets;
    for (const one of targets) {
      one.isUndone = true;
      one.isShown = false;
    }
    this.#pending.reconsider();
    const write = new Write(this, 'undo', targets.at(-1)?.name ?? null, null, { policy: 'keep', ...fields });
    // One that was parked, and is sent again with its key, may have happened.
    if (targets.length === 1 && target.tx && target.attempts === 0 && !target.fields.key) {
      // It was never sent: both vanish.
      this.#fail(target, 'refused', new NestError('CANCELLED', 'it was undone before it was sent'));
      this.#undone.push(target);
      write.phase = 'settled';
      write.resolve(null);
      this.#send();
      this.#changed();
      this.#schedule(true);
      return write;
    }
    write.targets = targets;
    this.#undone.push(write);
    return this.#add(write);
  }

  /** The pending writes that the server will have as its newest entry, in their order: one, unless they coalesce. */
  #newestEntry() {
    const all = this.#pending.writes;
    let last = all.length - 1;
    const isEmpty = (/** @type {Write} */ { phase, tx }) => phase === 'open' && tx?.mutations.length === 0;
    while (last >= 0 && (all[last].kind === 'undo' || all[last].isUndone || isEmpty(all[last]))) last -= 1;
    const key = all[last]?.fields.coalescing?.key;
    const joins = (/** @type {Write | undefined} */ one) => one && !one.isUndone && one.fields.coalescing?.key === key;
    let first = last;
    while (key !== undefined && joins(all[first - 1])) first -= 1;
    return last < 0 ? [] : all.slice(first, last + 1);
  }

  /** Does again what was taken back last. @param {any} [given] @returns {Write} */
  redo(given) {
    const fields = known('redo', given, ['policy', 'rehomes']);
    this.#undone = this.#undone.filter((one) => !this.#isForeign(one));
    const undone = this.#undone.pop();
    if (undone?.tx) return this.#copy(undone, undone.fields);
    return this.#add(new Write(this, 'redo', null, null, { policy: 'keep', ...fields }));
  }

  /** The writes that are not settled, in their order. @returns {readonly Write[]} */
  get pending() {
    return this.#pending.writes;
  }

  /** Calls a function after each change of `pending`, or of the state of a write. @param {() => void} listener */
  subscribe(listener) {
    return this.#listeners.add(listener);
  }

  /**
   * @param {Write} write
   * @param {((tx: LocalTransaction) => void) | undefined} body
   * @param {{ inPlace?: boolean }} [given]
   */
  again(write, body, given) {
    const { inPlace = false } = known('again', given, ['inPlace']);
    const { phase, tx, name, fields } = write;
    if (!tx || (phase !== 'refused' && phase !== 'parked')) {
      invalid('only a transaction that was refused or parked is sent again');
    }
    const isForeign = this.#isForeign(write);
    if (!body && isForeign && tx.ids.some((id) => id > 0)) {
      invalid('the ids of the write belong to another history of the store: make the steps anew');
    }
    const ids = isForeign ? [] : [...tx.taken];
    const take = (/** @type {number} */ count) => (ids.length >= count ? ids.splice(0, count) : this.#take(count));
    const place = inPlace ? write.place : undefined;
    const again = body
      ? this.#write(name, body, { ...fields, key: undefined }, take, place)
      : this.#copy(write, { ...fields, key: phase === 'parked' ? write.key : undefined }, place);
    this.#undone = [];
    return again;
  }

  /** The history that writes are made for: that of the server, or of the states of the cache. */
  get historyID() {
    const { server, cachedHistory = null } = /** @type {any} */ (this.nest);
    return server?.historyID ?? cachedHistory;
  }

  /** Whether a write was made for another history than that of the server. @param {Write} write */
  #isForeign({ history }) {
    return history !== null && history !== this.historyID;
  }

  // MARK: Writes

  /**
   * @param {string | null} name
   * @param {(tx: LocalTransaction) => void} body
   * @param {any} fields
   * @param {(count: number) => number[]} take
   * @param {number} [place]
   */
  #write(name, body, fields, take, place) {
    if (typeof body !== 'function') invalid('it is transaction(name, body)');
    const tx = new LocalTransaction(take);
    const result = /** @type {any} */ (body(tx));
    if (typeof result?.then === 'function') invalid('a write that is shown at once has no asynchronous steps');
    tx.isSent = true;
    return this.#add(new Write(this, 'transaction', name || null, tx, fields), place);
  }

  /** The same steps, with the same ids. @param {Write} write @param {any} fields @param {number} [place] */
  #copy({ name, tx }, fields, place) {
    return this.#add(new Write(this, 'transaction', name, tx, fields), place);
  }

  /** The place of a write that is made now. */
  nextPlace() {
    this.#places += 1;
    return this.#places;
  }

  /** @param {Write} write @param {number} [place] */
  #add(write, place = write.place) {
    write.place = place;
    if (this.#error) {
      write.phase = 'parked';
      write.reject(this.#error);
      return write;
    }
    this.#pending.add(write);
    for (const id of write.tx?.ids ?? []) this.#unmade.delete(id);
    this.#restock();
    // Lists come first where a transport sends at the end of the turn, as that of nestd's page does.
    this.#schedule(true);
    this.#send();
    this.#changed();
    return write;
  }

  /** Sends what may be sent, in order. */
  #send() {
    if (!this.#isReady) return;
    const pause = this.#pauseEnds - performance.now();
    if (pause > 0) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#send();
        this.#changed();
        this.#schedule(true);
      }, pause);
      return;
    }
    this.nest.run((m) => this.#submit(m));
  }

  /** @param {any} m */
  #submit(m) {
    for (const write of this.#owed) if (!write.call) this.#hand(m, write);
    const { writes } = this.#pending;
    // Others that are on their way could come before the one that is sent again.
    const isCareful = writes.some(isRetried);
    if (isCareful && writes.some(({ call }) => call)) return;
    let isBehind = false;
    for (const write of writes) {
      const { tx, targets, call, receipt } = write;
      if (receipt) continue;
      // The writes after a group wait for it.
      if (write.phase === 'open') return;
      // It takes back, or does again, whatever is the newest: no other write may come between.
      const isPlain = !tx && targets.length === 0;
      if (!call) {
        if (isBehind && (isCareful || isPlain)) return;
        // Later writes keep their order behind one that waits for ids.
        if (tx && tx.missing.length > 0) return;
        if (targets.some((one) => one.receipt === null)) return;
        if ((write.lostAt ?? Infinity) <= Date.now() - REPEAT_MS_MAX) return this.#failed(write, tooOld());
        this.#hand(m, write);
      }
      if (isPlain) return;
      isBehind = true;
    }
  }

  /** Gives a write to the machine. @param {any} m @param {Write} write */
  #hand(m, write) {
    const { kind, tx, name, targets } = write;
    const expected = targets.length > 0 ? Math.max(...targets.map(({ receipt }) => receipt.revision)) : null;
    const fields = tx ? { name, preconditions: tx.preconditions, mutations: tx.mutations } : { expected };
    const call = {
      write,
      resolve: (/** @type {any} */ reply) => this.#received(write, reply),
      reject: (/** @type {any} */ error) => this.#failed(write, error),
    };
    write.call = call;
    write.attempts += 1;
    this.#pending.sent(write);
    try {
      const body = encode(kind, { ...write.fields, ...fields, key: write.key });
      const model = tx ? [...tx.models] : undefined;
      submit(m, { owner: { call }, kind: 'write', type: T[kind], body, answer: T.receipt, model });
    } catch (error) {
      // What cannot be encoded is a mistake of this write alone.
      m.emit({ type: 'fail', call, error });
    }
  }

  /** @param {Write} write @param {any} reply */
  #received(write, reply) {
    const { conflicts } = reply;
    if (!conflicts?.listed.length) return this.#confirmed(write, reply);
    const named = (/** @type {any} */ model) => {
      // The write is made: without the model, the conflicts have numbers.
      if (model) conflicts.listed = shownConflicts(conflicts.listed, model);
      this.#confirmed(write, reply);
    };
    if (this.nest.knownModel) return named(this.nest.knownModel);
    this.nest.model().then(named, () => named(null));
  }

  /** @param {Write} write @param {any} reply */
  #confirmed(write, reply) {
    write.call = null;
    this.#owed.delete(write);
    const receipt = new Receipt(reply);
    this.#pending.received(write, receipt);
    write.receipt = receipt;
    // An undo of what no list shows any more.
    for (const one of write.targets) one.isTaken = true;
    if (!receipt.isChanged) this.#leave(write);
    this.#settle();
    this.#answered();
    write.resolve(receipt);
  }

  /** @param {Write} write @param {any} error */
  #failed(write, error) {
    write.call = null;
    const { retry, code } = error;
    // A client that is closed does not say what its server would have answered.
    const isParked = PARKED.has(code) || this.nest.run((m) => m.error) !== null;
    const isLater = !isParked && retry !== 0;
    if (isLater && (retry !== 3 || write.attempts < ATTEMPTS_MAX)) {
      if (write.phase === 'settled' && !this.#isForeign(write)) this.#owed.add(write);
      write.isRetried = true;
      if (retry === 3) this.#pending.doubted(write);
      else this.#pending.again(write);
      const pause = Math.min(PAUSE_MS * 2 ** (write.attempts - 1), PAUSE_MS_MAX);
      this.#pauseEnds = performance.now() + Math.max(pause, error.retryAfter ?? 0);
      this.#answered();
      return;
    }
    const { writes } = this.#pending;
    if (!isParked && retry === 0 && writes.slice(0, Math.max(writes.indexOf(write), 0)).some(isRetried)) {
      // It may depend on one before it, which is sent again.
      this.#pending.again(write);
      this.#answered();
      return;
    }
    this.#fail(write, isLater || isParked ? 'parked' : 'refused', error);
    this.#answered();
  }

  /** @param {Write} write @param {'refused' | 'parked'} state @param {any} error */
  #fail(write, state, error) {
    this.#owed.delete(write);
    this.#pending.end(write, state);
    if (state === 'refused' && write.tx) this.#blame(write, write.tx, error);
    write.reject(error);
    this.#leave(write);
    // What was not taken back is shown again.
    for (const one of write.targets) {
      if (one.isTaken) continue;
      one.isUndone = false;
      one.isShown = true;
    }
  }

  /**
   * A write that was refused because an object does not exist may name one that a refused write was to make.
   * @param {Write} write @param {LocalTransaction} tx @param {any} error
   */
  #blame(write, tx, error) {
    if (error.code === 'NOT_FOUND') {
      write.cause = [error.object, ...tx.objects()].map((id) => this.#unmade.get(id)).find(Boolean) ?? null;
    }
    for (const id of tx.taken) this.#unmade.set(id, write);
    for (const id of this.#unmade.keys()) {
      if (this.#unmade.size <= UNMADE_MAX) break;
      this.#unmade.delete(id);
    }
  }

  /** A write has changed nothing: there is nothing to take back, or to do again. @param {Write} write */
  #leave(write) {
    this.#undone = this.#undone.filter((one) => one !== write);
    for (const one of [...this.#pending.writes]) {
      if (!one.targets.includes(write)) continue;
      one.targets = one.targets.filter((target) => target !== write);
      if (one.targets.length > 0) continue;
      this.#pending.end(one, 'settled');
      this.#undone = this.#undone.filter((undo) => undo !== one);
      one.resolve(null);
    }
  }

  /** A write was answered: lists show what that means before the program goes on. */
  #answered() {
    this.#send();
    this.#changed();
    this.flush(true);
  }

  #changed() {
    this.#listeners.call(undefined);
  }

  // MARK: Ids

  /** @param {number} count @returns {number[]} */
  #take(count) {
    const history = this.nest.server?.historyID;
    if (history !== undefined && history !== this.#history) this.#stock = [];
    return this.#stock.splice(0, count);
  }

  #restock() {
    const missing = this.#pending.writes.reduce((sum, { tx }) => sum + (tx?.missing.length ?? 0), 0);
    if (this.#isReserving || !this.#isReady || (missing === 0 && this.#stock.length >= STOCK_MIN)) return;
    this.#isReserving = true;
    this.#reserve(Math.min(STOCK + missing, 65_536));
  }

  /** @param {number} count */
  async #reserve(count) {
    const { historyID } = /** @type {any} */ (this.nest.server);
    try {
      const ids = await this.nest.reserveIDs(count, { timeout: Infinity });
      // Only the history of the server that gave them has them.
      if (this.nest.server?.historyID === historyID) {
        if (this.#history !== historyID) this.#stock = [];
        this.#history = historyID;
        this.#stock.push(...ids);
      }
    } catch (/** @type {any} */ error) {
      if (this.#error) return;
      if (error.retry === 0) {
        // The client may only read, say. The next insert asks again.
        this.#isReserving = false;
        return this.#refuseWaiting(error);
      }
      await new Promise((resolve) => setTimeout(resolve, Math.max(RESERVE_PAUSE_MS, error.retryAfter)));
    }
    this.#isReserving = false;
    this.#fill();
  }

  /** Gives ids to writes that wait for them. */
  #fill() {
    for (const write of this.#pending.writes) {
      const { tx } = write;
      if (!tx || tx.missing.length === 0) continue;
      tx.fill();
      if (tx.missing.length > 0) break;
      write.isShown = !write.isUndone;
    }
    this.#restock();
    this.#send();
    this.#changed();
    this.#schedule(true);
  }

  /** Ids cannot be had: the client may only read. @param {any} error */
  #refuseWaiting(error) {
    for (const write of [...this.#pending.writes]) {
      if (write.tx && write.tx.missing.length > 0) this.#fail(write, 'refused', error);
    }
    this.#send();
    this.#changed();
    this.#schedule(true);
  }

  // MARK: The connection

  /** In the machine: a connection is ready, nothing was sent yet. @param {any} m */
  began(m) {
    const { historyID } = m.welcome;
    const isOther = (/** @type {Write | undefined} */ write) => (write?.history ?? historyID) !== historyID;
    if ([...this.#owed, ...this.#pending.writes].some(isOther)) {
      const entries = m.table.removeWaiting((/** @type {any} */ { request }) => isOther(request.owner?.call?.write));
      for (const { request } of entries) request.owner.call.write.call = null;
      m.emit({ type: 'change', to: this, change: { type: 'history', historyID } });
    }
    for (const write of this.#pending.writes) write.history ??= historyID;
    const last = Date.now() - REPEAT_MS_MAX;
    const isOld = (/** @type {any} */ { request, sentTo }) => sentTo
      && (request.owner?.call?.write?.lostAt ?? Infinity) <= last;
    for (const { request: { owner: { call } } } of m.table.removeWaiting(isOld)) {
      m.emit({ type: 'fail', call, error: tooOld() });
    }
  }

  /** Events, in the order of the server's frames. @param {any} event */
  receive({ change }) {
    switch (change.type) {
      case 'ready':
        this.#isReady = true;
        if (this.nest.server?.historyID !== this.#history) this.#stock = [];
        this.#pauseEnds = 0;
        this.#restock();
        this.#send();
        break;
      case 'lost':
        this.#isReady = false;
        this.#pending.lost();
        for (const write of [...this.#owed, ...this.#pending.writes]) if (write.call) write.lostAt ??= Date.now();
        break;
      case 'own': {
        const { write, revision } = change;
        this.#pending.named(write, revision);
        for (const one of write.targets) one.isTaken = true;
        break;
      }
      case 'history': {
        const { historyID } = change;
        const open = [...this.#owed, ...this.#pending.writes]
          .filter(({ history, receipt }) => history !== historyID && !receipt);
        this.#pending.otherHistory(historyID);
        this.#unmade.clear();
        for (const write of open) {
          this.#owed.delete(write);
          const text = 'the store has another history: the write was made for the one before';
          write.reject(new NestError('OUTCOME_UNKNOWN', text));
        }
        this.#settle();
      }
    }
    this.#changed();
    this.#schedule(false);
  }

  /** The client is closed. @param {any} reason null: by the program */
  end(reason) {
    const error = reason ?? new NestError('CLOSED', 'the client was closed');
    this.#isReady = false;
    this.#error = error;
    clearTimeout(this.#timer);
    clearTimeout(this.#holdTimer);
    for (const write of [...this.#owed, ...this.#pending.writes]) this.#fail(write, 'parked', error);
    this.#changed();
  }

  // MARK: Lists

  /** @param {LocalList} list @param {string} type of the change */
  arrived(list, type) {
    this.#schedule(type === 'progress');
  }

  /** @param {LocalList} list */
  forget(list) {
    this.#lists.delete(list);
    // Writes may have waited for it alone.
    this.#schedule(true);
  }

  /** @param {boolean} isForced whether lists do not wait for a write that is on its way */
  #schedule(isForced) {
    this.#isForced ||= isForced;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.flush(false);
    });
  }

  /** The revisions of the lists that follow the server. */
  get #heads() {
    return [...this.#lists].filter((one) => !one.isFrozen).map(({ head }) => head);
  }

  #settle() {
    const settled = this.#pending.reached(this.#heads);
    if (settled.length > 0) this.#changed();
  }

  /** Whether lists wait: what they would show now is not what they will show in a moment. @param {boolean} isForced */
  #isHeld(isForced) {
    const isResent = this.#isReady && this.#pending.isDoubtful;
    const heads = this.#heads;
    // What was taken back is shown neither until the lists have the undo: it would return for a moment.
    const isUndoing = this.#pending.writes.some(({ targets, phase, revision: own }) =>
      targets.some(({ revision }) => revision) && (phase !== 'committed' || heads.some((head) => head < (own ?? 0))));
    const isBetween = !isForced && this.#pending.isBetween(heads);
    clearTimeout(this.#holdTimer);
    if (!isResent && !isUndoing && !isBetween) {
      this.#heldSince = null;
      return false;
    }
    const now = performance.now();
    this.#heldSince ??= now;
    const left = this.#heldSince + HOLD_MS_MAX - now;
    if (left <= 0) return false;
    this.#holdTimer = setTimeout(() => this.#schedule(true), left);
    return true;
  }

  /** Publishes what has changed, of all lists at once. @param {boolean} isForced */
  flush(isForced) {
    if (this.#isFlushing) return this.#schedule(isForced);
    this.#isForced ||= isForced;
    if (this.#isHeld(this.#isForced)) return;
    this.#isForced = false;
    this.#isFlushing = true;
    try {
      this.#settle();
      this.#publish();
    } finally {
      this.#isFlushing = false;
    }
  }

  #publish() {
    const lists = [...this.#lists].filter((list) => !list.isFrozen);
    const model = () => this.nest.knownModel ?? lists[0].request.model;
    const found = laidLists(lists, this.#pending, model, report);
    for (const list of [...this.#lists]) {
      // A listener of one before it may have closed it.
      if (!this.#lists.has(list)) continue;
      const { found: one = null, writes = [] } = found.get(list) ?? {};
      list.publish(one, writes);
    }
  }
}
