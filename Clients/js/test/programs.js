// Runs the programs of documents and examples as their readers would: in a directory where the client is installed.

import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Server } from './live/nestd.js';

const client = fileURLToPath(new URL('..', import.meta.url));

/** Runs a test with a new server; `options` are those of nestd. */
export async function withServer(options, body) {
  const server = await Server.start(...options);
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

/** A directory with files, which `remove` removes. */
export class Directory {
  constructor(files = {}) {
    this.path = mkdtempSync(join(tmpdir(), 'nest-programs-'));
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  write(name, text) {
    mkdirSync(dirname(join(this.path, name)), { recursive: true });
    writeFileSync(join(this.path, name), text);
  }

  link(name, target) {
    mkdirSync(dirname(join(this.path, name)), { recursive: true });
    symlinkSync(target, join(this.path, name), 'dir');
  }

  /** What `npm install` makes of a directory. */
  install(within = '.') {
    this.link(join(within, 'node_modules/nest-client'), client);
  }

  remove() {
    rmSync(this.path, { recursive: true });
  }
}

/** Runs a module in a directory where `nest-client` is installed; returns the lines that it printed. */
export async function run(name, files) {
  const directory = new Directory(files);
  try {
    directory.install();
    return await new Promise((resolve, reject) => {
      const options = { cwd: directory.path, timeout: 60_000 };
      execFile(process.execPath, [join(directory.path, name)], options, (error, output, words) => {
        if (error) reject(new Error(`${words}\n${output}\n${error.message}`));
        else resolve(output.split('\n').filter(Boolean));
      });
    });
  } finally {
    directory.remove();
  }
}

/** A program that goes on until it is stopped. */
export class Program {
  #waiting = null;
  #seen = 0;

  constructor(command, options, { cwd, env = {} }) {
    /** What it has printed. */
    this.lines = [];
    // A group of its own: what a shell has started ends with it.
    this.process = spawn(command, options, { cwd, env: { ...process.env, ...env }, detached: true });
    this.words = '';
    this.process.stderr.on('data', (bytes) => { this.words += bytes; });
    this.ended = new Promise((resolve) => {
      this.process.once('close', (status) => { this.isOver = true; this.status = status; this.#waiting?.(); resolve(); });
    });
    createInterface({ input: this.process.stdout }).on('line', (line) => {
      this.lines.push(line);
      this.#waiting?.();
    });
  }

  /** Waits until it has printed a line since the last one that was waited for. Only a wrong program takes a minute. */
  async shows(line) {
    const patience = setTimeout(() => process.kill(-this.process.pid, 'SIGKILL'), 60_000);
    const find = () => this.lines.indexOf(line, this.#seen);
    while (find() < 0 && !this.isOver) await new Promise((resolve) => { this.#waiting = resolve; });
    clearTimeout(patience);
    if (find() < 0) throw new Error(`it printed no '${line}': ${JSON.stringify(this.lines)} ${this.words}`);
    this.#seen = find() + 1;
  }

  /** Sends a line to its standard input. */
  send(line) {
    this.process.stdin.write(`${line}\n`);
  }

  async stop() {
    if (!this.isOver) process.kill(-this.process.pid, 'SIGKILL');
    await this.ended;
  }
}

/**
 * As much of a document as the pages need. It has the elements of `IDS`, and prints the content of one after each
 * change. A line of standard input gives an element values and an event:
 * `{ on: '#list', child: 0, event: 'change', checked: true }`.
 * With `child` it is what listens to the event inside of that child.
 */
const documents = `
import { createInterface } from 'node:readline';

class Element {
  children = [];
  listeners = {};
  constructor(kind, id) { Object.assign(this, { kind, id }); }
  get content() {
    const inside = this.children.map((child) => child.content ?? child).join(this.kind === 'list' ? ' ' : '');
    return this.type === 'checkbox' ? (this.checked ? '[x] ' : '[ ] ') : inside;
  }
  set textContent(text) { this.replaceChildren(text); }
  replaceChildren(...children) {
    this.children = children;
    if (this.id && this.content !== this.printed) console.log(this.id + ': ' + this.content);
    this.printed = this.content;
  }
  append(...children) { this.children.push(...children); }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  reset() {}
}
const elements = new Map(IDS.map((id) => ['#' + id, new Element('list', id)]));
globalThis.document = {
  createElement: (kind) => new Element(kind),
  querySelector(name) {
    if (!elements.has(name)) throw new Error('the document has no ' + name);
    return elements.get(name);
  },
};
createInterface({ input: process.stdin }).on('line', (line) => {
  const { on, child, event, ...values } = JSON.parse(line);
  let target = elements.get(on);
  if (child !== undefined) target = target.children[child];
  while (event && !target.listeners[event]) target = target.children[0];
  Object.assign(target, values);
  target.listeners[event]?.({ target, preventDefault() {} });
});
`;

/**
 * Runs the module of a page in Node, with the elements that its HTML has; it connects to the server from which a
 * browser would have the page. `library` is the address of the client there. Returns the program.
 */
export function openPage(directory, server, html, source, library) {
  const ids = Array.from(html.matchAll(/ id="(\w+)"/g), ([, id]) => id);
  directory.install();
  directory.write('document.js', documents.replace('IDS', JSON.stringify(ids)));
  if (!source.includes(`'${library}'`) || !source.includes('connect()')) throw new Error(`no page:\n${source}`);
  const module = source.replace(library, 'nest-client/node')
    .replace('connect()', `connect({ url: 'nest://${server.address}' })`);
  directory.write('page.mjs', `import './document.js';\n${module}`);
  return new Program(process.execPath, ['page.mjs'], { cwd: directory.path });
}
