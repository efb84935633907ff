// Tokens: to list, to create, to revoke.

import { button, make } from '../shell/dom.js';
import { ask } from '../shell/dialog.js';
import { ageText, count, labelText, millisecondsOf, momentText } from '../shell/format.js';
import { createToken } from './create.js';
import { expiryText } from './rules.js';

/** What a token reaches, in words. */
const reachText = ({ confinement }) => (confinement ? `object ${confinement.root} and below` : 'the whole store');

export class Tokens {
  #app;
  #operations;
  #tokens = [];

  constructor(app, operations) {
    this.#app = app;
    this.#operations = operations;
    this.heading = make('h2', {}, 'Tokens');
    this.body = make('div', { className: 'scrolls' });
    this.element = make('section', { className: 'card', data: { region: '' } },
      make('div', { className: 'card-head' }, this.heading, button('Create a token', () => this.#create())), this.body);
  }

  async read() {
    this.#tokens = await this.#operations.tokens();
    this.#show();
  }

  #show() {
    this.heading.textContent = this.#tokens.length === 0 ? 'Tokens' : count(this.#tokens.length, 'token');
    if (this.#tokens.length === 0) {
      this.body.replaceChildren(make('p', { className: 'soft' }, 'This server has no tokens: every client is an '
        + 'administrator. As soon as there is a token, every client needs one.'));
      return;
    }
    const now = Date.now();
    const heads = ['Name', 'User', 'May', 'Reaches', 'Expires', 'Last used', 'Connections'];
    this.body.replaceChildren(make('table', {},
      make('thead', {}, make('tr', {},
        heads.map((text) => make('th', { scope: 'col', className: text === 'Connections' ? 'number' : '' }, text)),
        make('td', {}))),
      make('tbody', {}, this.#tokens.map((token) => this.#row(token, now)))));
  }

  #row(token, now) {
    const { number, name, user, role, expires, lastUsed, connections } = token;
    const text = expiryText(token, now);
    return make('tr', { data: { token: number } },
      make('td', {}, labelText(name), make('span', { className: 'soft' }, ` ${number}`)),
      make('td', {}, labelText(user || name)), make('td', {}, role), make('td', {}, reachText(token)),
      make('td', {
        className: text === 'has expired' ? 'fault' : '', title: expires ? momentText(millisecondsOf(expires)) : '',
      }, text),
      make('td', {}, lastUsed === null ? 'never' : ageText(millisecondsOf(lastUsed), now)),
      make('td', { className: 'number' }, String(connections)),
      make('td', {}, button('Revoke', () => this.#revoke(token), { className: 'plain danger',
        'aria-label': `Revoke the token ${labelText(name)} ${number}` })));
  }

  async #create() {
    const isFirst = this.#tokens.length === 0;
    const text = await createToken(this.#app, this.#operations, isFirst);
    if (text === null) return;
    await showSecret(text, isFirst);
    if (!isFirst) await this.#app.attempt(() => this.read());
  }

  async #revoke(token) {
    const { number, name, connections } = token;
    const answer = await ask({
      title: `Revoke the token “${labelText(name)}”?`,
      body: [make('p', {}, connections === 0 ? 'It has no connections now. It can never be used again.'
        : `${count(connections, 'connection ends', 'connections end')} at once. It can never be used again.`)],
      actions: [['revoke', 'Revoke', 'danger'], ['', 'Leave it', 'primary']],
    });
    if (answer !== 'revoke') return;
    await this.#app.attempt(async () => {
      await this.#operations.revokeToken(number);
      this.#app.notice(`The token “${labelText(name)}” is revoked.`);
      await this.read();
    });
  }
}

/** Shows a new token. The server does not have its secret. */
function showSecret(text, isFirst) {
  const field = make('input', { value: text, readOnly: true, className: 'mono', 'aria-label': 'The token' });
  const said = make('span', { className: 'soft', role: 'status' });
  const copy = async () => {
    field.select();
    const isDone = await navigator.clipboard?.writeText(text).then(() => true, () => false)
      || document.execCommand('copy');
    said.textContent = isDone ? 'Copied.' : 'Copy it with the keyboard.';
  };
  return ask({
    title: 'The new token',
    body: [
      make('p', {}, 'Copy it now: the server does not keep the secret, and the page does not show it again.'),
      field, make('p', {}, button('Copy', copy), ' ', said),
      isFirst && make('p', {}, 'This window goes on with it. Every other client needs a token from now on.'),
    ],
    actions: [['', 'I have copied it', 'primary']], ready: () => field.select(), wide: true,
  });
}
