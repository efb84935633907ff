// /server: what the server does now, its connections, tokens, store and cluster. Roles decide what is shown.

import { make, style } from '../shell/dom.js';
import { labelText, numberText, shortAge } from '../shell/format.js';
import { Cluster } from './cluster.js';
import { Connections } from './connections.js';
import { Store } from './store.js';
import { Tiles } from './tiles.js';
import { Tokens } from './tokens.js';

/** How often the numbers are read, and how often lists are, in milliseconds. */
const NUMBERS_MS = 1_000;
const LISTS_MS = 2_000;

const KEYS = [{
  title: 'Server',
  keys: [['F6', 'From one part to the next'], ['↑ ↓', 'In the connections: the one after, the one before'],
    ['Enter', 'Open a connection']],
}];

export async function open(main, app) {
  await style(import.meta.url, './page.css');
  const operations = await app.nest.operations();
  return new ServerPage(main, app, operations);
}

class ServerPage {
  keys = KEYS;
  #app;
  #operations;
  #isClosed = false;
  #parts = [];

  constructor(main, app, operations) {
    this.#app = app;
    this.#operations = operations;
    this.tiles = new Tiles();
    this.cluster = new Cluster(app, operations);
    this.numbers = make('tbody', {});
    this.uptime = make('span', { className: 'soft' });
    const isAdmin = app.can('admin');
    if (isAdmin) {
      this.connections = new Connections(app, operations, () => this.#readClients());
      this.tokens = new Tokens(app, operations);
      this.store = new Store(app, operations);
      this.#parts = [this.connections, this.store];
    }
    main.append(make('div', { className: 'page' },
      make('h1', {}, 'Server',
        make('span', { className: 'soft' }, ` ${labelText(app.nest.server.serverName)}`), this.uptime),
      make('section', { 'aria-label': 'Now', data: { region: '' } }, this.tiles.element),
      this.connections?.element, this.cluster.element, this.tokens?.element, this.store?.element, this.#allNumbers(),
      !isAdmin && make('p', { className: 'soft' }, 'Connections, tokens, backups and checks are for administrators.')));
    if (isAdmin) app.attempt(() => this.tokens.read());
    this.#repeat(NUMBERS_MS, () => this.#readNumbers());
    this.#repeat(LISTS_MS, async () => {
      if (isAdmin) await this.#readClients();
      await this.cluster.read();
    });
  }

  go() {}

  close() {
    this.#isClosed = true;
    for (const part of this.#parts) part.close();
  }

  #allNumbers() {
    return make('details', { className: 'card' }, make('summary', {}, 'All numbers'),
      make('p', { className: 'soft' }, 'What nestc stat prints; docs/operations.md explains the names.'),
      make('table', {}, make('thead', {}, make('tr', {}, make('th', { scope: 'col' }, 'Name'),
        make('th', { scope: 'col', className: 'number' }, 'Value'))), this.numbers));
  }

  async #readNumbers() {
    const statistics = await this.#app.nest.statistics();
    if (this.#isClosed) return;
    this.tiles.show(statistics, performance.now());
    const seconds = Number(statistics.get('uptime_seconds') ?? 0);
    this.uptime.textContent = seconds === 0 ? '' : `, up for ${shortAge(Date.now() - seconds * 1_000, Date.now())}`;
    if (!this.numbers.closest('details').open) return;
    this.numbers.replaceChildren(...[...statistics].map(([name, value]) => make('tr', {},
      make('td', { className: 'mono' }, name), make('td', { className: 'number' }, numberText(value)))));
  }

  async #readClients() {
    const clients = await this.#operations.clients();
    if (!this.#isClosed) this.connections.show(clients);
  }

  /** Runs something now and again, while the window is seen and there is a connection. A failure is tried again. */
  async #repeat(milliseconds, body) {
    while (!this.#isClosed) {
      if (!document.hidden && this.#app.nest.state.phase === 'ready') {
        await body().catch((error) => {
          if (error.retry === 0 && error.code !== 'CLOSED' && !this.#isClosed) this.#failed(error);
        });
      }
      await new Promise((resolve) => { setTimeout(resolve, milliseconds); });
    }
  }

  #failed(error) {
    // What is refused once will be refused again: it is said once.
    if (this.said === error.message) return;
    this.said = error.message;
    this.#app.fault(error);
  }
}
