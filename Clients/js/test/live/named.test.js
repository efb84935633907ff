// Requests that a model names, beside a server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { namedRequest } from '../../named.js';
import { connect } from '../../node.js';
import { Server, missing } from './nestd.js';

const model = fileURLToPath(new URL('named.json', import.meta.url));

test('a request of the model has the values of its source and its variables', { skip: missing }, async () => {
  const server = await Server.start('--model', model);
  const nest = await connect({ url: `tcp://${server.address}` });
  try {
    const [parts, boxes] = await Promise.all(['Part', 'Box'].map((name) => nest.entity(name)));
    const add = async (entity, values) => {
      const receipt = await nest.transaction('add', (tx) => { tx.insert(entity, values); });
      return receipt.id(1);
    };
    const one = await add(boxes, { name: 'one' });
    const two = await add(boxes, { name: 'it\'s "two"' });
    const a = await add(parts, { code: 'A-1', price: '10.50', box: one });
    await add(parts, { code: 'A-2', price: '2', box: one });
    await add(parts, { code: 'B-1', price: '3', box: two });
    const none = await add(parts, { code: 'C-1', box: null });
    const shown = async (name, given, property = 'code') =>
      (await nest.fetch(await namedRequest(nest, name, given))).rows.map((row) => row[property]);
    assert.deepEqual(await shown('Part.cheaper', { source: a }), ['B-1', 'A-2']);
    assert.deepEqual(await shown('Part.cheaper', { source: none }), []);
    assert.deepEqual(await shown('Part.others', { source: { id: a } }), ['A-2']);
    assert.deepEqual(await shown('boxes', { variables: { LEAST: 3, CODE: 'A' } }, 'name'), ['one']);
    assert.deepEqual(await shown('boxes', { variables: { LEAST: 3, CODE: 'A" OR "' } }, 'name'), []);
    const refused = (code, ...given) => assert.rejects(namedRequest(nest, ...given), { code });
    await refused('INVALID', 'nothing');
    await refused('INVALID', 'Part.cheaper');
    await refused('INVALID', 'boxes', { source: a, variables: { LEAST: 1, CODE: '' } });
    await refused('INVALID', 'boxes', { variables: { LEAST: 1 } });
    await refused('NOT_FOUND', 'Part.cheaper', { source: 999 });
    await assert.rejects(add(parts, { code: 'a-1', box: one }), { code: 'VALIDATION_FAILED' });
  } finally {
    await nest.close();
    await server.close();
  }
});
