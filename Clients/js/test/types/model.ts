// Written by `nestc model generate typescript`. Do not edit: change the model, and write it again.

import type * as nest from 'nest-client';

/** A row of the entity `Date`. */
export interface Date_ extends nest.BaseRow {
  readonly name: string;
}

/** A row of the entity `Everything`. */
export interface Everything extends nest.BaseRow {
  readonly bytes: Uint8Array | null;
  readonly class: string | null;
  readonly columns: string | null;
  readonly count: number | bigint | null;
  readonly flag: boolean;
  readonly init: string | null;
  readonly key: nest.UUID | null;
  readonly link: string | null;
  readonly middle: number | null;
  readonly moment: nest.NestDate | null;
  readonly note: string | null;
  readonly order: number | bigint;
  readonly price: string | null;
  readonly real: number | null;
  readonly self: string | null;
  readonly self_: string | null;
  readonly short: number | null;
  readonly small: number | null;
  readonly text: string;
  readonly whole: number | bigint;
  readonly owner: nest.Reference | null;
  readonly where: nest.Reference | null;
}

/** The entities by name: `connect<Model>()`. */
export interface Model {
  readonly Date: {
    readonly row: Date_;
    readonly values: {
      name?: string;
    };
    readonly toMany: {
      readonly places: 'Everything';
      readonly things: 'Everything';
    };
  };
  readonly Everything: {
    readonly row: Everything;
    readonly values: {
      bytes?: Uint8Array | null;
      class?: string | null;
      columns?: string | null;
      count?: number | bigint | null;
      flag?: boolean;
      init?: string | null;
      key?: nest.UUID | null;
      link?: string | null;
      middle?: number | null;
      moment?: nest.NestDate | Date | null;
      note?: string | null;
      order?: number | bigint;
      price?: string | null;
      real?: number | nest.Double | null;
      self?: string | null;
      self_?: string | null;
      short?: number | null;
      small?: number | nest.Double | null;
      text?: string;
      whole?: number | bigint;
      owner?: nest.ObjectLike | null;
      where?: nest.ObjectLike | null;
    };
    readonly toMany: {
    };
  };
}
