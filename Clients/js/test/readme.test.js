// Runs the programs of README.md: its js blocks, from top to bottom, are one program against a new server. A comment
// `// → text` is a line that the program must print. The block of a page runs with a small document.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expected, program } from './blocks.js';
import { missing } from './live/nestd.js';
import { Page } from './machine/page.js';
import { Directory, openPage, run, withServer } from './programs.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

/**
 * What React does of which the hook of the page makes use, in StrictMode: it makes everything twice, and subscribes,
 * ends that, and subscribes again. `mounted` is the component: its newest state, and `unmount`.
 */
const react = `
export const mounted = { states: [], unmount: null };
export const useMemo = (make) => (make(), make());
export function useSyncExternalStore(subscribe, getSnapshot, getServerSnapshot) {
  if (getServerSnapshot() !== getServerSnapshot()) throw new Error('a snapshot is not stable');
  const first = getSnapshot();
  const check = () => {
    if (getSnapshot() !== getSnapshot()) throw new Error('a snapshot is not stable');
    mounted.states.push(getSnapshot());
  };
  subscribe(check)();
  mounted.unmount = subscribe(check);
  return first;
}
`;

/** What README.md says is installed. */
const modules = {
  'node_modules/react/package.json': '{"type":"module","exports":"./index.js"}', 'node_modules/react/index.js': react,
};

test('the programs of README.md do what it says', { skip: missing }, () => withServer([], async (server) => {
  const source = program(readme, 'js');
  const lines = expected(source);
  assert.ok(lines.length > 10, 'README.md says what its programs print');
  const files = { ...modules, 'README.mjs': source.replaceAll('127.0.0.1:7000', server.address) };
  const output = await run('README.mjs', files);
  assert.deepEqual(output, lines);
}));

test('the hook for React shows the rows in StrictMode, and leaves no list open', async () => {
  const hook = /import \{[^}]*\} from 'react';[^]*?\n\}\n/.exec(program(readme, 'js'))[0];
  const directory = mkdtempSync(join(tmpdir(), 'nest-react-'));
  const page = new Page();
  const nest = await page.connect();
  try {
    writeFileSync(join(directory, 'react.mjs'), react);
    writeFileSync(join(directory, 'hook.mjs'), hook.replace("'react'", "'./react.mjs'"));
    const { useResults } = await import(pathToFileURL(join(directory, 'hook.mjs')).href);
    const { mounted } = await import(pathToFileURL(join(directory, 'react.mjs')).href);
    const items = await nest.entity('Item');
    assert.equal(useResults(nest, items.properties('title')), null);
    await page.list([[2, 'Milk'], [3, 'Eggs']]);
    assert.deepEqual(mounted.states.at(-1).rows.map(({ title }) => title), ['Milk', 'Eggs']);
    assert.equal(page.sent.length, 0, 'one list is open');
    mounted.unmount();
    await page.next('unsubscribe');
  } finally {
    nest.close();
    rmSync(directory, { recursive: true });
  }
});

test('the page of README.md shows the list, and follows it', { skip: missing }, () => withServer([], async (server) => {
  const directory = new Directory();
  const page = openPage(directory, server, program(readme, 'html'), program(readme, 'js page'), '/nest-client/index.js');
  try {
    await server.nestc(['add', 'Milk', 'Bread']);
    await page.shows('list: Milk Bread');
    await server.nestc(['mv', '3', '--first']);
    await page.shows('list: Bread Milk');
  } finally {
    await page.stop();
    directory.remove();
  }
}));

test('blocks keep their line numbers, and only those of the language run', () => {
  const page = 'text\n```js\none();   // → 1\n```\n```sh\nls\n```\n  ```js\n  two();\n  ```\n';
  assert.equal(program(page, 'js'), '\n\none();   // → 1\n\n\n\n\n\n  two();\n\n');
  assert.deepEqual(expected(program(page, 'js')), ['1']);
});
