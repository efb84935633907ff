// The dialog that creates a token.

import { make } from '../shell/dom.js';
import { ask } from '../shell/dialog.js';
import { EXPIRIES, expiryOf, ways } from './rules.js';

const ROLES = [
  ['read', 'read: look, and follow what happens'], ['write', 'write: change what the store holds'],
  ['admin', 'admin: also tokens, connections, backups'],
];
const LIMITS = [
  ['connections', 'Connections at a time'], ['requestsInFlight', 'Requests in flight'],
  ['subscriptions', 'Subscriptions'], ['outputBytes', 'Bytes that may wait'],
];

const select = (name, options) => make('select', { name },
  options.map(([value, text]) => make('option', { value }, text)));

/** Asks for a token and creates it. Resolves with its text, or null. The first one is this window's from then on. */
export async function createToken(app, operations, isFirst) {
  const model = await app.nest.model();
  const down = ways(model);
  const name = make('input', { name: 'name', required: true, maxLength: 200, autocomplete: 'off' });
  const user = make('input', { name: 'user', maxLength: 200, autocomplete: 'off' });
  const role = select('role', isFirst ? ROLES.slice(2) : ROLES);
  role.value = isFirst ? 'admin' : 'write';
  const expiry = select('expiry', EXPIRIES);
  const day = make('input', { type: 'date', name: 'day', 'aria-label': 'The last day' });
  const root = make('input', { name: 'root', inputMode: 'numeric', pattern: '[1-9][0-9]*', autocomplete: 'off',
    title: 'The number of an object' });
  const way = select('way',
    down.map(({ entity, relationship }, index) => [String(index), `${entity}.${relationship}`]));
  const number = (key) => make('input', { name: key, inputMode: 'numeric', pattern: '[0-9]*', autocomplete: 'off' });
  const limits = LIMITS.map(([key, text]) => [key, text, number(key)]);
  const show = () => {
    day.hidden = expiry.value !== 'date';
    day.required = !day.hidden;
    reach.hidden = role.value === 'admin' || down.length === 0;
  };
  const reach = make('div', { className: 'pair' },
    make('label', {}, 'Only the object and what is below it (optional)', root), make('label', {}, 'Along', way));
  for (const each of [role, expiry]) each.addEventListener('change', show);
  show();
  let text = null;
  const grant = () => {
    const isConfined = !reach.hidden && root.value !== '';
    return {
      name: name.value.trim(), user: user.value.trim(), role: role.value,
      expires: expiryOf(expiry.value, day.value, Date.now()),
      confinement: isConfined ? { root: Number(root.value), ...down[Number(way.value)] } : null,
      ...Object.fromEntries(limits.map(([key, , field]) => [key, Number(field.value || 0)])),
    };
  };
  const create = async () => {
    ({ text } = await operations.createToken(grant()));
    return text;
  };
  await ask({
    title: isFirst ? 'Create the first token' : 'Create a token',
    body: [
      isFirst && make('p', {}, 'The server then disconnects every client without a token. This token is for yourself: '
        + 'it may do everything.'),
      make('label', {}, 'Name, for the list', name),
      make('label', {}, 'User, shown to others (optional: else the name)', user),
      make('label', {}, 'May', role), make('div', { className: 'pair' }, make('label', {}, 'Expires', expiry), day),
      reach,
      make('details', { className: 'limits' }, make('summary', {}, 'Limits'),
        make('p', { className: 'soft' }, 'Empty: the limits of the server.'),
        limits.map(([, words, field]) => make('label', {}, words, field))),
    ],
    actions: [['cancel', 'Cancel'], ['ok', 'Create', 'primary']], ready: () => name.focus(),
    submit: () => (isFirst ? app.link.adopt(create) : create()),
  });
  return text;
}
