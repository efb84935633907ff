// Types: every module is checked by its JSDoc, each declaration (.d.ts) against its module, and README.md against the
// declarations.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from './blocks.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const skip = spawnSync('tsc', ['--version']).error ? 'there is no tsc (Debian: node-typescript)' : false;
const exported = Object.values(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports);
const directories = ['client', 'machine', 'rules', 'transports', 'wire'];

/** The declarations that are beside a module, without their endings. */
const declared = ['.', ...directories].flatMap((directory) => readdirSync(join(root, directory))
  .filter((name) => name.endsWith('.d.ts')).map((name) => join(directory, name.slice(0, -'.d.ts'.length))))
  .filter((stem) => existsSync(join(root, `${stem}.js`)));

/** Runs tsc on a copy of the sources. `change(directory, config)` changes what it checks. */
function check(change) {
  const directory = mkdtempSync(join(tmpdir(), 'nest-types-'));
  try {
    for (const name of readdirSync(root)) {
      const isSource = directories.includes(name) || /\.(js|ts|json)$/.test(name);
      if (isSource) cpSync(join(root, name), join(directory, name), { recursive: true });
    }
    const config = JSON.parse(readFileSync(join(directory, 'tsconfig.json'), 'utf8'));
    change(directory, config);
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
    const { status, stdout } = spawnSync('tsc', ['--project', directory], { cwd: directory, encoding: 'utf8' });
    assert.ok(status === 0, stdout.split('\n').slice(0, 40).join('\n'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('every exported module has a declaration', () => {
  for (const { types } of exported) assert.ok(existsSync(join(root, types)), types);
});

test('the modules have no mistake of types', { skip }, () => check((directory) => {
  // Beside its declaration a module would not be looked into.
  for (const stem of declared) rmSync(join(directory, `${stem}.d.ts`));
}));

test('what the declarations promise is there', { skip }, () => check((directory, config) => {
  const lines = declared.map((stem, index) => {
    cpSync(join(directory, `${stem}.js`), join(directory, `${stem}.actual.js`));
    return `import * as actual${index} from './${stem}.actual';
import * as declared${index} from './${stem}';
export const check${index}: typeof declared${index} = actual${index};`;
  });
  writeFileSync(join(directory, 'conform.ts'), lines.join('\n'));
  config.files = ['conform.ts', 'node-modules.d.ts'];
  config.include = [];
}));

test('the programs of README.md fit the declarations', { skip }, () => check((directory, config) => {
  const page = readFileSync(join(root, 'README.md'), 'utf8');
  writeFileSync(join(directory, 'README.js'), program(page, 'js'));
  writeFileSync(join(directory, 'react.d.ts'), "declare module 'react';\n");
  // A program in JavaScript does not say what may be null.
  config.compilerOptions.strict = false;
  config.compilerOptions.baseUrl = '.';
  config.compilerOptions.paths = { 'nest-client/node': ['./node'], 'nest-client/rules': ['./rules/index'] };
  config.files = ['README.js', 'react.d.ts', 'node-modules.d.ts'];
  config.include = [];
}));
