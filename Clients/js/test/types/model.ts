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
  readonly essay: nest.LargeValue | null;
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
  readonly scan: nest.LargeValue | null;
  readonly self: string | null;
  readonly self_: string | null;
  readonly short: number | null;
  readonly small: number | null;
  readonly text: string;
  readonly whole: number | bigint;
  readonly owner: nest.Reference | null;
  readonly where: nest.Reference | null;
}

/** A row of the entity `Values`. */
export interface Values extends nest.BaseRow {
  readonly Values: string | null;
}

/** A row of the entity `__debug__`. */
export interface __debug__ extends nest.BaseRow {
}

/** A row of the entity `__name__`. */
export interface __name__ extends nest.BaseRow {
}

/** A row of the entity `init`. */
export interface init extends nest.BaseRow {
  readonly TypedPath: string | null;
  readonly _: string | null;
  readonly __: string | null;
  readonly __a: string | null;
  readonly s: string | null;
  readonly x__a: string | null;
  readonly ToOnePath: nest.Reference | null;
}

/** A row of the entity `keyof`. */
export interface keyof_ extends nest.BaseRow {
}

/** The entities by name: `connect<Model>()`. */
export interface Model {
  readonly Date: {
    readonly row: Date_;
    readonly names: 'name';
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
    readonly names: 'bytes' | 'class' | 'columns' | 'count' | 'essay' | 'flag' | 'init' | 'key' | 'link' | 'middle' | 'moment' | 'note' | 'order' | 'price' | 'real' | 'scan' | 'self' | 'self_' | 'short' | 'small' | 'text' | 'whole' | 'owner' | 'where';
    readonly values: {
      bytes?: Uint8Array | null;
      class?: string | null;
      columns?: string | null;
      count?: number | bigint | null;
      essay?: nest.LargeValue | null;
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
      scan?: nest.LargeValue | null;
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
  readonly Values: {
    readonly row: Values;
    readonly names: 'Values';
    readonly values: {
      Values?: string | null;
    };
    readonly toMany: {
    };
  };
  readonly __debug__: {
    readonly row: __debug__;
    readonly names: never;
    readonly values: Record<string, never>;
    readonly toMany: {
    };
  };
  readonly __name__: {
    readonly row: __name__;
    readonly names: never;
    readonly values: Record<string, never>;
    readonly toMany: {
    };
  };
  readonly init: {
    readonly row: init;
    readonly names: 'TypedPath' | '_' | '__' | '__a' | '__proto__' | 'constructor' | 's' | 'values' | 'x__a' | 'ToOnePath';
    readonly values: {
      TypedPath?: string | null;
      _?: string | null;
      __?: string | null;
      __a?: string | null;
      s?: string | null;
      values?: string | null;
      x__a?: string | null;
      ToOnePath?: nest.ObjectLike | null;
    };
    readonly toMany: {
      readonly ToManyPath: 'init';
    };
  };
  readonly keyof: {
    readonly row: keyof_;
    readonly names: never;
    readonly values: Record<string, never>;
    readonly toMany: {
    };
  };
}
