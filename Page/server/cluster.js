// The cluster: its nodes, how far each one is, and who leads.

import { button, fill, make } from '../shell/dom.js';
import { ask } from '../shell/dialog.js';
import { bytesText, count, labelText, numberText, spanText } from '../shell/format.js';
import { behindText, verdictOf } from './rules.js';

/** How long nodes may take to compute the digest of their stores, in milliseconds. */
const VERIFY_MS = 60_000;
const LOOK_MS = 500;

export class Cluster {
  #app;
  #operations;
  #status = null;

  constructor(app, operations) {
    this.#app = app;
    this.#operations = operations;
    this.body = make('div', { className: 'scrolls' });
    this.words = make('p', { role: 'status' });
    this.actions = make('div', { className: 'buttons' });
    this.element = make('section', { className: 'card', hidden: true, data: { region: '' } },
      make('h2', {}, 'Cluster'), this.body, this.actions, this.words);
  }

  async read() {
    const status = await this.#operations.cluster();
    this.element.hidden = status === null;
    const isSame = JSON.stringify(status) === JSON.stringify(this.#status);
    this.#status = status;
    if (status !== null && !isSame) this.#show();
  }

  get #mayOperate() {
    return this.#app.can('admin');
  }

  #show() {
    const { node, logFault, nodes, snapshot, drained } = this.#status;
    const heads = ['Node', 'Address', 'Does', 'Behind', 'Clients', 'Version'];
    fill(this.body,
      make('p', {}, this.#words()),
      logFault && make('p', { className: 'fault' }, `The log does not answer: ${labelText(logFault)}`),
      snapshot && make('p', { className: 'soft' },
        `Newest snapshot: record ${numberText(snapshot.position)}, ${bytesText(snapshot.bytes)}.`),
      nodes.length > 0 && make('table', {},
        make('thead', {}, make('tr', {}, heads.map((text) => make('th', { scope: 'col' }, text)),
          this.#mayOperate && make('td', {}))),
        make('tbody', {}, nodes.map((one) => this.#row(one)))));
    const drain = drained ? `Let ${labelText(node)} take clients again` : `Drain ${labelText(node)}`;
    fill(this.actions, this.#mayOperate && [
      button(drain, () => this.#drain(!drained)), button('Compare the stores', () => this.#verify())]);
  }

  #words() {
    const { store, node, head, position, lag, log } = this.#status;
    const where = log ? `, in ${labelText(log)}` : '';
    const level = lag === null ? '' : ` and was level with the log ${spanText(lag)} ago`;
    return `Store “${labelText(store)}”, log at record ${numberText(head)}${where}. This window is at `
      + `${labelText(node)}, which has applied record ${numberText(position)}${level}.`;
  }

  #row(one) {
    const { name, address, role, clients, version, drained } = one;
    const canLead = this.#mayOperate && role === 'follower' && !drained;
    const lead = canLead && button('Let it lead', () => this.#lead(name),
      { className: 'plain', 'aria-label': `Let ${labelText(name)} lead` });
    const here = name === this.#status.node && make('span', { className: 'soft' }, ' (here)');
    return make('tr', {}, make('td', {}, labelText(name), here), make('td', {}, labelText(address)),
      make('td', {}, drained ? `${role}, drained` : role), make('td', {}, behindText(one, this.#status.head)),
      make('td', {}, clients === null ? '–' : numberText(clients)), make('td', {}, labelText(version)),
      this.#mayOperate && make('td', {}, lead));
  }

  async #lead(name) {
    const answer = await ask({
      title: `Let ${labelText(name)} lead?`,
      body: [make('p', {}, 'Writes wait for a moment while the lead moves. Nothing is lost.')],
      actions: [['cancel', 'Cancel'], ['ok', 'Move the lead', 'primary']],
      submit: () => this.#operations.moveLeader(name),
    });
    if (answer === 'ok') this.#app.notice(`${labelText(name)} leads.`);
    await this.#app.attempt(() => this.read());
  }

  async #drain(drains) {
    const { node } = this.#status;
    const answer = await ask({
      title: drains ? `Drain ${labelText(node)}?` : `Let ${labelText(node)} take clients again?`,
      body: [make('p', {}, drains ? 'It sends its clients to other nodes, also this window, and does not lead. This '
        + 'ends when it starts again, or with “Let it take clients again”.' : 'It may lead, too.')],
      actions: [['cancel', 'Cancel'], ['ok', drains ? 'Drain' : 'Take clients', 'primary']],
      submit: () => this.#operations.drain(drains),
    });
    if (answer === 'ok') this.#app.notice(`${labelText(node)} ${drains ? 'is drained' : 'takes clients'}.`);
    await this.#app.attempt(() => this.read());
  }

  async #verify() {
    this.#say('The nodes compute the digests of their stores…');
    await this.#app.attempt(async () => {
      const mark = await this.#operations.verifyCluster();
      for (const end = performance.now() + VERIFY_MS; performance.now() < end;) {
        const status = await this.#operations.cluster(mark);
        const verdict = verdictOf(status);
        if (verdict === 'equal') {
          return this.#say(`The stores of ${count(status.verifications.length, 'node')} are equal.`);
        }
        if (verdict === 'different') return this.#say('The stores differ: see docs/cluster.md.', 'fault');
        await new Promise((resolve) => { setTimeout(resolve, LOOK_MS); });
      }
      return this.#say('Not every node has answered in a minute.', 'fault');
    });
  }

  #say(words, className = '') {
    this.words.className = className;
    this.words.textContent = words;
  }
}
