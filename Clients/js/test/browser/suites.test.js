// The suites of the vectors in Chromium: what is decoded in Node must be decoded in a page, too.

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../live/nestd.js';
import { Chromium, program } from './chromium.js';
import { serveFiles } from './files.js';

const list = (directory) => (existsSync(join(root, directory)) ? readdirSync(join(root, directory)) : []);
const paths = ['wire', 'rules', 'overlay'].flatMap((part) => list(`Clients/js/test/${part}`)
  .filter((file) => file.endsWith('.js') && !file.endsWith('.test.js'))
  .map((file) => `/Clients/js/test/${part}/${file}`));
const names = list('Tests/Vectors').filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -5));

test('the vectors in Chromium', { skip: program === null && 'chromium is missing' }, async (context) => {
  const files = await serveFiles({ '/empty.html': '<!doctype html><title>vectors</title>' });
  const browser = await Chromium.start();
  try {
    const page = await browser.open(`${files.url}/empty.html`);
    const report = await page.evaluate(async (...given) => {
      const { runSuites } = await import('/Clients/js/test/browser/suites.js');
      return runSuites(...given);
    }, paths, names);
    for (const [path, { passed, failures }] of Object.entries(report)) {
      assert.deepEqual(failures, [], path);
      assert.ok(passed > 0, `${path} has no tests`);
    }
    const suites = Object.keys(report).map((path) => path.split('/').slice(-2).join('/'));
    for (const part of ['wire', 'rules', 'overlay']) {
      assert.ok(suites.some((suite) => suite.startsWith(part)), `${part} is not among ${suites}`);
    }
    assert.deepEqual(page.faults, []);
    const count = Object.values(report).reduce((sum, { passed }) => sum + passed, 0);
    context.diagnostic(`${browser.version}: ${count} tests of ${suites.join(', ')}`);
  } finally {
    await browser.close();
    files.close();
  }
});
