// A driver for Firefox on Node's standard library: WebDriver BiDi, JSON messages over a WebSocket that the browser offers.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { RawSocket, frame, handshake, opcodes } from '../../../Clients/js/test/live/rawsocket.js';

/** The program to start: NEST_FIREFOX, or the first of Debian's names that is there; null if there is none. */
export const firefox = process.env.NEST_FIREFOX ?? ['firefox-esr', 'firefox'].find(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) ?? null;

/** Keys of WebDriver that are not characters. */
const KEYS = { Enter: '\uE007', Tab: '\uE004', Escape: '\uE00C', Backspace: '\uE003', ArrowUp: '\uE013', ArrowDown: '\uE015',
  Home: '\uE011', End: '\uE010', Shift: '\uE008', Control: '\uE009', Alt: '\uE00A' };

/** A running Firefox without a window, with one page. */
export class Firefox {
  static async start() {
    const browser = new Firefox();
    try {
      await browser.#connect();
    } catch (error) {
      await browser.close();
      throw error;
    }
    return browser;
  }

  /** Errors that the page printed or threw. */
  faults = [];
  #waiting = new Map();
  #next = 1;

  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), 'nest-firefox-'));
    this.process = spawn(firefox, ['--headless', '--no-remote', '--profile', this.profile, '--remote-debugging-port', '0'],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, HOME: this.profile }, detached: true });
    this.ended = new Promise((resolve) => { this.process.once('close', resolve); });
  }

  async #connect() {
    const lines = createInterface({ input: this.process.stderr });
    const words = [];
    const port = await new Promise((resolve, reject) => {
      this.ended.then(() => reject(new Error(`Firefox ended: ${words.slice(-5).join('\n')}`)));
      lines.on('line', (line) => {
        words.push(line);
        const found = /WebDriver BiDi listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(line);
        if (found) resolve(Number(found[1]));
      });
    });
    this.socket = new RawSocket(port);
    this.socket.write(handshake(`127.0.0.1:${port}`, { 'Sec-WebSocket-Protocol': null }, 'GET /session HTTP/1.1'));
    assert.equal((await this.socket.head({ body: false })).status, 101);
    this.reading = this.#read();
    await this.send('session.new', { capabilities: {} });
    await this.send('session.subscribe', { events: ['log.entryAdded'] });
    const { contexts: [{ context }] } = await this.send('browsingContext.getTree', {});
    this.context = context;
  }

  async #read() {
    for (let parts = []; ;) {
      const got = await this.socket.frame();
      if (got === null || got.opcode === opcodes.close) break;
      if (got.opcode === opcodes.ping) continue;
      parts.push(got.payload);
      if (!got.fin) continue;
      this.#received(JSON.parse(Buffer.concat(parts).toString()));
      parts = [];
    }
    for (const { reject } of this.#waiting.values()) reject(new Error('Firefox has closed the connection'));
  }

  #received({ id, type, result, error, message, method, params }) {
    if (type === 'event') {
      if (method === 'log.entryAdded' && params.level === 'error') this.faults.push(params.text);
      return;
    }
    const call = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (type === 'error') call?.reject(new Error(`${call.method}: ${error}: ${message}`));
    else call?.resolve(result);
  }

  /** Calls a method of WebDriver BiDi, and returns its result. */
  send(method, params) {
    const id = this.#next++;
    this.socket.write(frame(opcodes.text, Buffer.from(JSON.stringify({ id, method, params }))));
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, method }));
  }

  go(url) {
    return this.send('browsingContext.navigate', { context: this.context, url, wait: 'complete' });
  }

  /** Calls a function in the page with arguments that JSON has; returns what JSON keeps of its result. */
  async evaluate(body, ...values) {
    const { type, result, exceptionDetails } = await this.send('script.evaluate', {
      expression: `Promise.resolve((${body})(...${JSON.stringify(values)})).then((value) => JSON.stringify(value) ?? 'null')`,
      target: { context: this.context }, awaitPromise: true,
    });
    if (type === 'exception') throw new Error(exceptionDetails.text);
    return JSON.parse(result.value);
  }

  /** Waits until a function in the page gives something true, and returns that. */
  async until(body, ...values) {
    for (let turn = 0; turn < 3000; turn += 1) {
      const value = await this.evaluate(body, ...values);
      if (value) return value;
      await pause(20);
    }
    throw new Error(`never true in the page: ${body} ${JSON.stringify(values)}\n${this.faults.join('\n')}`);
  }

  /** Presses keys one after the other; those in `held` are down meanwhile. */
  press(keys, held = []) {
    const all = [...held.map((key) => ['keyDown', key]), ...[keys].flat().flatMap((key) => [['keyDown', key], ['keyUp', key]]),
      ...held.map((key) => ['keyUp', key])];
    const actions = all.map(([type, key]) => ({ type, value: KEYS[key] ?? key }));
    return this.send('input.performActions', { context: this.context, actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  /** Clicks the middle of an element, or near its left edge. */
  async click(selector) {
    const { x, y } = await this.evaluate((wanted) => {
      const { left, top, width, height } = document.querySelector(wanted).getBoundingClientRect();
      return { x: Math.round(left + Math.min(12, width / 2)), y: Math.round(top + height / 2) };
    }, selector);
    const actions = [{ type: 'pointerMove', x, y }, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 }];
    return this.send('input.performActions', { context: this.context, actions: [{ type: 'pointer', id: 'mouse', actions }] });
  }

  async close() {
    try { process.kill(-this.process.pid, 'SIGKILL'); } catch { /* It has ended. */ }
    await this.ended;
    await this.socket?.close();
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
