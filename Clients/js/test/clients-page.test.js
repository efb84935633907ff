// Runs what docs/clients.md shows of JavaScript: the quick starts in Node and in a page, and the program that must
// print the same lines as in the other languages.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { block } from './blocks.js';
import { missing, root } from './live/nestd.js';
import { Directory, openPage, Program, run, withServer } from './programs.js';

const page = readFileSync(join(root, 'docs/clients.md'), 'utf8');
const hasNpm = spawnSync('npm', ['--version']).status === 0;
const quiet = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_update_notifier: 'false' };

test('the program prints what the page shows', { skip: missing }, () => withServer([], async (server) => {
  const source = block(page, 'js', { first: '// groceries.mjs\n' }).replace('127.0.0.1:7000', server.address);
  const lines = await run('groceries.mjs', { 'groceries.mjs': source });
  assert.deepEqual(lines, block(page, 'text').trimEnd().split('\n'));
}));

test('the quick start in Node shows a live list', { skip: missing }, (context) => withServer([], async (server) => {
  const source = block(page, 'js', { first: '// live.mjs\n' }).replace('127.0.0.1:7000', server.address);
  const directory = new Directory({ 'groceries/live.mjs': source });
  directory.link('nest', root);
  let commands = block(page, 'sh', { after: '### JavaScript in Node' });
  assert.match(commands, /^npm install /m);
  if (!hasNpm) {
    context.diagnostic('skipped: npm install, because npm is missing (Debian: npm)');
    commands = commands.replace(/^npm .*$/m, '');
    directory.install('groceries');
  }
  // Output of npm is not that of the program.
  const program = new Program('bash', ['-ec', commands.replace(/^npm .*$/m, '$& >&2')],
    { cwd: directory.path, env: quiet });
  try {
    await program.shows('list:');
    await server.nestc(['add', 'Milk', 'Bread']);
    await program.shows('list: Milk Bread');
  } finally {
    await program.stop();
    directory.remove();
  }
}));

test('the quick start in a page shows a live list', { skip: missing }, async () => {
  const html = block(page, 'html');
  const source = block(page, 'js', { first: '// live.js\n' });
  const directory = new Directory({ 'site/live.html': html, 'site/live.js': source });
  const options = ['--web', 'WEB', '--web-root', join(directory.path, 'site'), '--web-page'];
  const command = block(page, 'sh', { after: '### JavaScript in a page' });
  assert.ok(command.includes('--web 127.0.0.1:7080 --web-root site --web-page'), command);
  await withServer(options, async (server) => {
    for (const [path, text] of [['live.html', html], ['live.js', source]]) {
      assert.equal(await (await fetch(`http://${server.web}/${path}`)).text(), text);
    }
    assert.equal((await fetch(`http://${server.web}/client/index.js`)).status, 200);
    const program = openPage(directory, server, html, source, '/client/index.js');
    try {
      await program.shows('list: list: ');
      await server.nestc(['add', 'Milk', 'Bread']);
      await program.shows('list: list: Milk Bread');
    } finally {
      await program.stop();
    }
  });
  directory.remove();
});
