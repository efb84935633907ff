// Types: every module is checked by its JSDoc, each declaration (.d.ts) against its module, README.md against the
// declarations, and a program in TypeScript with generated types, which also runs.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expected, program } from './blocks.js';
import { Entity } from '../client/requests.js';
import { missing, Server } from './live/nestd.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const skip = spawnSync('tsc', ['--version']).error ? 'there is no tsc (Debian: node-typescript)' : false;
const exported = Object.values(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).exports);
const directories = ['cache', 'client', 'machine', 'overlay', 'rules', 'transports', 'wire'];

const clientPaths = {
  'nest-client': ['./index'], 'nest-client/node': ['./node'], 'nest-client/cache': ['./cache'],
  'nest-client/named': ['./named'],
  'nest-client/optimistic': ['./optimistic'],
  'nest-client/values': ['./values'],
  'nest-client/rules': ['./rules/index'],
};

/** The declarations that are beside a module, without their endings. */
const declared = ['.', ...directories].flatMap((directory) => readdirSync(join(root, directory))
  .filter((name) => name.endsWith('.d.ts')).map((name) => join(directory, name.slice(0, -'.d.ts'.length))))
  .filter((stem) => existsSync(join(root, `${stem}.js`)));

/**
 * Runs tsc on a copy of the sources. `change(directory, config)` changes what it checks; `use(directory)` uses the result.
 */
async function check(change, use) {
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
    await use?.(directory);
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
  config.compilerOptions.paths = clientPaths;
  config.files = ['README.js', 'react.d.ts', 'node-modules.d.ts'];
  config.include = [];
}));

test('the programs in TypeScript of README.md are those of test/types', () => {
  const blocks = readFileSync(join(root, 'README.md'), 'utf8').match(/^```ts\n[^]*?^```$/gm);
  const sources = ['use.ts', 'values.ts'].map((name) => readFileSync(join(root, 'test/types', name), 'utf8'));
  for (const block of blocks) assert.ok(sources.some((source) => source.includes(block.slice(6, -4))), block);
  assert.equal(blocks.length, 2);
});

test('no generated method has the name of a member', () => {
  const source = readFileSync(join(root, '../../Sources/NestDocuments/Models/Types/TypeScriptTypes.swift'), 'utf8');
  const list = /takenMethods: Set<String> = \[([^\]]*)\]/.exec(source)[1];
  const taken = new Set(Array.from(list.matchAll(/"(\w+)"/g), (match) => match[1]));
  const entity = new Entity({}, { relationships: [] });
  for (const name of taken) assert.ok(name === 'then' || name in entity, name);
  for (let one = entity; one; one = Object.getPrototypeOf(one)) {
    for (const name of Object.getOwnPropertyNames(one)) assert.ok(taken.has(name), name);
  }
});

/** Compiles the programs of test/types, and all generated types beside them. */
function checkUse(use) {
  return check((directory, config) => {
    cpSync(join(root, 'test/types'), join(directory, 'types'), { recursive: true });
    Object.assign(config.compilerOptions, {
      baseUrl: '.', paths: clientPaths, allowJs: false, checkJs: false, noEmit: false, outDir: './made',
    });
    config.files = ['types/use.ts', 'types/values.ts', 'types/model.ts', 'types/number-facts.ts', 'node-modules.d.ts'];
    config.include = [];
  }, use);
}

test('a program with generated types fits them, and its mistakes are found', { skip }, () => checkUse());

test('programs with generated types run', { skip: skip || missing }, () => checkUse(async (directory) => {
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(root, join(directory, 'node_modules', 'nest-client'), 'dir');
  const all = readdirSync(join(directory, 'made'), { recursive: true });
  for (const [name, model] of [['use', 'Examples/phone-book/model.json'], ['values', 'Tests/Fixtures/Types/model.json']]) {
    const server = await Server.start('--model', join(root, '../..', model));
    try {
      const made = all.find((path) => basename(path) === `${name}.js`);
      const source = readFileSync(join(directory, 'made', made), 'utf8');
      writeFileSync(join(directory, `${name}.mjs`), source.replaceAll('127.0.0.1:7000', server.address));
      const output = execFileSync(process.execPath, [join(directory, `${name}.mjs`)], { encoding: 'utf8', timeout: 60_000 });
      assert.deepEqual(output.split('\n').filter(Boolean), expected(source));
    } finally {
      await server.close();
    }
  }
}));
