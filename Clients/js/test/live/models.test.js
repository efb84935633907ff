// A server that comes back with another model, on the same port and with the same store: what a program follows goes on
// if the model extends the old one, and ends if it does not.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { connect } from '../../node.js';
import { Server, missing, trapModel, until } from './nestd.js';

/** A model with another attribute and another entity before the others, and with tags that are labels. */
function extended() {
  const model = JSON.parse(readFileSync(trapModel, 'utf8'));
  model.entities[0].attributes.unshift({ name: 'aim', type: 'string', optional: true });
  model.entities.unshift({ name: 'Person', attributes: [{ name: 'name', type: 'string' }] });
  model.entities.push({ name: 'Label', parent: 'Tag', attributes: [{ name: 'color', type: 'string' }] });
  return model;
}

/** What extends no model that has `done`. */
function renamed() {
  const model = extended();
  const done = model.entities[1].attributes.find(({ name }) => name === 'done');
  Object.assign(done, { name: 'finished', renamedFrom: 'done' });
  return model;
}

/** Follows something to its end: what it has seen, and its error. */
function followed(iterable) {
  const one = { types: [], changes: [], error: null, isOver: false };
  (async () => {
    for await (const change of iterable) {
      one.types.push(change.type);
      one.changes.push(change);
    }
  })().catch((error) => {
    one.error = error;
  }).finally(() => {
    one.isOver = true;
  });
  return one;
}

test('an extension lets everything go on, and another model ends it', { skip: missing }, async () => {
  const server = await Server.start('--model', trapModel);
  let nest;
  const restart = async (model) => {
    await server.kill();
    server.changeModel(model);
    await server.start();
  };
  try {
    nest = await connect({ url: `nest://${server.address}`, reconnectPauseMax: 100 });
    const things = await nest.entity('Thing');
    const tags = await nest.entity('Tag');
    await nest.transaction('begin', (tx) => {
      tx.insert(things, { title: 'one' });
      tx.insert(tags, { name: 'a' });
    });
    const whole = things.of(1, 'then').where('done == NO');
    const named = tags.sorted('name').properties('name', '@entity');
    const [list, kinds] = [nest.results(whole), nest.results(named)];
    const [rows, seen, feed] = [followed(list), followed(kinds), followed(nest.changes())];
    await until(() => list.status === 'live' && kinds.status === 'live' && feed.types[0] === 'following');
    const { names } = list.state;
    const outline = await nest.outline(things.of(1, 'then').properties('title'));
    const here = await nest.presence(1);
    here.set({ object: 1 });
    await until(() => outline.status === 'live' && here.state.some(({ isSelf }) => isSelf));

    await restart(extended());
    await until(() => rows.types.includes('resumed') && seen.types.includes('resumed'));
    const labels = await nest.entity('Label');
    // Steps of both models in one transaction, and then of the old one alone.
    let label;
    const receipt = await nest.transaction('both', (tx) => {
      tx.insert(things, { title: 'two' });
      label = tx.insert(labels, { name: 'b', color: 'red' });
    });
    await nest.transaction('old', (tx) => {
      tx.insert(things, { title: 'three' });
      tx.insert(tags, { name: 'c' });
    });
    const titles = () => list.state.rows.map(({ title }) => title).join(' ');
    await until(() => titles() === 'one two three' && kinds.state.count === 3,
      () => `${list.status} ${list.error?.message} ${titles()} ${rows.types}`);
    for (const one of [rows, seen]) assert.equal(one.types.filter((type) => type === 'snapshot').length, 1);
    assert.deepEqual(list.state.names, names);
    await until(() => outline.state.rows.map(({ title }) => title).join(' ') === 'one two three',
      () => `${outline.status} ${outline.error?.message}`);
    await until(() => here.isLive && here.state.some(({ isSelf }) => isSelf), () => String(here.error));
    const model = await nest.model();
    const shown = (state) => state.rows.map((row) => [row.name, model.entity(row.get('@entity')).name]);
    for (const state of [kinds.state, await nest.fetch(named)]) {
      assert.deepEqual(shown(state), [['a', 'Tag'], ['b', 'Label'], ['c', 'Tag']]);
    }
    assert.deepEqual((await nest.fetch(whole)).names, names);
    assert.equal((await nest.object(receipt.id(label))).entity, 'Label');
    await until(() => feed.types.filter((type) => type === 'changes').length === 2);
    const { objects } = feed.changes.find(({ type }) => type === 'changes');
    const inserted = objects.filter(({ change }) => change === 'inserted').map(({ entity }) => entity);
    assert.deepEqual(inserted.sort(), ['Label', 'Thing']);
    const fresh = await nest.entity('Thing');
    assert.equal(fresh.model, model);
    assert.ok((await nest.fetch(fresh)).names.includes('aim'));

    await restart(renamed());
    await until(() => [rows, seen, feed].every(({ isOver }) => isOver) && outline.status === 'ended');
    // Presence has no numbers of the model of its own.
    await until(() => here.isLive && here.state.some(({ isSelf }) => isSelf), () => String(here.error));
    for (const { error } of [rows, seen, feed, outline]) assert.equal(error?.code, 'SCHEMA_CHANGED');
    for (const request of [whole, fresh]) await assert.rejects(nest.fetch(request), { code: 'SCHEMA_CHANGED' });
    const last = await nest.entity('Thing');
    assert.equal(await nest.count(last.of(1, 'then').where('finished == NO')), 3);
  } finally {
    nest?.close();
    await server.close();
  }
});

test('a running server gets a model that has more, and everything goes on', { skip: missing }, async () => {
  const server = await Server.start('--model', trapModel);
  let nest;
  try {
    nest = await connect({ url: `nest://${server.address}`, reconnectPauseMax: 100 });
    const things = await nest.entity('Thing');
    await nest.transaction('begin', (tx) => tx.insert(things, { title: 'one' }));
    const whole = things.of(1, 'then').where('done == NO');
    const list = nest.results(whole);
    const [rows, feed] = [followed(list), followed(nest.changes())];
    await until(() => list.status === 'live' && feed.types[0] === 'following');
    const { names } = list.state;

    const model = extended();
    // A running server adds no entity below an old one.
    model.entities.pop();
    const [applied] = await server.json(['model', 'apply', '-'], JSON.stringify(model));
    assert.equal(applied.outcome, 'applied');
    await until(() => rows.types.includes('resumed'), () => `${list.status} ${list.error?.message} ${rows.types}`);
    await server.nestc(['insert', 'Thing', 'title=two', 'aim=here']);
    await nest.transaction('old names', (tx) => tx.insert(things, { title: 'three' }));
    const titles = () => list.state.rows.map(({ title }) => title).join(' ');
    await until(() => titles() === 'one two three', () => `${list.status} ${list.error?.message} ${titles()}`);
    assert.equal(rows.types.filter((type) => type === 'snapshot').length, 1);
    assert.deepEqual(list.state.names, names);
    await until(() => feed.types.filter((type) => type === 'changes').length === 2);
    const fresh = await nest.entity('Thing');
    const aims = await nest.fetch(fresh.where("aim == 'here'").properties('title', 'aim'));
    assert.deepEqual(aims.rows.map(({ title, aim }) => [title, aim]), [['two', 'here']]);
    const persons = await nest.entity('Person');
    await nest.transaction('new names', (tx) => tx.insert(persons, { name: 'Ann' }));
    assert.equal(await nest.count(persons), 1);
  } finally {
    nest?.close();
    await server.close();
  }
});
