// Runs the programs of README.md: its js blocks, from top to bottom, are one program against a new server. A comment
// `// → text` is a line that the program must print. The block of a page runs with a small document.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { missing, Server } from './live/nestd.js';
import { expected, program } from './blocks.js';
import { Page } from './machine/page.js';

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

/** As much of a document as the page needs. */
const documents = `
class Element {
  children = [];
  textContent = '';
  replaceChildren(...children) { this.children = children; }
  append(...children) { this.children.push(...children); }
  addEventListener() {}
}
const elements = new Map();
globalThis.document = {
  createElement: () => new Element(),
  querySelector: (name) => elements.get(name) ?? elements.set(name, new Element()).get(name),
};
`;

/** Runs a module in a directory where \`nest-client\` is installed; returns what it printed. */
async function run(name, source) {
  const directory = mkdtempSync(join(tmpdir(), 'nest-readme-'));
  try {
    mkdirSync(join(directory, 'node_modules', 'react'), { recursive: true });
    symlinkSync(root, join(directory, 'node_modules', 'nest-client'), 'dir');
    writeFileSync(join(directory, 'node_modules', 'react', 'package.json'), '{"type":"module","exports":"./index.js"}');
    writeFileSync(join(directory, 'node_modules', 'react', 'index.js'), react);
    writeFileSync(join(directory, 'document.js'), documents);
    writeFileSync(join(directory, name), source);
    return await new Promise((resolve, reject) => {
      const options = { cwd: directory, timeout: 60_000 };
      execFile(process.execPath, [join(directory, name)], options, (error, output, words) => {
        if (error) reject(new Error(`${words}\n${output}\n${error.message}`));
        else resolve(output.split('\n').filter(Boolean));
      });
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function withServer(body) {
  const server = await Server.start();
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

test('the programs of README.md do what it says', { skip: missing }, () => withServer(async (server) => {
  const source = program(readme, 'js');
  const lines = expected(source);
  assert.ok(lines.length > 10, 'README.md says what its programs print');
  const output = await run('README.mjs', source.replaceAll('127.0.0.1:7000', server.address));
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

test('the page of README.md shows the list, and follows it', { skip: missing }, () => withServer(async (server) => {
  const page = program(readme, 'js page');
  assert.match(page, /from '\/nest-client\/index\.js'/);
  await server.nestc(['add', 'Milk', 'Bread']);
  const source = page.replace('/nest-client/index.js', 'nest-client/node')
    .replace('connect()', `connect({ url: 'nest://${server.address}' })`);
  const probe = `
    import './document.js';
    const shown = () => document.querySelector('#list').children.map((child) => child.textContent).join(' ');
    const until = async (text) => {
      for (let turn = 0; shown() !== text; turn += 1) {
        if (turn > 1000) throw new Error('the page shows ' + shown());
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    await until('Milk Bread');
    console.log(shown());
    process.exit(0);`;
  const imports = source.match(/^\s*import .*$/gm).join('\n');
  const rest = source.replace(/^\s*import .*$/gm, '');
  assert.deepEqual(await run('page.mjs', `import './document.js';\n${imports}\n${rest}\n${probe}`), ['Milk Bread']);
}));

test('blocks keep their line numbers, and only those of the language run', () => {
  const page = 'text\n```js\none();   // → 1\n```\n```sh\nls\n```\n  ```js\n  two();\n  ```\n';
  assert.equal(program(page, 'js'), '\n\none();   // → 1\n\n\n\n\n\n  two();\n\n');
  assert.deepEqual(expected(program(page, 'js')), ['1']);
});
