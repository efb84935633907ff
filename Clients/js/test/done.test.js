// The page of Examples/done, from a server that runs as its README says.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { block } from './blocks.js';
import { missing, root } from './live/nestd.js';
import { Directory, openPage, withServer } from './programs.js';

const read = (name) => readFileSync(join(root, 'Examples/done', name), 'utf8');

/** The options of the command of README.md, with the paths and the ports of a test. */
function options() {
  const [program, ...words] = block(read('README.md'), 'sh', { after: '## The same as a page' }).trim().split(' ');
  assert.equal(program, 'nestd');
  const found = [];
  for (let [option, value] = words.splice(0, 2); option; [option, value] = words.splice(0, 2)) {
    if (option === '--web-page') words.unshift(value);
    if (option === '--web-page') found.push(option);
    else if (option === '--web') found.push(option, 'WEB');
    else if (option === '--web-root' || option === '--model') found.push(option, join(root, value));
  }
  return found;
}

test('the page adds, ticks off, undoes and shows refusals', { skip: missing }, () => withServer(options(), async (server) => {
  for (const [path, name] of [['', 'index.html'], ['done.js', 'done.js']]) {
    assert.equal(await (await fetch(`http://${server.web}/${path}`)).text(), read(name));
  }
  const directory = new Directory();
  const page = openPage(directory, server, read('index.html'), read('done.js'), '/client/index.js');
  const send = (event) => page.send(JSON.stringify(event));
  try {
    await server.nestc(['insert', 'ToDo', 'name=Buy milk']);
    await page.shows('list: [ ] Buy milk');
    send({ on: '#add', event: 'submit' });
    send({ on: '#name', value: 'Call Ann' });
    await page.shows('fault: ToDo.name is required');
    send({ on: '#add', event: 'submit' });
    await page.shows('list: [ ] Buy milk [ ] Call Ann');
    await server.nestc(['set', '1', 'done=yes']);
    await page.shows('list: [x] Buy milk [ ] Call Ann');
    send({ on: '#list', child: 1, event: 'change', checked: true });
    await page.shows('list: [x] Buy milk [x] Call Ann');
    send({ on: '#undo', event: 'click' });
    await page.shows('list: [x] Buy milk [ ] Call Ann');
  } finally {
    await page.stop();
    directory.remove();
  }
}));
