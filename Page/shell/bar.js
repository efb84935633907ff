// The bar: the pages, the state of the link, the user.

import { announce } from './notice.js';
import { ask, askText } from './dialog.js';
import { make } from './dom.js';
import { labelText, momentText } from './format.js';
import { storedToken, storedUser } from './identity.js';

const $ = (id) => document.getElementById(id);

/** Shows the links to the pages that the user may open. */
export function showPlaces(pages, current) {
  $('places').replaceChildren(...pages.map(([name, { text }]) => make('a', {
    href: `/${name}`, 'aria-current': name === current ? 'page' : undefined,
  }, text)));
}

/** The words of a state of the link. */
export function linkText({ phase, attemptAt, holdsBack }, now) {
  if (phase === 'reconnecting') {
    const seconds = attemptAt === null ? 0 : Math.ceil((attemptAt - now) / 1_000);
    return seconds > 0 ? `offline, next attempt in ${seconds} s` : 'offline, connecting';
  }
  const live = holdsBack ? 'live, holding back' : 'live';
  return { connecting: 'connecting', ready: live, signedOut: 'signed out', failed: 'no connection' }[phase];
}

/** The phases in which the client does not connect again by itself. */
const ENDED = new Set(['signedOut', 'failed']);

let ticking = null;
let last = null;

/** Shows how the link is, with a count-down to the next attempt, and says when it is lost and when it is back. */
export function showLink(state) {
  clearInterval(ticking);
  const show = () => {
    $('link').firstElementChild.textContent = linkText(state, performance.now());
  };
  $('link').dataset.state = ENDED.has(state.phase) ? 'closed' : state.phase;
  $('link').title = state.error?.message ?? (state.holdsBack ? 'Wire holds receipts back' : '');
  show();
  if (state.attemptAt !== null) ticking = setInterval(show, 500);
  if (last === 'ready' && state.phase === 'reconnecting') announce('Offline. What you type is kept.');
  if (last === 'reconnecting' && state.phase === 'ready') announce('Live again.');
  last = state.phase;
}

const MAY = { read: 'read', write: 'read and write', admin: 'do everything' };

/** The rows of the dialog: the user, and the server. */
function factsOf({ nest, root }) {
  const { server } = nest;
  return [
    ['You', server.user ? `${storedToken() ? '' : '~'}${labelText(server.user)}` : 'no name'],
    ['You may', `${MAY[server.role]}${root === null ? '' : `, at object ${root} and below`}`],
    server.tokenExpires !== null && ['Until', momentText(Number(server.tokenExpires) / 1_000)],
    ['Server', `${location.host} (${labelText(server.serverName)})`],
    server.store !== null && ['Store', `${labelText(server.store)}, at a ${server.nodeRole}`],
    server.sessionNumber !== null && ['Session', String(server.sessionNumber)],
  ].filter(Boolean);
}

/** Shows the user, the server and the state of the link, and what can be done about it. */
export async function showSelf(app, link) {
  const { phase, error, attemptAt } = link.state;
  if (phase === 'signedOut') return link.signIn();
  const isReady = phase === 'ready';
  const named = storedToken() ? ['out', 'Sign out', 'danger'] : ['name', 'Change my name'];
  const answer = await ask({
    title: isReady ? 'Connected' : 'Not connected',
    body: [
      error && make('p', { className: 'fault' }, error.message),
      !isReady && make('p', {}, `${attemptAt === null ? '' : `The next attempt is in ${
        Math.max(1, Math.ceil((attemptAt - performance.now()) / 1_000))} seconds. `}What you type is kept.`),
      app && make('dl', {}, factsOf(app).map(([name, value]) => [make('dt', {}, name), make('dd', {}, value)])),
    ],
    actions: [...(app ? [named] : []), ...(isReady ? [] : [['now', 'Try now']]), ['', 'Close', 'primary']],
  });
  if (answer === 'out') return link.signOut();
  if (answer === 'now') return phase === 'failed' ? link.renew() : link.tryNow();
  if (answer !== 'name') return undefined;
  const name = await askText({
    title: 'Your name', label: 'What others see beside what you do', value: storedUser() ?? '', isRequired: false,
    hint: 'This server has no tokens. Others see the name with ~, because no server has checked it.',
  });
  return name === null ? undefined : link.rename(name.trim());
}
