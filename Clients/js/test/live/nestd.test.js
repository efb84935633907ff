// The harness: a server that starts again on its ports with its store, and exact numbers from nestc.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { CommandError, Server, exactJSON, missing, trapModel } from './nestd.js';

test('integers beyond 2^53 stay exact, and texts as they are', () => {
  const line = '{"a":9007199254740993,"b":[-9007199254740991,1.5,1e300,2],"c":"x:12345678901234567890 \\" 1"}';
  assert.deepEqual(exactJSON(line),
    { a: 9007199254740993n, b: [-9007199254740991, 1.5, 1e300, 2], c: 'x:12345678901234567890 " 1' });
});

test('a server keeps its port and its store when it is killed', { skip: missing }, async () => {
  const server = await Server.start('--model', trapModel);
  try {
    await server.nestc(['insert', 'Thing', 'title=a', 'depth=9007199254740993']);
    const { port } = server;
    await server.restart();
    assert.equal(server.port, port);
    const [row, ...more] = await server.json(['fetch', '--entity', 'Thing', '--properties', 'title,depth']);
    assert.deepEqual([row, more], [{ id: row.id, title: 'a', depth: 9007199254740993n }, []]);
    await assert.rejects(server.json(['set', '99', 'done=yes']),
      (error) => error instanceof CommandError && error.code === 'NOT_FOUND');
  } finally {
    await server.close();
  }
  assert.equal(existsSync(server.directory), false);
});
