// The tests of the wire in Node. A page runs the same modules: see test/browser.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import * as fuzz from './fuzz.js';
import * as states from './states.js';
import * as vectors from './vectors.js';
import * as wire from './wire.js';

const directory = new URL('../../../../Tests/Vectors/', import.meta.url);
const files = Object.fromEntries(readdirSync(directory).filter((name) => name.endsWith('.json')).map((name) => [
  name.slice(0, -5), JSON.parse(readFileSync(new URL(name, directory), 'utf8')),
]));
const seed = Number(process.env.NEST_SEED ?? 1);

for (const [name, suite] of Object.entries({ vectors, wire, states, fuzz })) {
  describe(name, () => suite.run({ ...files, seed }, test));
}
