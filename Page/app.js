// The page: the bar, the connection, and the page that the address names. Each page is a module that is loaded when it
// is opened: `open(main, app, rest)` fills the main element and returns `{ go(rest), close(), keys }`.

import { announce, fault, notice } from './shell/notice.js';
import { showLink, showPlaces, showSelf } from './shell/bar.js';
import { ask, askText, menu } from './shell/dialog.js';
import { button, make } from './shell/dom.js';
import { watchKeys } from './shell/keys.js';
import { Link } from './shell/link.js';
import { Router } from './shell/router.js';

/**
 * The pages, in the order of the bar. `needs(app)`: null, or why the user cannot use the page at all; it is not in the
 * bar then.
 */
const PAGES = {
  outline: { text: 'Outline', load: () => import('./outline/page.js') },
  explore: { text: 'Explore', load: () => import('./explore/page.js') },
  history: { text: 'History', load: () => import('./history/page.js') },
  server: {
    text: 'Server', load: () => import('./server/page.js'),
    needs: ({ root }) => (root === null ? null : 'Your token reaches one object and what is below it, not the server.'),
  },
  wire: { text: 'Wire', load: () => import('./wire/page.js') },
};
const ROLES = ['read', 'write', 'admin'];
const $ = (id) => document.getElementById(id);

/**
 * What pages get.
 *
 * - `nest`: the client; a page is closed and opened again when there is another one. `link`: shell/link.js.
 * - `role`: 'read', 'write' or 'admin'; `can(role)`: whether the user has at least that role.
 * - `root`: the object that a token is confined to; null: the whole store.
 * - `attempt(body)`: runs something, and shows why it failed; resolves with its value, or undefined.
 * - `go(path)`, `name(path)`: to another address; a better name for this one. `title(text)`: of the window.
 * - `announce`, `notice`, `fault`, `ask`, `askText`, `menu`: words, dialogs and menus (shell/).
 * - `tools`: the part of the bar that is the page's own.
 *
 * `keys` of a page, for the help that `?` shows: a list of `{ title, keys: [[keys, what]] }`.
 */
class App {
  announce = announce;
  notice = notice;
  fault = fault;
  ask = ask;
  askText = askText;
  menu = menu;
  tools = $('bar-tools');

  constructor(nest, router, link) {
    this.nest = nest;
    this.router = router;
    this.link = link;
  }

  get role() {
    return this.nest.server.role;
  }

  get root() {
    return this.nest.server.confinement?.root ?? null;
  }

  can(role) {
    return ROLES.indexOf(this.role) >= ROLES.indexOf(role);
  }

  async attempt(body) {
    try {
      return await body();
    } catch (error) {
      fault(error);
      return undefined;
    }
  }

  go(path, options) {
    this.router.go(path, options);
  }

  name(path) {
    this.router.name(path);
  }

  title(text) {
    document.title = text ? `${text} · nest` : 'nest';
  }
}

// MARK: Pages

let app = null;
let shown = null;
/** Counts addresses: a page that was still loading when the next was opened is not shown. */
let turn = 0;

/** Fills the main element with words instead of a page. */
function showWords(title, ...words) {
  $('main').className = 'words';
  $('main').replaceChildren(make('div', { className: 'empty' }, make('h1', {}, title), words));
}

function closePage() {
  turn += 1;
  try {
    shown?.page?.close();
  } catch (error) {
    // A mistake of one page must not keep the user from the others.
    fault(error);
  }
  shown = null;
  $('bar-tools').replaceChildren();
  $('people').replaceChildren();
  $('people').hidden = true;
}

const offered = () => Object.entries(PAGES).filter(([, { needs }]) => !needs?.(app));

async function show(name, rest) {
  if (shown?.name === name) {
    shown.rest = rest;
    return shown.page?.go(rest);
  }
  const isMove = shown !== null;
  closePage();
  const mine = turn;
  showPlaces(offered(), name);
  const entry = Object.hasOwn(PAGES, name) ? PAGES[name] : null;
  const reason = entry?.needs?.(app);
  app.title(entry?.text ?? 'Not found');
  $('main').setAttribute('aria-label', entry?.text ?? 'Not found');
  shown = { name, page: null, rest };
  if (!entry) {
    showWords('There is no such page', make('p', {}, 'The pages are those in the bar. ', make('a', { href: '/outline' },
      'Go to the outline')));
  } else if (reason) {
    showWords('This page is not for your token', make('p', {}, reason));
  } else {
    $('main').className = name;
    $('main').replaceChildren(make('p', { className: 'empty', role: 'status' }, 'Loading…'));
    await load(entry, rest, mine);
  }
  // A screen reader then says the name of the page.
  if (mine === turn && isMove && !$('main').contains(document.activeElement)) $('main').focus({ preventScroll: true });
}

async function load({ load: module }, rest, mine) {
  try {
    const { open } = await module();
    if (mine !== turn) return;
    $('main').replaceChildren();
    const page = await open($('main'), app, rest);
    if (mine !== turn) return page.close();
    shown.page = page;
    // The address has become another one of the same page meanwhile.
    if (shown.rest !== rest) page.go(shown.rest);
  } catch (error) {
    if (mine !== turn) return;
    closePage();
    showWords('This page could not be opened', make('p', {}, button('Try again', () => router.read())));
    fault(error);
  }
}

/** Opens the page again, because its client or its data were replaced. */
function reopen() {
  closePage();
  router.read();
}

// MARK: The connection

const STORE_WORDS = {
  history: 'The server has another store now, restored or new. The page shows that store.',
  model: 'The server has another model now. The page was opened again.',
};

const link = new Link({
  onState(state) {
    showLink(state);
    if (!app && state.phase !== 'connecting') showWaiting(state);
  },
  onClient(nest) {
    if (!app) return start(nest);
    app.nest = nest;
    return reopen();
  },
  onStore(what) {
    notice(STORE_WORDS[what], { kind: 'warning', actions: [['OK', () => {}]] });
    reopen();
  },
});

/** What is shown before the first connection. */
function showWaiting({ phase, error }) {
  if (phase === 'ready') return;
  const words = [error && make('p', {}, error.message)];
  if (phase === 'signedOut') {
    showWords('Sign in', make('p', {}, 'This server requires a token.'),
      make('p', {}, button('Sign in', () => $('link').click())));
  }
  if (phase === 'failed') showWords('This server cannot be used', words);
  if (phase === 'reconnecting') {
    showWords('The server does not answer', words, make('p', {}, button('Try now', () => link.tryNow())));
  }
}

function start(nest) {
  app = new App(nest, router, link);
  router.start();
}

/** Whether the browser has what the page needs. */
const isModern = typeof HTMLDialogElement === 'function' && 'popover' in HTMLElement.prototype
  && typeof AbortSignal.timeout === 'function' && typeof Array.prototype.at === 'function';

const router = new Router(show);
if (isModern) {
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault();
    $('main').focus();
  });
  $('link').addEventListener('click', () => showSelf(app, link).catch(fault));
  watchKeys(() => shown?.page?.keys ?? []);
  // The window shows already why it failed.
  await link.start().then(start, (error) => console.warn(error.message));
} else {
  showWords('This browser is too old for this page',
    make('p', {}, 'Use Firefox 125, Chrome 114, Safari 17 or a later version, or nestc on the command line.'));
}
