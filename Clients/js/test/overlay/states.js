// States and requests of the vectors, in the forms that the overlay takes and gives.

import { fromHex } from '../../wire/bytes.js';
import { decode } from '../../wire/messages.js';
import { decodeFetchRequest } from '../../wire/opposite.js';
import { sectionKey } from '../../wire/rows.js';
import { Double } from '../../wire/values.js';
import { read } from '../rules/vectors.js';

const isDouble = (value) => value !== null && typeof value === 'object' && 'double' in value;

/** A state of the vectors, in the form of wire/results.js. */
export const stateOf = ({ revision, projection, sections, window = null }) => ({
  revision, projection, position: window,
  sections: sections.map(({ key, rows }) => ({
    ...sectionKey(isDouble(key) ? new Double(read(key)) : read(key)),
    rows: rows.map(({ id, values }) => ({ id, values: values.map(read) })),
  })),
});

export const viewOf = ({ request, state }) => ({ request: decodeFetchRequest(fromHex(request)), state: stateOf(state) });

/** The body of a TRANSACTION without a key. */
export const mutationsOf = (hex) => decode('transaction', fromHex(`00${hex}`)).mutations;

export const ascending = (ids) => [...ids].sort((a, b) => a - b);

/** In one order of fields. */
export const shape = ({ revision, projection, sections, position }) => ({
  revision, projection, position: position && { ...position, start: { ...position.start } },
  sections: sections.map(({ key, hash, rows }) => ({ key, hash, rows: rows.map(({ id, values }) => ({ id, values })) })),
});
export const sorted = (position) => position && Object.fromEntries(Object.entries({
  ...position, start: Object.fromEntries(Object.entries(position.start).sort()),
}).sort());

/** What is shown of a view, or what the vectors say of it, to compare. */
export function asRead({ state, pending, undecided, doubts }) {
  const plain = shape('position' in state ? state : stateOf(state));
  return {
    ...plain, position: sorted(plain.position), pending: ascending(pending), undecided: ascending(undecided), doubts,
  };
}
