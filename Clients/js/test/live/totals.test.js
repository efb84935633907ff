// Live totals beside a server, through a proxy that breaks connections: every state that is shown has the totals of its
// own rows, and at quiet points those of nestc, also for windows. NEST_SEED and NEST_STEPS repeat and extend a run.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { Server, missing, trapModel, until } from './nestd.js';
import { ChaosProxy } from './proxy.js';
import { Random } from './random.js';

const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));
const steps = Number(process.env.NEST_STEPS ?? 120);
const TOTALS = ['count', 'sum(depth)', 'max(title)', 'avg(price)', 'sum(parent.depth)'];

/** The obvious way: over rows that have all they read. A sum of no values is 0. */
function summed(rows) {
  const depths = rows.map((row) => row.depth).filter((depth) => depth !== null);
  return { count: rows.length, 'sum(depth)': depths.reduce((a, b) => a + b, 0) };
}

/** A value as nestc prints it: a date or a decimal is text. */
const plain = (totals) => JSON.parse(JSON.stringify({ ...totals }));

test(`totals are those of the rows and of nestc (seed ${seed})`, { skip: missing, timeout: 300_000 }, async (t) => {
  const random = new Random(seed);
  const server = await Server.start('--model', trapModel);
  const proxy = await ChaosProxy.start(() => server.port, random.fork());
  const clients = [];
  try {
    const open = async (port) => {
      const nest = await connect({ url: `tcp://127.0.0.1:${port}`, reconnectPauseMax: 100, connectTimeout: 2000 });
      clients.push(nest);
      return nest;
    };
    const writer = await open(server.port);
    const reader = await open(proxy.port);
    const things = await writer.entity('Thing');
    const all = (await reader.entity('Thing')).properties('title', 'depth').totals(...TOTALS);
    const requests = [
      all.section('title', 'firstCharacter'), all.sorted('-depth').window(3, 4),
      all.where('done == NO').section('title', 'firstCharacter').window(0, 5),
    ];
    const lists = requests.map((request) => reader.results(request));
    const faults = [];
    const seen = new Set();
    for (const list of lists) {
      list.subscribe(({ type, state }) => {
        seen.add(type);
        if (!state.totals || state.request.shownWindow) return;
        for (const { rows, totals } of [state, ...state.sections]) {
          const expected = summed(rows);
          const shown = { count: totals.count, 'sum(depth)': totals['sum(depth)'] };
          if (JSON.stringify(shown) !== JSON.stringify(expected)) faults.push({ type, revision: state.revision, shown,
            expected });
        }
      });
    }
    const ids = [1];
    const values = () => ({
      title: `${random.pick(['a', 'b', 'c', 'd'])}${random.below(9)}`, done: random.chance(0.3),
      depth: random.chance(0.2) ? null : random.below(100),
      price: random.chance(0.3) ? null : `${random.below(50)}.${random.below(9)}`,
    });
    for (let step = 0; step < steps; step += 1) {
      const kind = random.weighted({
        insert: 24, update: 32, delete: ids.length > 25 ? 16 : 0, move: 12, cut: 8, pause: 4, wild: 4, kill: 1,
      });
      const id = random.pick(ids);
      let made;
      if (kind === 'cut') proxy.breakAll();
      else if (kind === 'wild') proxy.wild = !proxy.wild;
      else if (kind === 'pause') {
        const list = random.pick(lists);
        list.pause();
        setTimeout(() => list.resume(), 20);
      } else if (kind === 'kill') await server.restart();
      else if (kind === 'insert' || id !== 1) {
        const receipt = await writer.transaction(kind, (tx) => {
          if (kind === 'insert') made = tx.insert(things, values(), { of: id });
          else if (kind === 'update') tx.update(things, id, values());
          else if (kind === 'move') tx.move(things, id, { of: 1 });
          else tx.delete(id);
        }).catch((error) => (error.code === 'NOT_FOUND' ? null : Promise.reject(error)));
        if (receipt && made) ids.push(receipt.id(made));
        if (kind === 'delete') ids.splice(ids.indexOf(id), 1);
      }
      if (step % 40 === 39) await quiet();
    }
    await quiet();
    assert.deepEqual(faults, []);
    for (const type of ['snapshot', 'diff', 'disconnected']) assert.ok(seen.has(type), type);
    t.diagnostic(`seed ${seed}: ${[...seen].join(', ')}; ${ids.length} things`);

    async function quiet() {
      proxy.calm();
      const { revision } = await writer.fetch(things.window(0, 0));
      for (const [index, list] of lists.entries()) {
        await until(() => list.status === 'live' && list.revision >= revision,
          () => `${list.status} ${list.revision} ${revision}`);
        const where = index === 2 ? ['--where', 'done == NO'] : [];
        const section = index === 1 ? [] : ['--section', 'firstCharacter(title)', '--sort', 'title'];
        const lines = await server.json(['fetch', '--entity', 'Thing', '--with-root', ...where, ...section, '--totals',
          TOTALS.join()]);
        const expected = lines.at(-1);
        assert.deepEqual(plain(list.state.totals), expected.totals, `list ${index}`);
        for (const { key, totals } of index === 1 ? [] : list.state.sections) {
          assert.deepEqual(plain(totals), expected.sections.find(({ name }) => name === key).totals,
            `list ${index}, ${key}`);
        }
        const fetched = await writer.fetch(requests[index]);
        assert.deepEqual(plain(fetched.totals), plain(list.state.totals));
      }
    }
  } finally {
    for (const nest of clients) nest.close();
    await proxy.close();
    await server.close();
  }
});
