/**
 * States as a program sees them: frozen, with rows whose values have names. What arrives is turned into these objects
 * when a program looks at it, and once: rows and sections that a diff leaves as they are stay the same objects.
 * @module
 */

import { LargeValue } from '../wire/values.js';

/** Names that mean something else on a row. */
const RESERVED = new Set(['id', 'values', 'get', 'constructor', '__proto__', 'toJSON']);

/**
 * A row. Each value has a property of its name (`row.title`); `get` works for every name, also for one like `id`.
 */
export class Row {
  /** @param {number} id @param {readonly any[]} values */
  constructor(id, values) {
    /** The id of the object. */
    this.id = id;
    /** The values in the order of `state.names`. */
    this.values = values;
  }
}

/** The names of the values of rows, and the rows that were shown with them. */
export class Shape {
  /** @param {import('./requests.js').Names} typed */
  constructor(typed) {
    const names = typed.map(([name]) => name);
    this.names = Object.freeze(names);
    /** The slots of large values. */
    this.large = typed.flatMap(([, type], slot) => (/^large/.test(type) ? slot : []));
    const slots = new Map(names.map((name, slot) => [name, slot]));
    this.Row = class extends Row {
      /** @param {string} name @returns {any} the value of a property or path; undefined if the rows have none */
      get(name) {
        const slot = slots.get(name);
        return slot === undefined ? undefined : this.values[slot];
      }

      /** @returns {Record<string, any>} values by name, and the object's id, for JSON */
      toJSON() {
        const values = Object.fromEntries(names.map((name, slot) => [name, this.values[slot] ?? null]));
        return { ...values, id: this.id };
      }
    };
    for (const [name, slot] of slots) {
      if (RESERVED.has(name)) continue;
      /** @this {Row} */
      const get = function get() {
        return this.values[slot];
      };
      Object.defineProperty(this.Row.prototype, name, { get, enumerable: true, configurable: true });
    }
    Object.freeze(this.Row.prototype);
    /** @type {WeakMap<object, Row>} */
    this.rows = new WeakMap();
    /** @type {WeakMap<object, Section>} */
    this.sections = new WeakMap();
  }

  /** @param {{ id: number, values: any[] }} arrived */
  row(arrived) {
    let row = this.rows.get(arrived);
    if (!row) {
      const { id } = arrived;
      const values = this.large.length ? [...arrived.values] : arrived.values;
      for (const slot of this.large) values[slot] &&= new LargeValue(values[slot]);
      for (const value of values) freeze(value);
      row = Object.freeze(this.make({ id, values }));
      this.rows.set(arrived, row);
    }
    return row;
  }

  /** @param {{ id: number, values: any[] }} arrived @returns {Row} */
  make({ id, values }) {
    return new this.Row(id, Object.freeze(values));
  }

  /** @param {{ key: any, rows: any[], totals?: any }} arrived */
  section(arrived) {
    let section = this.sections.get(arrived);
    if (!section) {
      section = new Section(arrived, this);
      this.sections.set(arrived, section);
    }
    return section;
  }
}

/** Dates, references, uuids, large values; the bytes of data cannot be frozen. @param {any} value */
function freeze(value) {
  if (!ArrayBuffer.isView(value)) Object.freeze(value);
}

/** A section of a state. */
class Section {
  /** @type {{ key: any, rows: any[] }} */
  #arrived;
  /** @type {Shape} */
  #shape;
  /** @type {readonly any[] | null} */
  #rows = null;

  /** @param {{ key: any, rows: any[], totals?: any }} arrived @param {Shape} shape */
  constructor(arrived, shape) {
    this.#arrived = arrived;
    this.#shape = shape;
    /** What the rows have in common; "" in a result without sections. */
    this.key = arrived.key;
    /** The values over its rows: those of `state.totals`. */
    this.totals = arrived.totals;
    Object.freeze(this);
  }

  /** How many rows the section has (in a window: shows). */
  get count() {
    return this.#arrived.rows.length;
  }

  /** The rows, frozen. @returns {readonly any[]} */
  get rows() {
    return this.#rows ??= Object.freeze(this.#arrived.rows.map((row) => this.#shape.row(row)));
  }

  /** The row at an index, without looking at the others. @param {number} index @returns {any} */
  at(index) {
    const arrived = this.#arrived.rows[index];
    return arrived && this.#shape.row(arrived);
  }
}

/** The state of a list, or the answer to a fetch. It never changes. */
export class ListState {
  /** @type {readonly Section[] | null} */
  #sections = null;
  /** @type {readonly any[] | null} */
  #rows = null;
  /** @type {any} */
  #arrived;
  /** @type {Shape} */
  #shape;
  /** @type {any} */
  #request;

  /**
   * @param {any} arrived of wire/results.js
   * @param {Shape} shape
   * @param {any} request
   */
  constructor(arrived, shape, request) {
    this.#arrived = arrived;
    this.#shape = shape;
    /** The revision that has changed it last. A list's `revision` is the newest at which it is exact. */
    this.revision = arrived.revision;
    this.#request = request;
    /** The names of the values of each row. */
    this.names = shape.names;
    const { position } = arrived;
    /** Of a window, where it is in the whole: `{total, sectionTotal, start, anchor}`; otherwise null. */
    this.position = position && Object.freeze({ ...position, start: Object.freeze({ ...position.start }) });
    /** How many rows are shown. */
    this.count = 0;
    for (const { rows } of arrived.sections) this.count += rows.length;
    /** How many rows the whole result has. */
    this.total = position ? position.total : this.count;
    /** The values over all rows, by their texts; undefined if the request has none. */
    this.totals = arrived.totals;
    Object.freeze(this);
  }

  /** The request whose result it is. */
  get request() {
    return this.#request;
  }

  /** Without the request, which has the whole model. */
  toJSON() {
    const { revision, total, rows } = this;
    return { revision, total, rows };
  }

  /**
   * The sections, frozen; exactly one, with the key "", if the request has no section key.
   * @returns {readonly Section[]}
   */
  get sections() {
    return this.#sections ??= Object.freeze(
      this.#arrived.sections.map((/** @type {any} */ one) => this.#shape.section(one)));
  }

  /** The rows of all sections, in order, frozen. @returns {readonly any[]} */
  get rows() {
    const { sections } = this;
    return this.#rows ??= sections.length === 1 ? sections[0].rows
      : Object.freeze(sections.flatMap((one) => one.rows));
  }
}

/** Shapes by their names; a program has few. @type {Map<string, Shape>} */
const shapes = new Map();
const SHAPES_MAX = 1_000;

/**
 * @param {any} arrived a state of wire/results.js
 * @param {import('./requests.js').FetchRequest} request
 * @returns {ListState}
 */
export const shown = (arrived, request) =>
  new ListState(arrived, shapeOf(request.namesOf(arrived.projection), Shape, shapes), request);

/**
 * The shape of these names and types, which is made once.
 * @param {import('./requests.js').Names} names
 * @param {typeof Shape} Kind
 * @param {Map<string, Shape>} known
 */
export function shapeOf(names, Kind, known) {
  const key = JSON.stringify(names);
  let shape = known.get(key);
  if (!shape) {
    if (known.size >= SHAPES_MAX) known.clear();
    shape = new Kind(names);
    known.set(key, shape);
  }
  return shape;
}

/**
 * The state of a list before its first rows have come.
 * @param {any} request
 */
export const emptyState = (request) =>
  new ListState({ revision: 0, sections: [], position: null }, new Shape([]), request);
