// A server and its command line for tests: NEST_BUILD, or the debug build of this copy.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The top of the repository. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url));
const directory = process.env.NEST_BUILD ?? join(root, '.build/debug');
const nestd = join(directory, 'nestd');
const nestc = join(directory, 'nestc');

/** Why tests with a server are skipped; false if they are not. */
export const missing = [nestd, nestc].every(existsSync) ? false : `there is no nestd in ${directory}: make build-tests`;

/** The model of the random tests: properties have names that are traps in JavaScript. */
export const trapModel = fileURLToPath(new URL('model.json', import.meta.url));

/** A failed nestc: `code` is that of the error, as `nestc --json` prints it. */
export class CommandError extends Error {}

/** A server in a directory of its own, which `close` removes. */
export class Server {
  /** Starts a server; `options` are its arguments beside port and store. */
  static async start(...options) {
    const server = new Server(options);
    await server.start();
    return server;
  }

  constructor(options) {
    this.options = options;
    this.directory = mkdtempSync(join(tmpdir(), 'nest-js-'));
    this.port = 0;
    /** The port of `--web`, when it is among the options; it is the same after a restart, as `port` is. */
    this.webPort = 0;
    this.process = null;
    this.log = '';
    this.starts = 0;
  }

  get address() {
    return `127.0.0.1:${this.port}`;
  }

  get web() {
    return `127.0.0.1:${this.webPort}`;
  }

  /** Starts the server, again on the ports that it had. Resolves when it listens. */
  async start() {
    const options = this.options.map((each) => (each === 'WEB' ? `127.0.0.1:${this.webPort}` : each));
    const child = spawn(nestd,
      ['--port', String(this.port), '--store', join(this.directory, 'store.sqlite'), ...options],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH, HOME: this.directory } });
    this.process = child;
    // A test that fails in an unexpected way leaves no server behind.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('close', () => process.off('exit', kill));
    this.starts += 1;
    this.ended = new Promise((resolve) => child.once('close', resolve));
    child.stderr.on('data', (bytes) => { this.log = (this.log + bytes).slice(-20_000); });
    const lines = createInterface({ input: child.stdout });
    const wantsWeb = options.includes('--web');
    await new Promise((resolve, reject) => {
      this.ended.then((status) => reject(new Error(`nestd ended with ${status}: ${this.log}`)));
      let ports = wantsWeb ? 2 : 1;
      lines.on('line', (line) => {
        const web = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line);
        const tcp = /listens on 127\.0\.0\.1:(\d+)/.exec(line);
        if (web && wantsWeb) this.webPort = Number(web[1]);
        else if (tcp) this.port = Number(tcp[1]);
        else return;
        if (--ports === 0) resolve();
      });
    });
  }

  /** Ends it as a power cut does. */
  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  /** Another model, from the next start on. */
  changeModel(model) {
    const file = join(this.directory, 'model.json');
    writeFileSync(file, JSON.stringify(model));
    this.options[this.options.indexOf('--model') + 1] = file;
  }

  async restart() {
    await this.kill();
    await this.start();
  }

  /** Runs nestc with arguments and standard input; returns its standard output. Throws CommandError if it fails. */
  nestc(options, input = '', environment = {}) {
    return new Promise((resolve, reject) => {
      const child = execFile(nestc, options, {
        maxBuffer: 1 << 28,
        env: {
          PATH: process.env.PATH, HOME: this.directory, TZ: 'UTC', NO_COLOR: '1', NEST_SERVER: this.address,
          XDG_STATE_HOME: join(this.directory, 'state'), XDG_CONFIG_HOME: join(this.directory, 'config'),
          ...environment,
        },
      }, (error, output, words) => {
        if (!error) return resolve(output);
        const fault = new CommandError(`nestc ${options.join(' ')}: ${words || error.message}`);
        try { fault.code = JSON.parse(words.trim().split('\n').at(-1)).error.code; } catch { fault.code = null; }
        reject(fault);
      });
      child.stdin.on('error', () => {});
      child.stdin.end(input);
    });
  }

  /** As `nestc`, with --json: the objects that it prints, one a line. */
  async json(options, input = '') {
    const output = await this.nestc([...options, '--json'], input);
    return output.split('\n').filter(Boolean).map(exactJSON);
  }

  async close() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Parses a line of nestc; integers beyond 2^53 are BigInt. */
export function exactJSON(line) {
  // Outside of strings a number follows a colon, a comma or a bracket; inside, each quotation mark has a backslash.
  const marked = line.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g,
    (part) => (part[0] === '"' ? part : `"\u0000${part}"`));
  return JSON.parse(marked.replaceAll('\u0000', '\\u0000'), (_, value) => {
    if (typeof value !== 'string' || value[0] !== '\u0000') return value;
    const exact = BigInt(value.slice(1));
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
  });
}

/** Waits until a condition is true, with pauses; it fails after a minute with what `explain` says. */
export async function until(condition, explain = () => String(condition)) {
  for (let turn = 0; turn < 3000; turn += 1) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`never true: ${await explain()}`);
}
