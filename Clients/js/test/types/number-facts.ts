// Written by `nestc model generate typescript`. Do not edit: change the model, and write it again.

import type * as nest from 'nest-client';

/** A row of the entity `Post`. */
export interface Post extends nest.BaseRow {
  readonly number: number;
  readonly title: string;
  readonly user: nest.Reference;
}

/** A row of the entity `User`. */
export interface User extends nest.BaseRow {
  readonly dob: nest.NestDate | null;
  readonly name: string;
}

/** The entities by name: `connect<Model>()`. */
export interface Model {
  readonly Post: {
    readonly row: Post;
    readonly names: 'number' | 'title' | 'user';
    readonly values: {
      number?: number | nest.Double;
      title?: string;
      user?: nest.ObjectLike;
    };
    readonly toMany: {
    };
  };
  readonly User: {
    readonly row: User;
    readonly names: 'dob' | 'name';
    readonly values: {
      dob?: nest.NestDate | Date | null;
      name?: string;
    };
    readonly toMany: {
      readonly posts: 'Post';
    };
  };
}
