// What /server decides without a page: orders, expiries, verdicts. Pure.

import { ageText, count, millisecondsOf } from '../shell/format.js';
import { personText } from '../shell/names.js';

// MARK: Connections

/** The author that a connection would be in a history. */
export const authorOf = ({ user, userClaimed, session }) => ({ user, userClaimed, sessionNumber: session });

/** The name of the user of a connection, or of its session. */
export const nameOf = (one) => personText(authorOf(one));

/** What a column is sorted by: a number or a text of a connection. */
const KEYS = {
  who: (one) => nameOf(one).toLocaleLowerCase(), client: (one) => one.name, address: (one) => one.address,
  since: (one) => Number(one.connectedAt?.microseconds ?? 0), subscriptions: (one) => one.subscriptions,
  inFlight: (one) => one.requestsInFlight, queued: (one) => one.bytesQueued, received: (one) => one.bytesIn,
  sent: (one) => one.bytesOut,
};

/** Connections in the order of a column; equal ones by number. */
export function sorted(clients, column, isDescending) {
  const key = KEYS[column];
  const sign = isDescending ? -1 : 1;
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...clients].sort((a, b) => sign * compare(key(a), key(b)) || a.number - b.number);
}

// MARK: Tokens

/** When a token expires, in words. `now`: milliseconds since 1970. */
export function expiryText({ expires }, now) {
  if (expires === null) return 'never';
  const time = millisecondsOf(expires);
  return time <= now ? 'has expired' : ageText(time, now);
}

const DAY_MS = 86_400_000;

/** When a token may expire: [value, text, days from now]. */
export const EXPIRIES = [
  ['never', 'Never', null], ['1', 'In a day', 1], ['30', 'In 30 days', 30], ['90', 'In 90 days', 90],
  ['365', 'In a year', 365], ['date', 'On a day…', null],
];

/** The relationships that lead down a hierarchy: what a token can be confined along. */
export function ways(model) {
  return model.entities.flatMap((entity) => entity.relationships
    .filter(({ isToMany, destination }) => isToMany && destination === entity.number)
    .map(({ name }) => ({ entity: entity.name, relationship: name })));
}

/** The date that a choice means; null: never. `now`: milliseconds since 1970, `day`: what a date field holds. */
export function expiryOf(choice, day, now) {
  const days = EXPIRIES.find(([value]) => value === choice)?.[2] ?? null;
  if (days !== null) return new Date(now + days * DAY_MS);
  // The end of the day, in the time of this place.
  return choice === 'date' ? new Date(`${day}T23:59:59`) : null;
}

// MARK: Clusters

/** How far a node is behind the log: in records. */
export function behindText({ position }, head) {
  if (position === null) return 'not known';
  const behind = Math.max(0, head - position);
  return behind === 0 ? 'nothing' : count(behind, 'record');
}

/** What the nodes found at a mark: 'equal', 'different', or 'waiting' for those whose lease has not ended. */
export function verdictOf({ nodes, verifications }) {
  const found = new Map(verifications.map(({ node, digest }) => [node, digest]));
  if (new Set(found.values()).size > 1) return 'different';
  return nodes.every(({ id, role }) => role === 'stopped' || found.has(id)) ? 'equal' : 'waiting';
}
