import { NestError } from './errors.js';
import type { Value } from './values.js';

/** A row: the values in the order of the projection. */
export interface Row {
  readonly id: number;
  readonly values: readonly Value[];
}

export interface Section {
  /** The key; "" of a result without sections. */
  readonly key: Value;
  /** The hash of the key's value form, in halves of 32 bits. */
  readonly hash: { readonly high: number; readonly low: number };
  readonly rows: readonly Row[];
}

/** Where a window is in the whole result. */
export interface Position {
  /** Rows and sections of the whole result. */
  readonly total: number;
  readonly sectionTotal: number;
  /** The first row shown: its index, that of its section, and its index in that. */
  readonly start: { readonly row: number; readonly section: number; readonly rowInSection: number };
  /** The object that the window is around. */
  readonly anchor: number | null;
}

/** The state of a result at a revision. It never changes: a diff makes another one, which shares what is the same. */
export interface State {
  readonly revision: number;
  readonly projection: readonly number[];
  readonly sections: readonly Section[];
  readonly position: Position | null;
}

/** Section and row, from 0. */
export type Path = readonly [number, number];

/** The fields of DIFF. */
export interface Diff {
  readonly from: number;
  readonly to: number;
  readonly total: number;
  readonly digest: string;
  readonly deletedRows: readonly {
    readonly at: Path; readonly id: number; readonly reason: 'deleted' | 'unmatched' | 'outOfWindow';
  }[];
  readonly deletedSections: readonly number[];
  readonly insertedSections: readonly ({ readonly at: number } & Pick<Section, 'key' | 'hash'>)[];
  readonly moves: readonly { readonly from: Path; readonly to: Path }[];
  readonly insertedRows: readonly ({ readonly at: Path } & Row)[];
  readonly updates: readonly {
    readonly at: Path; readonly values: readonly { readonly property: number; readonly value: Value }[];
  }[];
  readonly position: Position | null;
}

/** Why a diff does not apply: drop the state and subscribe again. */
export class DiffMismatch extends NestError {
  constructor(reason: DiffMismatch['reason'], message: string);
  readonly reason: 'revision' | 'coordinates' | 'property' | 'total' | 'digest';
}

/** Puts the frames of a snapshot together. Each method throws NestError MALFORMED for what cannot be. */
export class SnapshotAssembler {
  constructor(head: object, projection: readonly number[]);
  addSections(sections: readonly object[]): void;
  addRows(rows: Row[]): void;
  /** The state, when the last frame has come. `checks`: whether to compare the digest, in O(n); default true. */
  finish(checks?: boolean): State;
}

/** The state after a diff; throws DiffMismatch. `checks`: whether to compare the digest, in O(n); default true. */
export function applyDiff(state: State, diff: Diff, checks?: boolean): State;

/** The digest of sections, as 16 hexadecimal digits. O(n). */
export function digest(sections: readonly Section[]): string;
