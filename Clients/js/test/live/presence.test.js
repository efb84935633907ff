// Presence through a proxy that breaks connections: at quiet points every client of a scope knows the last values of
// those that are present, each once. NEST_SEED and NEST_STEPS repeat and extend a run.

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { Server, missing, until } from './nestd.js';
import { ChaosProxy } from './proxy.js';
import { Random } from './random.js';

const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));
const steps = Number(process.env.NEST_STEPS ?? 60);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** What somebody shows, as text. */
const textOf = ({ name, claimed, value }) => `${claimed ? '~' : ''}${name} ${value.object}`;
const shown = (people) => people.map(textOf).sort();

class Person {
  constructor(name, nest, presence) {
    Object.assign(this, { name, nest, presence, object: null });
  }

  static async arrive(name, port) {
    const nest = await connect({
      url: `nest://127.0.0.1:${port}`, user: name, reconnectPauseMax: 150, connectTimeout: 2000,
    });
    return new Person(name, nest, await nest.presence(1));
  }

  set(object) {
    this.object = object;
    this.presence.set(object === null ? null : { object });
  }
}

test(`who is present is known to all, whatever happens to connections (seed ${seed})`, { skip: missing }, async () => {
  const random = new Random(seed);
  const server = await Server.start();
  const proxy = await ChaosProxy.start(() => server.port, random.fork());
  const people = [];
  try {
    for (const name of ['Ann', 'Bob', 'Cleo']) people.push(await Person.arrive(name, proxy.port));
    for (let round = 0; round < 3; round += 1) {
      proxy.wild = true;
      for (let step = 0; step < steps; step += 1) {
        const person = random.pick(people);
        person.set(random.chance(0.1) ? null : random.between(1, 9));
        await pause(random.below(25));
        if (random.chance(0.03)) for (const link of [...proxy.links]) if (random.chance(0.5)) link.end('reset');
        if (random.chance(0.04)) {
          random.pick(people).nest.close();
          const at = people.findIndex(({ nest }) => nest.state.phase === 'closed');
          proxy.wild = false;
          people[at] = await Person.arrive(people[at].name, proxy.port);
          proxy.wild = true;
        }
      }
      proxy.wild = false;
      for (const link of [...proxy.links]) link.end('cut');
      if (round === 1) await server.restart();
      const present = people.filter(({ object }) => object !== null);
      const expected = present.map(({ name, object }) => `~${name} ${object}`).sort();
      for (const { name, presence } of people) {
        const isRight = () => presence.isLive && `${shown(presence.state)}` === `${expected}`;
        await until(isRight, () => `${name} knows ${shown(presence.state)}, not ${expected}`);
        for (const one of presence.state) assert.equal(one.isSelf, one.name === name, `${name} and ${one.name}`);
      }
    }
  } finally {
    for (const { nest } of people) nest.close();
    await proxy.close();
    await server.close();
  }
});

test('a client that closes is gone at once; one that is lost stays, and is the same when it is back', {
  skip: missing,
}, async () => {
  const server = await Server.start();
  const proxy = await ChaosProxy.start(() => server.port, new Random(7));
  try {
    const [ann, bob] = [await Person.arrive('Ann', server.port), await Person.arrive('Bob', proxy.port)];
    const states = [];
    ann.presence.subscribe((state) => states.push(shown(state)));
    bob.set(5);
    await until(() => ann.presence.state.length === 1, () => 'Bob does not appear');
    const [before] = ann.presence.state;
    for (const link of [...proxy.links]) link.end('reset');
    await until(() => proxy.counts.connections === 2, () => 'Bob does not connect again');
    bob.set(6);
    await until(() => shown(ann.presence.state)[0] === '~Bob 6', () => 'Bob does not move on');
    assert.equal(ann.presence.state[0].connection, before.connection);
    assert.ok(states.every(({ length }) => length === 1), 'nobody has seen Bob go');
    bob.nest.close();
    await until(() => ann.presence.state.length === 0, () => 'Bob does not go');
    ann.nest.close();
  } finally {
    await proxy.close();
    await server.close();
  }
});

test('a row is there before the presence that names it', { skip: missing }, async () => {
  const server = await Server.start();
  try {
    const [ann, bob] = [await Person.arrive('Ann', server.port), await Person.arrive('Bob', server.port)];
    const items = await ann.nest.entity('Item');
    const list = ann.nest.results(items.children(1).properties('title'));
    const unknown = [];
    ann.presence.subscribe(([one]) => {
      if (one && !list.state.rows.some(({ id }) => id === one.value.object)) unknown.push(one.value.object);
    });
    await until(() => list.status === 'live', () => `the list is ${list.status}`);
    let last = null;
    for (let count = 0; count < 40; count += 1) {
      const write = (tx) => tx.insert(items, { title: `row ${count}` }, { of: 1 });
      last = (await bob.nest.transaction(null, write)).result(1).id;
      bob.set(last);
    }
    await until(() => ann.presence.state[0]?.value.object === last, () => 'the last row is not named');
    assert.deepEqual(unknown, []);
    for (const { nest } of [ann, bob]) nest.close();
  } finally {
    await server.close();
  }
});
