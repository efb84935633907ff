// The connection of the page: who one is, how the link is, and signing in with a token.

import { connect } from '/client/index.js';
import { ask } from './dialog.js';
import { make } from './dom.js';

/** The session owns what Undo takes back in this window, also after the page is loaded again. */
const SESSION = 'nest-session';
/** A token is kept until the window is closed; with "remember", on this machine. */
const TOKEN = 'nest-token';
/** The name of somebody on a server without tokens. */
const USER = 'nest-user';

const stored = (name) => sessionStorage.getItem(name) ?? localStorage.getItem(name);

/** Connects to the server of the page. Asks for a token as long as one is needed. */
export async function open(listener) {
  let refused = null;
  for (;;) {
    const token = stored(TOKEN);
    try {
      const nest = await connect({
        clientName: 'nest page', token, user: token ? undefined : localStorage.getItem(USER) ?? undefined,
        session: ownSession(), onState: listener,
        sendsTokenInClear: token !== null && isSecureContext,
      });
      sessionStorage.setItem(SESSION, nest.session);
      return nest;
    } catch (error) {
      if (error.code !== 'UNAUTHENTICATED' && error.code !== 'TOKEN_EXPIRED') throw error;
      refused = token ? error.message : null;
      forget();
      await signIn(refused);
    }
  }
}

/** A window that was duplicated has the session of the first one: both would take back each other's work. */
function ownSession() {
  const [entry] = performance.getEntriesByType('navigation');
  return entry?.type === 'reload' || entry?.type === 'back_forward' ? sessionStorage.getItem(SESSION) ?? undefined
    : undefined;
}

/** Whether this window signs in with a token. */
export const hasToken = () => stored(TOKEN) !== null;

/** Drops the token. */
export function forget() {
  sessionStorage.removeItem(TOKEN);
  localStorage.removeItem(TOKEN);
}

async function signIn(refused) {
  for (;;) {
    const field = make('input', { type: 'password', autocomplete: 'current-password', required: true, spellcheck: false });
    const remembers = make('input', { type: 'checkbox' });
    const answer = await ask({
      title: 'Sign in', actions: [['ok', 'Sign in', 'primary']], ready: () => field.focus(),
      body: [
        make('p', {}, 'This server lets in who has a token. An administrator makes one with ', make('code', {},
          'nestc token create NAME'), '.'),
        refused && make('p', { className: 'fault', role: 'alert' }, refused),
        make('label', {}, 'Token', field),
        make('label', { className: 'check' }, remembers, ' Remember it on this machine'),
      ],
    });
    const token = field.value.trim();
    if (answer !== 'ok' || token === '') continue;
    (remembers.checked ? localStorage : sessionStorage).setItem(TOKEN, token);
    return;
  }
}

/** The name that others see; null: none. */
export const claimedName = () => localStorage.getItem(USER);

/** Keeps the name that others see, on a server without tokens. It counts from the next connection on. */
export function claimName(name) {
  if (name) localStorage.setItem(USER, name);
  else localStorage.removeItem(USER);
}
