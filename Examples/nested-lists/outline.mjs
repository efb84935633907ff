// The nested lists as an outline. A list that moves arrives as one run of rows, with all that is inside.

import { connect } from '../../Clients/js/node.js';

const nest = await connect({ url: `nest://${process.env.NEST_SERVER ?? '127.0.0.1:7000'}` });
const items = await nest.entity('Item');
const outline = await nest.outline(items.children(1).properties('title'), { expand: 'all' });
for await (const { type, state, runs } of outline) {
  if (type !== 'snapshot' && type !== 'diff') continue;
  for (const run of runs ?? []) console.log(run);
  for (const { depth, title } of state.rows) console.log('  '.repeat(depth) + title);
  if (type === 'diff') break;
  const pack = state.rows.find(({ title }) => title === 'Pack');
  await nest.transaction('pack first', (tx) => tx.move(items, pack, { of: 1, first: true }));
}
console.log('undid:', (await nest.undo()).name);
nest.close();
