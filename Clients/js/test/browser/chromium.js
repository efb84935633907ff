// A driver for Chromium on Node's standard library: `--remote-debugging-pipe` carries JSON messages that end with a NUL
// byte, to the browser on descriptor 3 and from it on descriptor 4.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** The program to start: NEST_CHROMIUM, or the first of Debian's names that is there; null if there is none. */
export const program = process.env.NEST_CHROMIUM ?? ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) ?? null;

const arguments_ = (profile) => [
  '--headless=new', '--remote-debugging-pipe', `--user-data-dir=${profile}`, '--no-first-run', '--disable-gpu',
  '--disable-background-networking', '--disable-component-update', '--disable-default-apps', '--disable-sync',
  '--disable-extensions', '--disable-dev-shm-usage', '--mute-audio', '--hide-scrollbars', '--force-color-profile=srgb',
  // A container has no user namespaces for the sandbox, and Chromium refuses to have one as root.
  ...(process.getuid() === 0 ? ['--no-sandbox'] : []), 'about:blank',
];

/** A running browser without a window. Close it in the end: it is a process. */
export class Chromium {
  /** Starts a browser with an empty profile. Throws if it ends before it answers. */
  static async start() {
    const browser = new Chromium();
    await browser.send('Browser.getVersion').then((version) => { browser.version = version.product; });
    return browser;
  }

  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), 'nest-chromium-'));
    // A group of its own: its helpers end with it.
    this.process = spawn(program, arguments_(this.profile), {
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'], detached: true,
    });
    this.waiting = new Map();
    this.pages = new Map();
    this.next = 1;
    this.words = '';
    this.ended = once(this.process, 'exit').then(() => this.#end(), (error) => this.#end(error));
    this.process.stderr.on('data', (bytes) => { this.words = (this.words + bytes).slice(-2000); });
    this.process.stdio[3].on('error', () => {});
    let parts = [];
    this.process.stdio[4].on('data', (bytes) => {
      for (let end; (end = bytes.indexOf(0)) >= 0; bytes = bytes.subarray(end + 1)) {
        const text = Buffer.concat([...parts, bytes.subarray(0, end)]).toString();
        parts = [];
        this.#received(JSON.parse(text));
      }
      if (bytes.length > 0) parts.push(bytes);
    });
  }

  /** Calls a method of the DevTools protocol, and returns its result. */
  send(method, params = {}, sessionId = undefined) {
    if (this.over) return Promise.reject(new Error(`the browser has ended: ${this.words}`));
    const id = this.next++;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
  }

  #received(message) {
    const call = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (message.error) call?.reject(new Error(`${call.method}: ${message.error.message}`));
    else if (call) call.resolve(message.result);
    else this.pages.get(message.sessionId)?.noticed(message.method, message.params);
  }

  #end(error) {
    this.over = true;
    for (const { reject } of this.waiting.values()) reject(error ?? new Error(`the browser has ended: ${this.words}`));
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  /**
   * Opens a page of the given size, and waits until it has loaded. `apart`: it shares no storage and no cookies with
   * other pages, as that of another person. `script`: code that each document of the page runs before its own.
   */
  async open(url, { width = 1000, height = 760, mobile = false, scheme = 'light', apart = false, script } = {}) {
    const { browserContextId } = apart ? await this.send('Target.createBrowserContext', { disposeOnDetach: true }) : {};
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    page.context = browserContextId;
    this.pages.set(sessionId, page);
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.send(`${domain}.enable`);
    // Every page believes that it is seen and has the focus: lists of hidden pages pause, and keys go to one page only.
    await page.send('Emulation.setFocusEmulationEnabled', { enabled: true });
    await page.resize(width, height, mobile);
    await page.prefer({ 'prefers-color-scheme': scheme });
    if (script) await page.send('Page.addScriptToEvaluateOnNewDocument', { source: script });
    await page.go(url);
    return page;
  }

  /** Ends the browser and its helpers, and removes the profile. */
  async close() {
    this.send('Browser.close').catch(() => {});
    const kill = setTimeout(() => { try { process.kill(-this.process.pid, 'SIGKILL'); } catch {} }, 3000);
    await this.ended;
    clearTimeout(kill);
  }
}

const KEY_CODES = {
  Enter: 13, Escape: 27, Tab: 9, Backspace: 8, End: 35, Home: 36, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39,
  ArrowDown: 40, Delete: 46, PageUp: 33, PageDown: 34, F2: 113, F6: 117, ' ': 32, '/': 191, '?': 191,
};

/** One page (a tab). */
export class Page {
  constructor(browser, target, session) {
    Object.assign(this, { browser, target, session });
    /** What the page printed on its console. */
    this.lines = [];
    /** Errors: on the console, thrown and not caught, of the network, and of the content security policy. */
    this.faults = [];
    /** Addresses that the page asked for, WebSockets too. */
    this.requests = [];
    /** What else wants events of the DevTools protocol: functions of their parameters, by name. */
    this.listeners = new Map();
    this.loads = [];
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  /** Calls a function with the parameters of each event of this name. */
  on(method, listener) {
    this.listeners.set(method, [...(this.listeners.get(method) ?? []), listener]);
  }

  noticed(method, params) {
    for (const listener of this.listeners.get(method) ?? []) listener(params);
    const text = (values) => values.map((each) => each.value ?? each.description ?? each.type).join(' ');
    if (method === 'Page.loadEventFired') for (const resolve of this.loads.splice(0)) resolve();
    if (method === 'Network.requestWillBeSent') this.requests.push(params.request.url);
    if (method === 'Network.webSocketCreated') this.requests.push(params.url);
    if (method === 'Runtime.consoleAPICalled') {
      (params.type === 'error' || params.type === 'assert' ? this.faults : this.lines).push(text(params.args));
    } else if (method === 'Runtime.exceptionThrown') {
      const thrown = params.exceptionDetails;
      this.faults.push(thrown.exception?.description ?? thrown.text);
    } else if (method === 'Log.entryAdded') {
      const { level, url = '', text: words } = params.entry;
      // The browser asks for an icon by itself.
      if (level === 'error' && !url.endsWith('/favicon.ico')) this.faults.push(`${words} ${url}`);
    }
  }

  /** Goes to an address, and waits until the page and its modules have loaded. */
  async go(url) {
    const loaded = new Promise((resolve) => this.loads.push(resolve));
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    await loaded;
  }

  /** Calls a function in the page with arguments that JSON has; returns what it, or its promise, gives. */
  async evaluate(body, ...values) {
    const expression = `(${body})(...${JSON.stringify(values)})`;
    const { result, exceptionDetails } = await this.send('Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true, userGesture: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until a function in the page gives something true, and returns that. */
  async until(body, ...values) {
    for (let seconds = 0; seconds < 60; seconds += 0.02) {
      const value = await this.evaluate(body, ...values);
      if (value) return value;
      await pause(20);
    }
    throw new Error(`never true in the page: ${body} ${JSON.stringify(values)}\n${this.faults.join('\n')}`);
  }

  /** Types text into the focused element, as an input method does. */
  type(text) {
    return this.send('Input.insertText', { text });
  }

  /** What an input method shows while one composes: it is not typed yet. The caret is behind it. `type` ends it. */
  compose(text) {
    return this.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
  }

  /**
   * Presses and releases a key: 'Enter', 'Escape', 'Tab', 'ArrowDown', or a character. `modifiers`: the sum of 1 (Alt),
   * 2 (Control), 4 (Meta) and 8 (Shift). `commands`: what the browser does by itself for the key, such as 'paste'.
   */
  async press(key, modifiers = 0, commands = []) {
    const windowsVirtualKeyCode = KEY_CODES[key] ?? key.toUpperCase().charCodeAt(0);
    const isTyped = key.length === 1 && (modifiers & ~8) === 0;
    const text = { Enter: '\r', ' ': ' ' }[key] ?? (isTyped ? key : undefined);
    const code = key === ' ' ? 'Space' : /^[a-z]$/i.test(key) ? `Key${key.toUpperCase()}` : key.length === 1 ? '' : key;
    const event = { key, code, modifiers, windowsVirtualKeyCode };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...event, text, commands });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }

  /** Pastes a text into the focused element, through the clipboard. */
  async paste(text) {
    const { origin } = new URL(await this.evaluate(() => location.href));
    await this.browser.send('Browser.grantPermissions',
      { permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'], origin, browserContextId: this.context });
    await this.evaluate((content) => navigator.clipboard.writeText(content), text);
    await this.press('v', 2, ['paste']);
  }

  /** What the clipboard holds, as text, after the page has copied. */
  async copied() {
    await this.press('c', 2, ['copy']);
    return this.evaluate(() => navigator.clipboard.readText());
  }

  /** Moves the mouse, with or without its button down: 'mouseMoved', 'mousePressed', 'mouseReleased'. */
  mouse(type, { x, y }, { button = 'left', clickCount = type === 'mouseMoved' ? 0 : 1, buttons = 0 } = {}) {
    return this.send('Input.dispatchMouseEvent', { type, x, y, button, clickCount, buttons });
  }

  /** Clicks a point, as `{ x, y }`. */
  async click(point, button = 'left') {
    await this.mouse('mouseMoved', point, { button: 'none' });
    await this.mouse('mousePressed', point, { button, buttons: button === 'left' ? 1 : 2 });
    await this.mouse('mouseReleased', point, { button });
  }

  /** Turns the wheel at a point, by CSS pixels. */
  wheel({ x, y }, deltaY) {
    return this.send('Input.dispatchMouseEvent', { type: 'mouseWheel', x, y, deltaX: 0, deltaY });
  }

  /** Drags from a point over others, and lets go at the last one. */
  async drag(from, ...over) {
    await this.mouse('mouseMoved', from, { button: 'none' });
    await this.mouse('mousePressed', from, { buttons: 1 });
    for (const point of over) await this.mouse('mouseMoved', point, { buttons: 1 });
    await this.mouse('mouseReleased', over.at(-1));
  }

  /** The middle of an element that the page shows. */
  middle(selector) {
    return this.evaluate((wanted) => {
      const { left, top, width, height } = document.querySelector(wanted).getBoundingClientRect();
      return { x: left + width / 2, y: top + height / 2 };
    }, selector);
  }

  /** The size of the page in CSS pixels. */
  resize(width, height, mobile = false) {
    return this.send('Emulation.setDeviceMetricsOverride',
      { width, height, mobile, deviceScaleFactor: mobile ? 2 : 1 });
  }

  /** Media features, such as { 'prefers-color-scheme': 'dark' }. */
  prefer(features) {
    return this.send('Emulation.setEmulatedMedia',
      { features: Object.entries(features).map(([name, value]) => ({ name, value })) });
  }

  /** Takes the page's network away, or gives it back. Open sockets of a page stay open, as with a sleeping modem. */
  offline(is) {
    return this.send('Network.emulateNetworkConditions',
      { offline: is, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  }

  /** A picture of what the page shows, as PNG. */
  async screenshot() {
    return Buffer.from((await this.send('Page.captureScreenshot', { format: 'png' })).data, 'base64');
  }

  async close() {
    await this.browser.send('Target.closeTarget', { targetId: this.target });
    if (this.context) await this.browser.send('Target.disposeBrowserContext', { browserContextId: this.context });
    this.browser.pages.delete(this.session);
  }
}
