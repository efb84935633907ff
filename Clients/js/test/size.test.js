// The size of the library as a page loads it: what index.js imports, and what following a list, writing and undoing
// load later. Comments do not count, because a server can leave them out.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));
const limit = 40_000;
const isThere = existsSync(join(root, 'index.js'));

/**
 * Modules that a program loads only with what it uses of them: transfers and operations, change feeds and undo states,
 * presence, history and previews, several servers, another model of the server, tokens, Zstandard; of a cache what
 * outlines and undo states use. What another `import()` names counts, also if it is late.
 */
const rare = new Set(['client/cache.js', 'client/cached-outlines.js', 'client/cached-undo.js',
  'client/operations.js', 'client/transfers.js', 'client/feeds.js', 'client/more.js',
  'client/optimistic.js', 'client/outlines.js', 'client/presence.js', 'client/token.js', 'client/totals.js', 'client/undo.js', 'client/unpack.js',
  'machine/cluster.js', 'machine/greeting.js', 'wire/messages-more.js']);

/** The text of a module without its comments. Texts, templates and regular expressions stay as they are. */
export function withoutComments(source) {
  const pieces = [];
  let from = 0;
  let at = 0;
  // Whether a slash begins a regular expression: not after a value.
  let isValue = false;
  const braces = [];
  const skipTo = (end) => {
    pieces.push(source.slice(from, at));
    from = end;
    at = end;
  };
  const pass = (pattern) => {
    pattern.lastIndex = at;
    at = pattern.exec(source) ? pattern.lastIndex : source.length;
  };
  const template = () => {
    for (at += 1; at < source.length; at += 1) {
      if (source[at] === '\\') at += 1;
      else if (source[at] === '`') {
        at += 1;
        return;
      } else if (source.startsWith('${', at)) {
        at += 2;
        braces.push('`');
        return;
      }
    }
  };
  while (at < source.length) {
    const next = source[at];
    if (source.startsWith('//', at)) skipTo((source.indexOf('\n', at) + source.length + 1) % (source.length + 1));
    else if (source.startsWith('/*', at)) skipTo(source.indexOf('*/', at) + 2);
    else if (next === '\'' || next === '"') {
      pass(/(['"])(?:\\[^]|(?!\1)[^\\])*\1/gy);
      isValue = true;
    } else if (next === '`') {
      template();
      isValue = braces.at(-1) !== '`';
    } else if (next === '}' && braces.at(-1) === '`') {
      braces.pop();
      template();
      isValue = braces.at(-1) !== '`';
    } else if (next === '/' && !isValue) {
      pass(/\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/gy);
      isValue = true;
    } else if (/[\w$#]/.test(next)) {
      const start = at;
      pass(/[\w$#]+/gy);
      isValue = !/^(return|typeof|case|in|of|else|throw|void|delete|await|yield)$/.test(source.slice(start, at));
    } else {
      if (next === '{') braces.push('{');
      if (next === '}') braces.pop();
      if (!/\s/.test(next)) isValue = next === ')' || next === ']' || next === '}';
      at += 1;
    }
  }
  pieces.push(source.slice(from));
  return pieces.join('').replace(/^[ \t]+\n|^\n|[ \t]+$/gm, '');
}

/** What a module imports: at once, and by import(). */
function imports(stripped) {
  const names = (pattern) => Array.from(stripped.matchAll(pattern), (match) => match[1]);
  return {
    now: names(/(?:^|\n)\s*(?:import|(?:import|export)\b[^'"();]*?\bfrom)\s*['"](\.[^'"]+)['"]/g),
    later: names(/\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g),
  };
}

/** The modules that count, and those that are rare, each with its text without comments. */
function closure(entry) {
  const loaded = new Map();
  const late = new Set();
  const waiting = [entry];
  while (waiting.length) {
    const name = waiting.pop();
    if (loaded.has(name)) continue;
    const text = withoutComments(readFileSync(join(root, name), 'utf8'));
    loaded.set(name, text);
    const path = (target) => relative(root, join(root, dirname(name), target));
    const { now, later } = imports(text);
    waiting.push(...now.map(path));
    for (const target of later.map(path)) {
      if (rare.has(target)) late.add(target);
      else waiting.push(target);
    }
  }
  return { loaded, late };
}

/** Together, in the order of their paths. */
const bytes = (modules) => gzipSync([...modules].sort().map(([, text]) => text).join(''), { level: 9 }).length;

test('a page loads at most 40,000 bytes of the library, gzipped', { skip: !isThere }, (t) => {
  const { loaded, late } = closure('index.js');
  const all = new Map(loaded);
  for (const entry of late) if (entry !== 'client/cache.js') for (const [name, text] of closure(entry).loaded) all.set(name, text);
  const size = bytes(loaded);
  t.diagnostic(`${loaded.size} modules for a page: ${size} bytes gzipped of ${limit}`);
  t.diagnostic(`${all.size} modules with operations and transfers: ${bytes(all)} bytes gzipped`);
  const shown = new Map([...closure('optimistic.js').loaded].filter(([name]) => !loaded.has(name)));
  t.diagnostic(`${shown.size} modules more for optimistic writes: ${bytes(shown)} bytes gzipped`);
  const valued = new Map([...closure('values.js').loaded].filter(([name]) => !loaded.has(name)));
  t.diagnostic(`${valued.size} modules more for large values: ${bytes(valued)} bytes gzipped`);
  const cached = new Map([...closure('cache.js').loaded].filter(([name]) => !loaded.has(name)));
  t.diagnostic(`${cached.size} modules more for a cache: ${bytes(cached)} bytes gzipped`);
  assert.ok(size <= limit, `${size} bytes are more than ${limit}: ${[...loaded.keys()].sort().join(' ')}`);
});

test('what is measured is the library: without comments it still loads', async () => {
  const entry = ['index.js', 'rules/index.js'].find((name) => existsSync(join(root, name)));
  const directory = mkdtempSync(join(tmpdir(), 'nest-size-'));
  try {
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    for (const [name, text] of closure(entry).loaded) {
      mkdirSync(join(directory, dirname(name)), { recursive: true });
      writeFileSync(join(directory, name), text);
    }
    const load = (path) => import(pathToFileURL(join(path, entry)).href);
    const [stripped, original] = [await load(directory), await load(root)];
    assert.deepEqual(Object.keys(stripped), Object.keys(original));
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('comments are removed, and nothing that only looks like one', () => {
  const kept = 'a = "// no"; b = /\\/\\*[/*]/g; c = `/* ${ d / 2 /* gone */ } // no`; e = f / 2 / g;';
  assert.equal(withoutComments(`// gone\n${kept} // gone\n`), `${kept.replace('/* gone */', '')}\n`);
});
