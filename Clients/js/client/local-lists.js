/**
 * One list of a client that shows its own writes: the server's state, and what is shown instead.
 * @module
 */

import { difference, isNothing } from '../overlay/difference.js';
import { schemaOf } from '../overlay/schema.js';
import { widened } from '../overlay/overlay-view.js';
import { comparable, isEqual } from '../rules/values.js';
import { List } from '../machine/lists.js';
import { specOf } from '../machine/spec.js';
import { Results } from './results.js';
import { ListState, Shape, shapeOf } from './shown.js';

/** @typedef {import('./local-writes.js').Write} Write */

/**
 * @typedef {object} Flags
 * @property {Map<number, 'queued' | 'sent'>} pending by object
 * @property {number} undecided
 * @property {boolean} isCurrent
 */

/** @type {Flags} */
const NO_FLAGS = Object.freeze({ pending: new Map(), undecided: 0, isCurrent: false });

/** What is shown of a state. @type {WeakMap<object, Flags>} */
const flagsOf = new WeakMap();

/** @type {Map<string, Shape>} */
const shapes = new Map();

/**
 * States that may show writes which the server has not confirmed.
 * @param {any} State
 */
export const withFlags = (State) => class extends State {
  /** @param {any} arrived @param {Shape} shape @param {any} request */
  constructor(arrived, shape, request) {
    super(arrived, shape, request);
    flagsOf.set(this, flagsOf.get(arrived) ?? NO_FLAGS);
  }

  /** The reasons for which rows may differ from what the server will answer; 0: none is known. */
  get undecided() {
    return flagsOf.get(this)?.undecided ?? 0;
  }

  /** Whether the list follows the server; false while it is not connected, paused or read anew. */
  get isCurrent() {
    return flagsOf.get(this)?.isCurrent ?? false;
  }

  /**
   * Whether a write that is not confirmed changes a row: `queued` if one of them was not sent.
   * @param {any} row or its id
   * @returns {'none' | 'queued' | 'sent'}
   */
  pendingOf(row) {
    return flagsOf.get(this)?.pending.get(row?.id ?? row) ?? 'none';
  }
};

/** A state of a list that may show writes which the server has not confirmed. */
export class LocalState extends withFlags(ListState) {}

/** @param {any} arrived @param {any} request */
const shown = (arrived, request) =>
  new LocalState(arrived, shapeOf(request.namesOf(arrived.projection), Shape, shapes), request);

/** What a list is made of. */
const LISTS = { List, Results, shown };

/** Changes that say something about a list, and nothing about its rows. */
const STATUS = new Set(['disconnected', 'paused', 'reset', 'resumed']);

/** What a change says about the rows of the server. @param {any} change */
function statusOf({ type, reason, isExact }) {
  if (type === 'resumed') return isExact ? 'live' : 'loading';
  if (type === 'reset') return 'loading';
  if (STATUS.has(type)) return type;
  if (reason === 'cache') return 'cached';
  return type === 'snapshot' || type === 'diff' ? 'live' : null;
}

export class LocalList {
  /** What has arrived since the last publish. @type {any[]} */
  #inbox = [];
  /** By wide rows: what is shown of them. @type {WeakMap<object, any>} */
  #narrow = new WeakMap();
  /** @type {any} the state that was stripped last, and what became of it */
  #stripped = { from: null, to: null, projection: null };

  /**
   * @param {any} local
   * @param {any} request
   * @param {{ List: any, Results: any, shown: (state: any, request: any) => any, isCached?: boolean }} kind
   */
  constructor(local, request, kind = LISTS) {
    this.local = local;
    /** The server's state and the revision at which it is exact; null before the first. @type {any} */
    this.state = null;
    this.head = 0;
    /** The request of `state`. @type {any} */
    this.request = request;
    /** What is shown; null before the first. @type {any} */
    this.laid = null;
    /** Whether `state` cannot be laid over: the list is paused, or a snapshot or a difference follows. */
    this.isFrozen = true;
    this.isCurrent = false;
    /** The request of `laid`. @type {any} */
    this.laidRequest = request;
    /**
     * Requests as they are sent, and what the program asked for.
     * @type {WeakMap<object, { wire: any, projection: number[] }>}
     */
    this.requests = new WeakMap();
    /** As of Results. A change that this client makes says nothing about the connection. */
    this.status = 'connecting';
    const { nest } = local;
    /** A client with a cache has its own lists. @type {any} */
    const caching = nest;
    const isCached = kind.isCached || (kind === LISTS && caching.List);
    const list = new (kind === LISTS && isCached ? caching.List : kind.List)(null);
    const facade = {
      resolve: async (/** @type {any} */ one) => {
        const spec = await this.resolve(one);
        if (isCached) await caching.load(list, spec);
        return spec;
      },
      run: (/** @type {any} */ body) => nest.run(body),
      call: (/** @type {any} */ start, /** @type {any} */ options) => nest.call(start, options),
      remember: () => {},
      forget: (/** @type {any} */ one) => {
        nest.forget(one);
        local.forget(this);
      },
    };
    this.list = list;
    this.results = new kind.Results(facade, request, list, kind.shown);
    list.to = this;
    this.results.state = kind.shown({ revision: 0, projection: [], sections: [], position: null }, request);
    Object.defineProperty(this.results, 'status', {
      get: () => this.status,
      set: (status) => {
        if (status === 'ended') this.status = status;
      },
      enumerable: true,
    });
    nest.remember(this.results);
  }

  /** The request with the values that deciding needs. @param {any} request */
  async resolve(request) {
    const spec = await this.local.nest.resolve(request);
    const { wire } = spec;
    const projection = widened(wire, request.description, schemaOf(request.model));
    this.requests.set(request, { wire: { ...wire, projection }, projection: wire.projection });
    return specOf({ ...wire, projection }, spec.model, request);
  }

  /** The request of `state` as the server has it, and the projection that the program asked for. */
  get asked() {
    return /** @type {any} */ (this.requests.get(this.request));
  }

  /** What is laid over: request and state. */
  get view() {
    return { request: this.asked.wire, state: this.state };
  }

  // MARK: What arrives

  /** @param {any} event of the machine */
  receive(event) {
    const { change, state, revision, request } = event;
    if (state) {
      this.state = state;
      this.head = revision;
      this.request = request;
    }
    switch (change.type) {
      case 'paused': case 'reset':
        this.isFrozen = true;
        this.isCurrent = false;
        break;
      case 'disconnected': this.isCurrent = false; break;
      case 'resumed':
        // A difference follows otherwise: a list that was frozen must not show what was confirmed meanwhile as undone.
        if (change.isExact) this.isFrozen = false;
        this.isCurrent = change.isExact;
        break;
      default: if (state) {
        this.isFrozen = false;
        this.isCurrent = change.reason !== 'cache';
      }
    }
    this.#inbox.push(event);
    this.local.arrived(this, change.type);
  }

  /** @param {any} error */
  end(error) {
    this.local.flush(true);
    this.results.end(error);
  }

  // MARK: What is shown

  /**
   * Publishes what has changed.
   * @param {import('../overlay/laid-view.js').OverlaidView | null} found the state with the writes laid over it; null:
   *   it stays as it is
   * @param {readonly Write[]} writes those that were laid
   */
  publish(found, writes) {
    const inbox = this.#inbox;
    this.#inbox = [];
    const bytes = inbox.reduce((sum, event) => sum + (event.bytes ?? 0), 0);
    for (const { change } of inbox) {
      this.status = statusOf(change) ?? this.status;
      if (STATUS.has(change.type)) this.#report(change);
    }
    if (!found) {
      if (this.laid && inbox.length > 0) this.#flag(this.isCurrent);
      return;
    }
    const isOther = this.request !== this.laidRequest || !this.laid;
    this.laidRequest = this.request;
    const snapshot = inbox.find(({ change }) => change.type === 'snapshot');
    const old = this.laid;
    const stripped = this.#strip(found.state);
    const next = isOther || !old ? stripped : reused(old, stripped);
    /** @type {Flags} */
    const flags = { pending: pendingOf(found, writes), undecided: found.undecided.size + found.doubts,
      isCurrent: this.isCurrent };
    if (isOther || snapshot) {
      const reason = snapshot?.change.reason ?? 'request';
      return this.#show(next, flags, { type: 'snapshot', reason }, bytes);
    }
    if (next.sections !== old.sections) {
      const reasons = new Map(inbox.flatMap(({ change }) => change.diff?.deletedRows ?? [])
        .map(({ id, reason }) => [id, reason]));
      for (const { tx } of writes) for (const one of tx?.mutations ?? []) reasons.set(one.delete?.object, 'deleted');
      const diff = difference(old, next, (id) => reasons.get(id) ?? 'unmatched');
      if (!isNothing(diff)) {
        const diffs = inbox.filter(({ change }) => change.type === 'diff').map(({ change }) => change);
        const own = diffs.flatMap((one) => one.own);
        const authors = diffs.flatMap((one) => one.authors);
        return this.#show(next, flags, { type: 'diff', from: old.revision, to: this.head, diff, own, authors }, bytes);
      }
    }
    if (!isSamePosition(old.position, next.position)) {
      return this.#show(next, flags, { type: 'position', position: next.position }, bytes);
    }
    if (next.totals !== old.totals || next.sections.some((one, at) => one.totals !== old.sections[at]?.totals)) {
      return this.#show(next, flags, { type: 'totals' }, bytes);
    }
    const isAccepted = inbox.some(({ change }) => change.type === 'request');
    if (isAccepted) return this.#show(next, flags, { type: 'request' }, bytes);
    if (!areSameFlags(flags, flagsOf.get(old) ?? NO_FLAGS)) return this.#show(old, flags, { type: 'pending' }, bytes);
    // The state is the same at a newer revision.
    if (this.head > this.results.revision) this.#receive(old, { type: 'progress', revision: this.head }, bytes);
  }

  /** The rows are those of before. @param {boolean} isCurrent */
  #flag(isCurrent) {
    const old = flagsOf.get(this.laid) ?? NO_FLAGS;
    const next = { ...old, isCurrent };
    if (!areSameFlags(old, next)) this.#show(this.laid, next, { type: 'pending' }, 0);
  }

  /** A change of the status, with the state of before. @param {any} change */
  #report(change) {
    this.results.receive({ change, state: null, revision: this.head, request: this.laidRequest, bytes: 0 });
  }

  /**
   * @param {any} state
   * @param {Flags} flags
   * @param {any} change
   * @param {number} bytes
   */
  #show(state, flags, change, bytes) {
    // What is derived from a state is kept by its parts: rows and sections stay the same objects.
    const laid = { ...state };
    flagsOf.set(laid, flags);
    this.laid = laid;
    this.#receive(laid, change, bytes);
  }

  /** @param {any} state @param {any} change @param {number} bytes */
  #receive(state, change, bytes) {
    this.results.receive({ change, state, revision: this.head, request: this.request, bytes });
  }

  /** Without the values that only deciding needs. @param {any} state */
  #strip(state) {
    const { wire, projection } = this.asked;
    if (wire.projection.length === projection.length) return state;
    if (this.#stripped.projection !== projection) {
      // The request has changed: rows are the same, but other values of them are shown.
      this.#narrow = new WeakMap();
      this.#stripped = { from: null, to: null, projection };
    }
    if (this.#stripped.from === state) return this.#stripped.to;
    const slots = projection.map((/** @type {number} */ one) => wire.projection.indexOf(one));
    const strip = (/** @type {any} */ row) => {
      let narrow = this.#narrow.get(row);
      if (!narrow) {
        narrow = { id: row.id, values: slots.map((/** @type {number} */ slot) => row.values[slot]) };
        this.#narrow.set(row, narrow);
      }
      return narrow;
    };
    const sections = state.sections.map((/** @type {any} */ one) => ({ ...one, rows: one.rows.map(strip) }));
    this.#stripped = { from: state, to: { ...state, projection, sections }, projection };
    return this.#stripped.to;
  }
}

/** @param {import('../overlay/laid-view.js').OverlaidView} found @param {readonly Write[]} writes */
function pendingOf({ pending }, writes) {
  /** @type {Map<number, 'queued' | 'sent'>} */
  const all = new Map();
  if (pending.size === 0) return all;
  const queued = writes.filter(({ phase }) => phase === 'queued' || phase === 'open');
  const objects = queued.map(({ tx }) => tx?.objects() ?? new Set());
  const isAllQueued = queued.length === writes.length;
  for (const id of pending) {
    all.set(id, isAllQueued || objects.some((some) => some.has(id)) ? 'queued' : 'sent');
  }
  return all;
}

/** @param {any} a @param {any} b */
function isSamePosition(a, b) {
  if (a === b) return true;
  return Boolean(a && b) && a.total === b.total && a.sectionTotal === b.sectionTotal && a.anchor === b.anchor
    && ['row', 'section', 'rowInSection'].every((name) => a.start[name] === b.start[name]);
}

/** @param {Flags} a @param {Flags} b */
function areSameFlags(a, b) {
  return a.undecided === b.undecided && a.isCurrent === b.isCurrent && a.pending.size === b.pending.size
    && [...a.pending].every(([id, state]) => b.pending.get(id) === state);
}

/** Rows for which an older row with the same values is shown: that one. @type {WeakMap<object, object>} */
const twins = new WeakMap();

/** Whether rows have the same values; of those that stay, each is compared once. @param {any} was @param {any} row */
function isTwin(was, row) {
  if (twins.get(row) === was) return true;
  if (!hasSameValues(was, row)) return false;
  twins.set(row, was);
  return true;
}

/**
 * A state in which everything that is as in an older one is the same object.
 * @param {any} old
 * @param {any} next
 */
export function reused(old, next) {
  if (old.sections === next.sections) return next;
  /** @type {Map<number, any> | null} */
  let byID = null;
  const find = (/** @type {number} */ id) => {
    if (!byID) {
      byID = new Map();
      for (const { rows } of old.sections) for (const row of rows) byID.set(row.id, row);
    }
    return byID.get(id);
  };
  const sections = next.sections.map((/** @type {any} */ section, /** @type {number} */ index) => {
    const before = old.sections[index];
    if (before === section) return section;
    let isSame = before?.rows.length === section.rows.length && before.totals === section.totals
      && isEqual(comparable(before.key), comparable(section.key));
    const rows = section.rows.map((/** @type {any} */ row, /** @type {number} */ at) => {
      const beside = before?.rows[at];
      if (beside === row) return row;
      const was = beside?.id === row.id ? beside : find(row.id);
      const kept = was && was !== row && isTwin(was, row) ? was : row;
      if (kept !== beside) isSame = false;
      return kept;
    });
    return isSame ? before : { ...section, rows };
  });
  const isSame = sections.length === old.sections.length
    && sections.every((/** @type {any} */ one, /** @type {number} */ index) => one === old.sections[index]);
  return { ...next, sections: isSame ? old.sections : sections };
}

/** @param {{ values: readonly any[] }} a @param {{ values: readonly any[] }} b */
const hasSameValues = (a, b) => a.values.length === b.values.length && a.values.every((value, slot) =>
  value === b.values[slot] || isEqual(comparable(value), comparable(b.values[slot])));
