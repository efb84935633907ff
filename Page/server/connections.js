// The connections of the server: to sort, to look at, and to end.

import { button, fill, make } from '../shell/dom.js';
import { ask } from '../shell/dialog.js';
import { bytesText, count, labelText, millisecondsOf, momentText, numberText, shortAge } from '../shell/format.js';
import { Grid } from '../shell/grid.js';
import { person } from '../shell/people.js';
import { authorOf, nameOf, sorted } from './rules.js';

/** Columns whose first click sorts the largest first. */
const LARGEST_FIRST = new Set(['subscriptions', 'inFlight', 'queued', 'received', 'sent', 'since']);

export class Connections {
  #app;
  #operations;
  #clients = [];
  #column = 'since';
  #isDescending = false;

  constructor(app, operations, changed) {
    this.#app = app;
    this.#operations = operations;
    this.changed = changed;
    const column = (name, text, className) => ({ name, text, className, sort: true });
    this.grid = new Grid({
      label: 'Connections', className: 'connections', empty: 'There are no connections.',
      columns: [
        column('who', 'Who'), column('client', 'Client'), column('address', 'Address'), column('since', 'For'),
        column('subscriptions', 'Subscriptions', 'number'), column('inFlight', 'In flight', 'number'),
        column('queued', 'Queued', 'number'), column('sent', 'Sent', 'number'),
        { name: 'actions', text: 'Actions', isQuiet: true },
      ],
      keyOf: ({ number }) => number, fill: (cells, one) => this.#fill(cells, one),
      onOpen: (one) => this.#open(one), onSort: (name) => this.#sort(name),
    });
    this.heading = make('h2', { id: 'connections' }, 'Connections');
    this.element = make('section', { className: 'card', data: { region: '' } }, this.heading, this.grid.element);
    this.grid.markSort(this.#column, this.#isDescending);
  }

  show(clients) {
    this.#clients = clients;
    this.heading.textContent = count(clients.length, 'connection');
    this.grid.set(sorted(clients, this.#column, this.#isDescending));
  }

  close() {
    this.grid.close();
  }

  #isOwn({ session, name }) {
    return session === this.#app.nest.server.sessionNumber && name === this.#app.nest.settings.clientName;
  }

  #sort(name) {
    this.#isDescending = name === this.#column ? !this.#isDescending : LARGEST_FIRST.has(name);
    this.#column = name;
    this.grid.markSort(name, this.#isDescending);
    this.show(this.#clients);
  }

  #fill(cells, one) {
    fill(cells.who, person(authorOf(one)),
      this.#isOwn(one) && make('span', { className: 'tag next' }, 'this window'));
    cells.client.textContent = labelText(one.name) || '–';
    cells.address.textContent = one.address;
    const since = millisecondsOf(one.connectedAt);
    cells.since.textContent = shortAge(since, Date.now());
    cells.since.title = momentText(since);
    cells.subscriptions.textContent = numberText(one.subscriptions);
    cells.inFlight.textContent = numberText(one.requestsInFlight);
    cells.queued.textContent = bytesText(one.bytesQueued);
    cells.queued.classList.toggle('much', one.bytesQueued > 0);
    cells.sent.textContent = bytesText(one.bytesOut);
    if (cells.actions.firstChild?.number_ === one.number) return;
    const kick = button('Kick', () => this.#kick(one), { tabIndex: -1, className: 'plain danger',
      'aria-label': `Kick ${nameOf(one)}, ${one.address}` });
    kick.number_ = one.number;
    fill(cells.actions, !this.#isOwn(one) && kick);
  }

  async #open(one) {
    const answer = await ask({
      title: nameOf(one),
      body: [make('dl', {}, [
        ['Client', labelText(one.name) || '–'], ['Address', one.address], ['Connection', `c${one.number}`],
        ['Session', `s${one.session}`], ['Since', momentText(millisecondsOf(one.connectedAt))],
        ['Subscriptions', numberText(one.subscriptions)],
        ['Requests', `${numberText(one.requests)}, of those in flight ${numberText(one.requestsInFlight)}`],
        ['Received from it', bytesText(one.bytesIn)], ['Sent to it', bytesText(one.bytesOut)],
        ['Waiting for it', bytesText(one.bytesQueued)],
      ].map(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]))],
      actions: [...(this.#isOwn(one) ? [] : [['kick', 'Kick', 'danger']]), ['', 'Close', 'primary']],
    });
    if (answer === 'kick') await this.#kick(one);
  }

  async #kick(one) {
    const answer = await ask({
      title: `End the connection of ${nameOf(one)}?`,
      body: [make('p', {}, `${labelText(one.name) || 'The client'} at ${one.address} gets no answer to its requests in `
        + 'flight. A nest client connects again after a moment: to keep it out, revoke its token.')],
      actions: [['kick', 'Kick', 'danger'], ['', 'Leave it', 'primary']],
    });
    if (answer !== 'kick') return;
    await this.#app.attempt(async () => {
      await this.#operations.kick(one.number);
      this.#app.notice(`The connection of ${nameOf(one)} has ended.`);
    });
    this.changed();
  }
}
