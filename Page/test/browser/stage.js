// A server, a browser and people with pages, for the tests of the page. Each person has storage of their own, and the
// pages of those who live behind the proxy reach the server through one that breaks their connections.

import { randomInt } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Chromium, program } from '../../../Clients/js/test/browser/chromium.js';
import { Server, missing, root } from '../../../Clients/js/test/live/nestd.js';
import { ChaosProxy } from '../../../Clients/js/test/live/proxy.js';
import { DelayProxy } from './delay.js';
import { listScript } from './list.js';
import { refusals } from './refused.js';

export { root, until } from '../../../Clients/js/test/live/nestd.js';
export { Random } from '../../../Clients/js/test/live/random.js';

/** Why tests of the page are skipped; false if they are not. */
export const skip = missing || (program === null && 'chromium is missing');

/** The seed of a run: NEST_SEED repeats one. */
export const seed = Number(process.env.NEST_SEED ?? randomInt(1, 1_000_000));

/** What a page runs before its own code: who uses it, and a trap for code that must not run. */
const asPerson = (name, token) => `
  window.isHacked = false;
  window.trap = () => { window.isHacked = true; };
  if (location.protocol.startsWith('http') && !localStorage.getItem('stage')) {
    localStorage.setItem('stage', 'set');
    ${name ? `localStorage.setItem('nest-user', ${JSON.stringify(name)});` : ''}
    ${token ? `localStorage.setItem('nest-token', ${JSON.stringify(token)});` : ''}
  }`;

/** A port of this machine on which nothing listens. */
const CLOSED_PORT = 1;

/**
 * Faults that a bad network explains: a browser reports each attempt to reach a server that does not answer, and a
 * module whose response ends within its headers.
 */
const OF_THE_NETWORK = [
  /^WebSocket connection to /,
  /net::ERR_(CONNECTION|CONTENT_LENGTH|EMPTY|INTERNET|NETWORK|SOCKET|INCOMPLETE)/,
  /^Failed to load module script: .* a MIME type of ""\./,
];

export class Stage {
  /**
   * `options`: arguments of nestd beside those of its ports. `random`: for a proxy that breaks connections; `isFar`:
   * there is one that delays what it forwards, as `proxy.delay` says. Without both there is none.
   */
  static async start({ options = [], random = null, isFar = false } = {}) {
    const stage = new Stage();
    try {
      stage.server = await Server.start('--web', 'WEB', ...stage.#files(), ...options);
      if (random) stage.proxy = await ChaosProxy.start(() => stage.isBlocked ? CLOSED_PORT : stage.server.webPort, random);
      if (isFar) stage.proxy = await DelayProxy.start(() => stage.server.webPort);
      stage.browser = await Chromium.start();
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  pages = [];
  isBlocked = false;

  /** With NEST_PAGE_FILES nestd serves the files of this copy, instead of those that it was built with. */
  #files() {
    if (!process.env.NEST_PAGE_FILES) return [];
    this.directory = mkdtempSync(join(tmpdir(), 'nest-page-'));
    cpSync(join(root, 'Page'), join(this.directory, 'page'), { recursive: true });
    cpSync(join(root, 'Clients/js'), join(this.directory, 'client'), { recursive: true });
    return ['--web-root', this.directory, '--web-page'];
  }

  /** Takes the server away from who reaches it through the proxy. */
  block() {
    this.isBlocked = true;
    this.proxy.breakAll();
  }

  unblock() {
    this.isBlocked = false;
  }

  /** Opens a page as a person, and waits until it is connected, or asks for a token. `isProxied`: through the proxy. */
  async open(path = '/outline', { name, token, isProxied = false, isReady = true, script = '', ...options } = {}) {
    const page = await this.browser.open('about:blank',
      { apart: true, script: `${asPerson(name, token)}\n${listScript}\n${script}`, ...options });
    page.host = isProxied ? `127.0.0.1:${this.proxy.port}` : this.server.web;
    page.name = name ?? 'somebody';
    page.refused = refusals(page);
    this.pages.push(page);
    await this.go(page, path, { isReady });
    return page;
  }

  /** Goes to another address, as somebody does who types it. */
  async go(page, path, { isReady = true } = {}) {
    await page.go(`http://${page.host}${path}`);
    if (isReady) await page.until(isDrawn);
  }

  /** Goes to an address of another page as a link does, without loading anew. */
  async follow(page, path) {
    await page.evaluate((address) => {
      const link = document.createElement('a');
      link.href = address;
      document.body.append(link);
      link.click();
      link.remove();
    }, path);
    await page.until(isDrawn);
  }

  /** What a page reported as wrong, without what a bad network explains. */
  faults(page) {
    return page.faults.filter((fault) => !OF_THE_NETWORK.some((each) => each.test(fault)));
  }

  /** What every test of the page ends with: no error, no script of data, nothing from elsewhere. */
  async check(assert, pages = this.pages) {
    for (const page of pages) {
      assert.deepEqual(this.faults(page), [], `${page.name}'s page`);
      assert.equal(await page.evaluate(() => window.isHacked), false, `data ran as code in ${page.name}'s page`);
      const foreign = page.requests.filter((url) => !url.startsWith(`http://${page.host}/`)
        && !url.startsWith(`ws://${page.host}/`) && !/^(about:|data:|blob:)/.test(url));
      assert.deepEqual(foreign, [], `${page.name}'s page asked somebody else`);
    }
  }

  /** Keeps a picture of a page in the directory NEST_PICTURES, if that is set. */
  async picture(page, name) {
    if (!process.env.NEST_PICTURES) return;
    mkdirSync(process.env.NEST_PICTURES, { recursive: true });
    writeFileSync(join(process.env.NEST_PICTURES, `${name}.png`), await page.screenshot());
  }

  async close() {
    await this.browser?.close();
    await this.proxy?.close();
    await this.server?.close();
    if (this.directory) rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Whether a page has its connection, and shows more than that it loads. */
export const isDrawn = () => document.querySelector('#link')?.dataset.state === 'ready'
  && document.querySelector('#main h1, #main .empty:not([role=status])') !== null;

/** Waits until a page is connected. */
export const live = (page) => page.until(() => document.querySelector('#link').dataset.state === 'ready');
