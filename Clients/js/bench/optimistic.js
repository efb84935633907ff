#!/usr/bin/env node
// How long a write of `nest-client/optimistic` takes until lists show it, with 200 visible rows:
//
//     node Clients/js/bench/optimistic.js [--rows 200] [--lists 1] [--writes 2000] [--json] [--limit]
//
// It needs nestd: NEST_BUILD, or the debug build of this copy. A time is from the call of `transaction` to the end of
// the call of the listeners of all lists, and of making the rows that a program looks at; without the server. The
// server runs meanwhile: the time of the processor says what this client alone needs. --limit: exit status 1 if the 99th
// percentile of a kind of write is above 5 ms.

import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { connect } from '../node.js';
import { optimistic } from '../optimistic.js';
import { Server, missing, until } from '../test/live/nestd.js';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '200' }, lists: { type: 'string', default: '1' },
    writes: { type: 'string', default: '2000' }, json: { type: 'boolean', default: false },
    limit: { type: 'boolean', default: false },
  },
});
const [rows, lists, writes] = [options.rows, options.lists, options.writes].map(Number);
const limit = 5;

if (missing) {
  console.error(missing);
  process.exit(2);
}

const percentile = (times, part) => times[Math.min(times.length - 1, Math.floor(times.length * part))];

const server = await Server.start();
const nest = await connect({ url: `nest://${server.address}` });
const items = await nest.entity('Item');
await nest.transaction('rows', (tx) => {
  for (let index = 0; index < rows; index += 1) tx.insert(items, { title: `${index}`, done: index % 2 === 0 });
});
const local = optimistic(nest);
const requests = [
  items.children(1).properties('title', 'done'), items.where('parent != nil').sorted('title:c').properties('title'),
  items.where('done == YES').sorted('-title').properties('title', 'note'),
];
const opened = [];
for (let index = 0; index < lists; index += 1) opened.push(await local.results(requests[index % requests.length]));
await until(() => opened.every(({ status }) => status === 'live'));
const ids = opened[0].state.rows.map(({ id }) => id);
const kinds = {
  update: (tx, at) => tx.update(items, ids[at % ids.length], { title: `title ${at}` }),
  toggle: (tx, at) => tx.update(items, ids[at * 7 % ids.length], { done: at % 3 === 0 }),
  move: (tx, at) => tx.move(items, ids[at % ids.length], { of: 1, first: true }),
};

const found = {};
for (const [kind, fill] of Object.entries(kinds)) {
  const times = [];
  const processor = [];
  for (let at = 0; at < writes; at += 1) {
    const start = performance.now();
    const before = process.cpuUsage();
    const write = local.transaction(kind, (tx) => fill(tx, at));
    // Lists publish in a microtask that was queued before this one.
    await null;
    // Rows are made when a program looks at them.
    for (const { state } of opened) state.rows.length;
    times.push(performance.now() - start);
    const { user, system } = process.cpuUsage(before);
    processor.push((user + system) / 1000);
    await write.done;
  }
  for (const all of [times, processor]) all.sort((a, b) => a - b);
  found[kind] = {
    p50: percentile(times, 0.5), p99: percentile(times, 0.99), max: times.at(-1),
    processor: { p50: percentile(processor, 0.5), p99: percentile(processor, 0.99) },
  };
}
nest.close();
await server.close();

const report = { node: process.version, processor: cpus()[0]?.model, rows, lists, writes, milliseconds: found };
if (options.json) console.log(JSON.stringify(report));
else {
  console.log(`${report.node}, ${report.processor}: ${rows} rows, ${lists} lists, ${writes} writes of each kind`);
  for (const [kind, { p50, p99, max, processor }] of Object.entries(found)) {
    const times = `p50 ${p50.toFixed(3)} ms, p99 ${p99.toFixed(3)} ms, max ${max.toFixed(3)} ms`;
    console.log(`${kind.padEnd(8)} ${times}; of the processor p50 ${processor.p50.toFixed(3)} ms, p99 ${
      processor.p99.toFixed(3)} ms`);
  }
}
if (options.limit && Object.values(found).some(({ p99 }) => p99 > limit)) process.exitCode = 1;
