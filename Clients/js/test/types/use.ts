// A program in TypeScript with the types of Examples/phone-book/model.json. types.test.js compiles it; what is marked as
// a mistake must be one. It also runs against a server with that model: a comment `// →` is a line that it prints.

import { connect } from 'nest-client/node';
import type { Nest } from 'nest-client';
import type { Model, Phone } from './phone-book';

const nest = await connect<Model>('nest://127.0.0.1:7000');
const users = await nest.entity('User');
const phones = await nest.entity('Phone');

let ann: number = 0;
await nest.transaction('add Ann', (tx) => {
  const user = tx.insert(users, { name: 'Ann' });
  tx.insert(phones, { number: '1', user });
  tx.insert(phones, { number: '2', user });
}).then((receipt) => { ann = receipt.id(1); });

/** A part of a program that serves every model. */
export const count = (any: Nest, name: string): Promise<number> => any.entity(name).then((entity) => any.count(entity));

/** Not called: each call is a mistake. */
export function mistakes(): void {
  void nest.transaction(null, (tx) => {
    // @ts-expect-error: a number is text here
    tx.insert(phones, { number: 1 });
    // @ts-expect-error: the entity has no such property
    tx.update(users, 1, { nmae: 'Ann' });
    // @ts-expect-error: it is required
    tx.update(phones, 1, { user: null });
    // @ts-expect-error: an id is a number
    tx.insert(users, { name: 'Ann' }, { id: '90' });
    // @ts-expect-error: a gap has names
    tx.insert(users, { name: 'Ann' }, { of: 1, near: [1, 2] });
    // @ts-expect-error: a place has an owner
    tx.insert(users, { name: 'Ann' }, { id: 90, first: true });
    // @ts-expect-error: a place has an owner
    tx.insert(users, { name: 'Ann' }, { id: 90, near: { left: null, right: 2 } });
    // @ts-expect-error: a place has an owner
    tx.insert(users, { name: 'Ann' }, { id: 90, as: 'owner' });
    // Not mistakes.
    tx.insert(users, { name: 'Ann' }, { id: 90, of: 1, first: true });
    void nest.reserveIDs(1).then(([id]) => tx.insert(users, { name: 'Ann' }, { id, of: 1, near: { left: null, right: 2 } }));
    tx.insert(users, { name: 'Ann' }, { id: 90 });
  });
  // @ts-expect-error: the model has no such entity
  void nest.entity('Usr');
  // @ts-expect-error: the entity has no such property
  phones.properties('nmber');
  // @ts-expect-error: the relationship leads to many objects
  phones.properties('phones');
}

const all = await nest.fetch(users.phones(ann).sorted('number'));
console.log(await count(nest, 'Phone'));                                         // → 2
console.log(all.rows.map((phone) => phone.number.padStart(3, '0')).join(' '));   // → 001 002

const first: Phone | undefined = all.rows[0];
console.log(first?.user.id === ann);                                            // → true

const named = await nest.fetch(phones.where('number == "2"').properties('number', 'user.name'));
for (const row of named.rows) console.log(row.number, row.get('user.name'));    // → 2 Ann
const again = phones.properties('number').properties('user');
console.log((await nest.fetch(again.where('number == "1"'))).rows[0].user.id === ann);   // → true
// @ts-expect-error: the row does not have it
const missing = named.rows.map((row) => row.user);

const list = nest.results(phones.sorted('number').properties('number'));
for await (const change of list) {
  if (change.type !== 'snapshot') continue;
  const numbers: string[] = change.state.rows.map((row) => row.number);
  console.log(numbers.join(' '), missing.length);                              // → 1 2 1
  break;
}
list.close();
nest.close();
