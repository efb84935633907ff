// Asking for a token.

import { ask } from './dialog.js';
import { make } from './dom.js';
import { storeToken } from './identity.js';

/** The form of a token, as `nestc token create` prints it. */
const FORM = '\\s*nest_[1-9][0-9]*_[0-9A-Fa-f]{64}\\s*';

const clicked = (element) => new Promise((resolve) => {
  element.addEventListener('click', resolve, { once: true });
});

/** Asks for a token until there is one, and keeps it. `refused`: what was wrong with the one before, or null. */
export async function signIn(refused) {
  for (;;) {
    const field = make('input', {
      type: 'password', name: 'token', autocomplete: 'current-password', required: true, spellcheck: false,
      pattern: FORM, title: 'A token has the form nest_NUMBER_SECRET',
    });
    const remembers = make('input', { type: 'checkbox' });
    const answer = await ask({
      title: 'Sign in', actions: [['ok', 'Sign in', 'primary']], ready: () => field.focus(),
      body: [
        refused && make('p', { className: 'fault', role: 'alert' }, refused),
        make('p', {}, 'This server requires a token. An administrator creates one with ', make('code', {},
          'nestc token create NAME'), ' or on the page Server.'),
        make('label', {}, 'Token', field),
        make('label', { className: 'check' }, remembers, ' Remember it on this machine'),
      ],
    });
    if (answer !== 'ok') {
      // Left, for example to copy something from the page: the bar asks again.
      await clicked(document.getElementById('link'));
      continue;
    }
    storeToken(field.value.trim(), remembers.checked);
    return;
  }
}
