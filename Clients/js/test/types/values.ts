// A program in TypeScript with the types of Tests/Fixtures/Types/model.json, which sends and reads large values. As use.ts.

import { connect } from 'nest-client/node';
import { readValue, sendValue } from 'nest-client/values';
import type { LargeValue } from 'nest-client';
import type { Model } from './model';

const nest = await connect<Model>('nest://127.0.0.1:7000');
const things = await nest.entity('Everything');

const scan = await sendValue(nest, things, 'scan', new Blob([Uint8Array.of(1, 2, 3)]), {
  progress: ({ bytes, length }) => console.log(`${bytes} of ${length}`),         // → 3 of 3
});
const essay = await sendValue(nest, things, 'essay', 'Once upon a time');
await nest.transaction('add', (tx) => tx.insert(things, { text: 'a', scan, essay }));

const [row] = (await nest.fetch(things.properties('scan', 'essay'))).rows;
const held: LargeValue | null = row.scan;
console.log(held?.length, held?.sha256 === scan.sha256);                        // → 3 true
for await (const piece of await readValue(nest, things, row, 'scan')) console.log(...piece);   // → 1 2 3
console.log(await (await readValue(nest, things, row, 'essay')).text());        // → Once upon a time

/** Not called: each call is a mistake. */
export function mistakes(): void {
  void nest.transaction(null, (tx) => {
    // @ts-expect-error: a large value is sent first
    tx.update(things, row, { scan: Uint8Array.of(1) });
    // @ts-expect-error: a large value is sent first
    tx.update(things, row, { essay: 'Once' });
  });
  // @ts-expect-error: no value is a number
  void sendValue(nest, things, 'scan', 5);
}
nest.close();
