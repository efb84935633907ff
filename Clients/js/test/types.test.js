// Types: every module is checked by its JSDoc, and each declaration (.d.ts) of a public module by its implementation.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from './blocks.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const skip = spawnSync('tsc', ['--version']).error ? 'there is no tsc (Debian: node-typescript)' : false;
const exported = Object.values(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports);
const modules = exported.map((entry) => entry.default).filter((name) => existsSync(join(root, name)));

/** Runs tsc; fails with what it prints. */
function check(directory) {
  const { status, stdout } = spawnSync('tsc', ['--project', directory], { cwd: directory, encoding: 'utf8' });
  assert.ok(status === 0, stdout.split('\n').slice(0, 40).join('\n'));
}

/** The sources and their configuration in a directory of their own. */
function copied(body) {
  const directory = mkdtempSync(join(tmpdir(), 'nest-types-'));
  try {
    for (const name of ['client', 'machine', 'rules', 'transports', 'wire', 'tsconfig.json', 'node-modules.d.ts',
      ...modules]) {
      if (existsSync(join(root, name))) cpSync(join(root, name), join(directory, name), { recursive: true });
    }
    body(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('every exported module has a declaration', () => {
  for (const { types } of exported) {
    if (modules.includes(types.replace('.d.ts', '.js'))) assert.ok(existsSync(join(root, types)), types);
  }
});

test('the modules have no mistake of types', { skip }, () => copied((directory) => {
  // Beside its declaration a module would not be looked into.
  for (const { types } of exported) rmSync(join(directory, types), { force: true });
  const config = JSON.parse(readFileSync(join(directory, 'tsconfig.json'), 'utf8'));
  config.files = config.files.filter((name) => existsSync(join(directory, name)));
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
  check(directory);
}));

test('what the declarations promise is there', { skip }, () => copied((directory) => {
  const imports = [];
  for (const name of modules) {
    const stem = name.replace(/\.js$/, '');
    if (!existsSync(join(root, `${stem}.d.ts`))) continue;
    cpSync(join(root, `${stem}.d.ts`), join(directory, `${stem}.d.ts`));
    renameSync(join(directory, `${stem}.d.ts`), join(directory, `${stem}.declared.d.ts`));
    const index = imports.length;
    imports.push(`import * as actual${index} from '${stem}';
import * as declared${index} from '${stem}.declared';
export const check${index}: typeof declared${index} = actual${index};`);
  }
  writeFileSync(join(directory, 'conform.ts'), imports.join('\n'));
  const { compilerOptions } = JSON.parse(readFileSync(join(directory, 'tsconfig.json'), 'utf8'));
  const files = ['conform.ts', 'node-modules.d.ts'];
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  check(directory);
}));

test('the programs of README.md fit the declarations', { skip }, () => copied((directory) => {
  for (const { types } of exported) {
    if (existsSync(join(root, types))) cpSync(join(root, types), join(directory, types));
  }
  const page = readFileSync(join(root, 'README.md'), 'utf8');
  writeFileSync(join(directory, 'README.js'), program(page, 'js'));
  writeFileSync(join(directory, 'react.d.ts'), "declare module 'react';\n");
  const { compilerOptions } = JSON.parse(readFileSync(join(directory, 'tsconfig.json'), 'utf8'));
  compilerOptions.baseUrl = '.';
  compilerOptions.paths = { 'nest-client/node': ['./node'], 'nest-client/rules': ['./rules/index'] };
  const files = ['README.js', 'react.d.ts', 'node-modules.d.ts'];
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  check(directory);
}));
