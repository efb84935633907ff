// The identity of this window: its token, its name on a server without tokens, and its session, which owns the undo
// stack.

/** `{ session, token }`: a session belongs to one token, because a history shows what its session wrote. */
const SESSION = 'nest-session';
/** A token is kept until the window is closed; with "remember", on this machine. */
const TOKEN = 'nest-token';
const USER = 'nest-user';
/** How long a window waits for one that has just been closed to give its session back, in milliseconds. */
const HANDOVER_MS = 500;

/** The token; null: none. */
export const storedToken = () => sessionStorage.getItem(TOKEN) ?? localStorage.getItem(TOKEN);

/** Keeps a token. `remembers`: on this machine, not only in this window. */
export function storeToken(token, remembers) {
  forget();
  (remembers ? localStorage : sessionStorage).setItem(TOKEN, token);
}

/** Drops the token. */
export function forget() {
  sessionStorage.removeItem(TOKEN);
  localStorage.removeItem(TOKEN);
}

/** The name that others see, without a token; null: none. */
export const storedUser = () => localStorage.getItem(USER);

export function storeUser(name) {
  if (name) localStorage.setItem(USER, name);
  else localStorage.removeItem(USER);
}

/** The public number of a token, as it is in its text. */
const numberOf = (token) => /^\s*nest_(\d+)_/.exec(token ?? '')?.[1] ?? null;

/**
 * The session that this window had before it was loaded again; undefined: a new one. A window that was duplicated has a
 * copy of what the first one stored: both would take back each other's work, so the second one gets a new session.
 */
export async function ownSession(token) {
  const { session, token: of } = JSON.parse(sessionStorage.getItem(SESSION) ?? '{}');
  return session && of === numberOf(token) && await holds(session) ? session : undefined;
}

export function keepSession(session, token) {
  sessionStorage.setItem(SESSION, JSON.stringify({ session, token: numberOf(token) }));
  holds(session);
}

/** The session whose lock this window has. */
let held = null;

/** Whether no other window has the session: the lock of its name ends with the window. */
function holds(session) {
  if (held === session) return true;
  if (!navigator.locks) {
    const [entry] = performance.getEntriesByType('navigation');
    return entry?.type === 'reload' || entry?.type === 'back_forward';
  }
  const signal = AbortSignal.timeout(HANDOVER_MS);
  return new Promise((resolve) => {
    navigator.locks.request(`nest ${session}`, { signal }, () => {
      held = session;
      resolve(true);
      return new Promise(() => {});
    }).catch(() => resolve(false));
  });
}
