// The connection of this window, with signing in and trying again. It outlives clients: another token or another name
// is another client.

import { connect } from '/client/index.js';
import { Ring, tapped } from './tap.js';
import { signIn } from './signin.js';
import { forget, ownSession, keepSession, storedToken, storedUser, storeToken, storeUser } from './identity.js';

/** The pauses before attempts of a window that was never connected, in milliseconds: they double. */
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 15_000;

/** The codes that refuse the token, or its absence. */
const TOKEN_CODES = new Set(['UNAUTHENTICATED', 'TOKEN_EXPIRED']);
/** The codes of a token that the client does not send. */
const OWN_TOKEN_CODES = new Set(['INVALID', 'UNTRUSTED']);

/**
 * The link. `state` is frozen: `phase` is 'connecting', 'ready', 'reconnecting', 'signedOut' or 'failed'; `error` says
 * why there is no connection; `attemptAt` is when the next attempt begins (by `performance.now()`), null: now or never;
 * `holdsBack`: whether /wire holds receipts back.
 *
 * `onState(state)`; `onClient(nest, why)`: there is another client, why: 'token', 'name', 'again'; `onStore(what)`:
 * the server has another 'history' or 'model' than before.
 */
export class Link {
  nest = null;
  state = Object.freeze({ phase: 'connecting', error: null, attemptAt: null, holdsBack: false });
  /** What this window sends and receives: tap.js. */
  frames = new Ring();
  #tap = tapped(this.frames);
  #listeners;
  #wake = null;
  #isSigningIn = false;
  #known = null;

  constructor(listeners) {
    this.#listeners = listeners;
    addEventListener('online', () => this.tryNow());
    this.hold.follow(() => {
      const { phase, error, attemptAt, holdsBack } = this.state;
      if (holdsBack !== this.hold.isOn) this.#show(phase, error, attemptAt);
    });
  }

  /** Connects, as long as it takes: it asks for a token where one is needed. Throws if the server cannot be used. */
  async start() {
    for (let pause = PAUSE_MS_MIN; ; pause = Math.min(pause * 2, PAUSE_MS_MAX)) {
      try {
        this.#show('connecting', null);
        return this.#opened(await this.#connect());
      } catch (error) {
        if (isAboutToken(error)) {
          await this.#ask(storedToken() === null ? null : refusalText(error), error);
          pause = PAUSE_MS_MIN;
        } else if (error.retry === 0) {
          this.#show('failed', error);
          throw error;
        } else {
          await this.#pause(error, pause + Math.random() * pause);
        }
      }
    }
  }

  /** Ends the pause before the next attempt. */
  tryNow() {
    this.#wake?.();
    this.nest?.run((machine, now) => {
      if (machine.phase !== 'backingOff') return;
      machine.timers.set('backoff', now);
      machine.time(now);
    });
  }

  /** Asks for a token, and goes on with it. */
  async signIn() {
    if (this.#isSigningIn) return;
    const { error } = this.state;
    await this.#ask(storedToken() === null ? 'This server requires a token now.' : refusalText(error), error);
    await this.renew('token');
  }

  /**
   * Goes on with the token that a function creates. The first token of a store ends the connections without one, also
   * this one, perhaps before the function has returned: the page does not ask for a token meanwhile.
   */
  async adopt(body) {
    this.#isSigningIn = true;
    try {
      const token = await body();
      storeToken(token, false);
      await this.renew('token');
    } finally {
      this.#isSigningIn = false;
      if (this.state.phase === 'signedOut') this.signIn();
    }
  }

  /** Forgets the token. */
  async signOut() {
    forget();
    await this.renew('token');
  }

  /** Goes on under another name, on a server without tokens. */
  async rename(name) {
    storeUser(name);
    await this.renew('name');
  }

  /** Goes on with another client. */
  async renew(why = 'again') {
    const last = this.nest;
    this.nest = null;
    last?.close();
    // The frames of one user are not for the next one.
    if (why === 'token') this.frames.clear();
    const nest = await this.start();
    this.#listeners.onClient(nest, why);
  }

  /** Closes the socket, as a broken network would: the client connects again and resumes. */
  cut() {
    this.#tap.cut();
  }

  /** What holds receipts back: hold.js. */
  get hold() {
    return this.#tap.hold;
  }

  async #connect() {
    const token = storedToken();
    const options = {
      clientName: 'nest page', token, user: token ? undefined : storedUser() ?? undefined,
      session: await ownSession(token),
      // A day in a predicate is one of this place.
      zone: Intl.DateTimeFormat().resolvedOptions().timeZone, WebSocket: this.#tap.Tap,
    };
    return connect(options);
  }

  #opened(nest) {
    this.nest = nest;
    keepSession(nest.session, storedToken());
    this.#known = nest.server;
    nest.onState((state) => this.#changed(nest, state));
    this.#changed(nest, nest.state);
    return nest;
  }

  #changed(nest, { phase, error, pause }) {
    if (nest !== this.nest) return;
    if (phase === 'ready') this.#compare(nest);
    if (phase !== 'closed') return this.#show(phase, error, pause > 0 ? performance.now() + pause : null);
    if (isAboutToken(error)) this.#refused(error);
    else this.#show('failed', error);
  }

  /** The token was revoked or has expired while the window was open, or the server asks for one now. */
  async #refused(error) {
    this.#show('signedOut', error);
    await this.signIn();
  }

  async #ask(words, error) {
    this.#isSigningIn = true;
    this.#show('signedOut', error);
    forget();
    await signIn(words);
    this.#isSigningIn = false;
  }

  /** Compares the server that answers with the one before: it may have another store or model. */
  #compare({ server }) {
    const last = this.#known;
    this.#known = server;
    if (last.modelHash !== server.modelHash) this.#listeners.onStore('model');
    else if (last.historyID !== server.historyID) this.#listeners.onStore('history');
  }

  #pause(error, milliseconds) {
    this.#show('reconnecting', error, performance.now() + milliseconds);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    }).finally(() => { this.#wake = null; });
  }

  #show(phase, error, attemptAt = null) {
    this.state = Object.freeze({ phase, error, attemptAt, holdsBack: this.hold.isOn });
    this.#listeners.onState(this.state);
  }
}

const isAboutToken = (error) => TOKEN_CODES.has(error?.code)
  || (storedToken() !== null && OWN_TOKEN_CODES.has(error?.code));

/** What is wrong with a token, and what to do. */
function refusalText(error) {
  if (error?.code === 'UNAUTHENTICATED') return 'The server refuses this token. It may be mistyped, or revoked.';
  if (error?.code === 'TOKEN_EXPIRED') return 'This token has expired. Ask an administrator for another one.';
  if (error?.code === 'UNTRUSTED') {
    return 'The token was not sent: this page came without TLS, so others could read it. Open the page by https.';
  }
  return error?.message ?? null;
}
