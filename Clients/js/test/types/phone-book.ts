// Written by `nestc model generate typescript`. Do not edit: change the model, and write it again.

import type * as nest from 'nest-client';

/** A row of the entity `Phone`. */
export interface Phone extends nest.BaseRow {
  readonly number: string;
  readonly user: nest.Reference;
}

/** A row of the entity `User`. */
export interface User extends nest.BaseRow {
  readonly name: string;
}

/** The entities by name: `connect<Model>()`. */
export interface Model {
  readonly Phone: {
    readonly row: Phone;
    readonly names: 'number' | 'user';
    readonly values: {
      number?: string;
      user?: nest.ObjectLike;
    };
    readonly toMany: {
    };
  };
  readonly User: {
    readonly row: User;
    readonly names: 'name';
    readonly values: {
      name?: string;
    };
    readonly toMany: {
      readonly phones: 'Phone';
    };
  };
}
