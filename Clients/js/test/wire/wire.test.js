// The tests of the wire in Node. A page runs the same modules: see test/browser.
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import * as fuzz from './fuzz.js';
import * as states from './states.js';
import * as vectors from './vectors.js';
import * as wire from './wire.js';

const suites = { vectors, wire, states, fuzz };
const names = ['values', 'frames', 'digests', 'diffs', 'negative'];
const files = Object.fromEntries(names.map((name) => [
  name, JSON.parse(readFileSync(new URL(`../../../../Tests/Vectors/${name}.json`, import.meta.url), 'utf8')),
]));

for (const [name, suite] of Object.entries(suites)) describe(name, () => suite.run(files, test));
