// Runs the suites of this directory in Node. A page runs the same modules: they import nothing of Node.

import { describe, test } from 'node:test';
import { readFileSync } from 'node:fs';
import * as difference from './difference.js';
import * as overlay from './overlay.js';
import * as pending from './pending.js';
import * as remembered from './remembered.js';
import * as rows from './rows.js';
import * as steps from './steps.js';
import * as traces from './traces.js';
import * as vectors from './vectors.js';

const directory = new URL('../../../../Tests/Vectors/', import.meta.url);
const read = (name) => [name, JSON.parse(readFileSync(new URL(`${name}.json`, directory), 'utf8'))];
const files = Object.fromEntries(['sortkeys', 'predicates', 'diffs', 'overlay', 'optimistic'].map(read));

const suites = { difference, overlay, pending, remembered, rows, steps, traces, vectors };
for (const [name, suite] of Object.entries(suites)) describe(name, () => suite.run(files, test));
