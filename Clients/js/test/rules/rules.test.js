// Runs the suites of this directory in Node. A page runs the same modules: they import nothing of Node.

import { test } from 'node:test';
import { readFileSync } from 'node:fs';
import { run as text } from './text.js';
import { run as truth } from './truth.js';

/** Reads a file of Tests/Vectors. */
const directory = new URL('../../../../Tests/Vectors/', import.meta.url);
const vectors = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, directory), 'utf8'));

for (const run of [text, truth]) run(vectors, test);
