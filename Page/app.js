// The page: the bar, the connection, and the page that the address names. Each page is a module that is loaded when
// somebody opens it: `open(main, app, rest)` fills the main element and returns `{ go(rest), close() }`.

import { announce, fault, notice } from './shell/notice.js';
import { ask, askText, menu } from './shell/dialog.js';
import { make } from './shell/dom.js';
import { claimName, claimedName, forget, hasToken, open } from './shell/link.js';
import { Router } from './shell/router.js';

/** The pages, in the order of the bar. `role`: the least one that opens it. */
const PAGES = {
  outline: { text: 'Outline', load: () => import('./outline/page.js') },
  explore: { text: 'Explore', load: () => import('./explore/page.js') },
  history: { text: 'History', load: () => import('./history/page.js') },
  server: { text: 'Server', load: () => import('./server/page.js') },
  wire: { text: 'Wire', load: () => import('./wire/page.js') },
};
const ROLES = ['read', 'write', 'admin'];
const $ = (id) => document.getElementById(id);

/**
 * What pages get.
 *
 * - `nest`: the client. `role`: 'read', 'write' or 'admin'; `can(role)`: whether one has at least that role.
 * - `root`: the object that a token is confined to; null: the whole store.
 * - `attempt(body)`: runs something, and shows why it failed; resolves with its value, or undefined.
 * - `go(path)`, `name(path)`: to another address; a better name for this one. `title(text)`: of the window.
 * - `announce`, `notice`, `fault`, `ask`, `askText`, `menu`: words, dialogs and menus (shell/).
 * - `tools`: the part of the bar that is the page's own.
 */
class App {
  announce = announce;
  notice = notice;
  fault = fault;
  ask = ask;
  askText = askText;
  menu = menu;
  tools = $('bar-tools');

  constructor(nest, router) {
    this.nest = nest;
    this.router = router;
  }

  get role() {
    return this.nest.server.role;
  }

  get root() {
    return this.nest.server.confinement?.object ?? null;
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

// MARK: The bar

const showLink = (state) => {
  const { phase, error } = state;
  $('link').dataset.state = phase;
  $('link').firstElementChild.textContent = { ready: 'live', reconnecting: 'offline, trying again', closed: 'ended' }[phase]
    ?? phase;
  $('link').title = error?.message ?? '';
};

function showPlaces(current) {
  $('places').replaceChildren(...Object.entries(PAGES).map(([name, { text }]) => make('a', {
    href: `/${name}`, 'aria-current': name === current ? 'page' : undefined,
  }, text)));
}

/** Who one is, and what one may do. */
async function showSelf(app) {
  const { server } = app.nest;
  const rows = [
    ['You', server.user ?? claimedName() ?? 'nobody in particular'],
    ['You may', { read: 'read', write: 'read and write', admin: 'do everything' }[app.role]],
    server.tokenExpires !== null && ['Until', new Date(Number(server.tokenExpires) / 1_000).toLocaleString()],
    ['Server', `${location.host} (${server.serverName})`],
  ].filter(Boolean);
  const answer = await ask({
    title: app.nest.state.phase === 'ready' ? 'Connected' : 'Not connected',
    body: [
      app.nest.state.error && make('p', { className: 'fault' }, app.nest.state.error.message),
      make('dl', {}, rows.map(([name, value]) => [make('dt', {}, name), make('dd', {}, value)])),
    ],
    actions: [hasToken() ? ['out', 'Sign out', 'danger'] : ['name', 'Change my name'], ['', 'Close', 'primary']],
  });
  if (answer === 'out') {
    forget();
    location.reload();
  } else if (answer === 'name') {
    const name = await askText({ title: 'Your name', label: 'What others see beside what you do', value: claimedName() ?? '' });
    if (name === null) return;
    claimName(name.trim());
    location.reload();
  }
}

// MARK: Pages

let app = null;
let shown = null;
/** Counts addresses: a page that was loading when one went on is not shown. */
let turn = 0;

async function show(name, rest) {
  if (!PAGES[name]) return app.go('/outline', { replace: true });
  if (shown?.name === name) return shown.page?.go(rest);
  const mine = ++turn;
  showPlaces(name);
  const { text, load } = PAGES[name];
  shown?.page?.close();
  shown = { name, page: null };
  $('bar-tools').replaceChildren();
  $('people').hidden = true;
  app.title(text);
  $('main').className = name;
  $('main').replaceChildren(make('p', { className: 'empty', role: 'status' }, 'Loading…'));
  try {
    const { open: openPage } = await load();
    if (mine !== turn) return;
    $('main').replaceChildren();
    const page = await openPage($('main'), app, rest);
    if (mine === turn) shown.page = page;
    else page.close();
  } catch (error) {
    if (mine !== turn) return;
    shown = null;
    $('main').replaceChildren(make('p', { className: 'empty' }, 'This page could not be opened.'));
    fault(error);
  }
}

const router = new Router(show);
try {
  const nest = await open(showLink);
  showLink(nest.state);
  app = new App(nest, router);
  $('link').addEventListener('click', () => showSelf(app));
  router.start();
} catch (error) {
  showLink({ phase: 'closed', error });
  fault(error);
}
