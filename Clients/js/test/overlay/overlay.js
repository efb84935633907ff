// What a client shows of its own writes agrees with Tests/Vectors/overlay.json, which Swift writes.

import { laid } from '../../overlay/overlay.js';
import { fromHex } from '../../wire/bytes.js';
import { decode } from '../../wire/messages.js';
import { decodeModel } from '../../wire/model.js';
import { decodeFetchRequest } from '../../wire/opposite.js';
import { sectionKey } from '../../wire/rows.js';
import { Double, NestDate } from '../../wire/values.js';
import { read } from '../rules/vectors.js';
import { same } from '../rules/same.js';

const isDouble = (value) => value !== null && typeof value === 'object' && 'double' in value;

/** A state of the vectors, in the form of wire/results.js. */
const stateOf = ({ revision, projection, sections, window = null }) => ({
  revision, projection, position: window,
  sections: sections.map(({ key, rows }) => ({
    ...sectionKey(isDouble(key) ? new Double(read(key)) : read(key)),
    rows: rows.map(({ id, values }) => ({ id, values: values.map(read) })),
  })),
});

const viewOf = ({ request, state }) => ({ request: decodeFetchRequest(fromHex(request)), state: stateOf(state) });

/** The body of a TRANSACTION without a key. */
const mutationsOf = (hex) => decode('transaction', fromHex(`00${hex}`)).mutations;

const ascending = (ids) => [...ids].sort((a, b) => a - b);

/** In one order of fields. */
const shape = ({ revision, projection, sections, position }) => ({
  revision, projection, position: position && { ...position, start: { ...position.start } },
  sections: sections.map(({ key, hash, rows }) => ({ key, hash, rows: rows.map(({ id, values }) => ({ id, values })) })),
});
const sorted = (position) => position && Object.fromEntries(Object.entries({
  ...position, start: Object.fromEntries(Object.entries(position.start).sort()),
}).sort());

export function run({ overlay }, test) {
  const models = overlay.models.map((hex) => decodeModel(fromHex(hex)));

  test('own writes are laid over states as the vectors say', () => {
    let pending = 0;
    overlay.cases.forEach((one, index) => {
      const views = one.views.map(viewOf);
      const transactions = one.transactions.map(mutationsOf);
      const found = laid(views, transactions, models[one.model], new NestDate(Number(one.now)));
      same(found.refused, one.refused, `case ${index}: refused`);
      one.laid.forEach((wanted, view) => {
        const what = `case ${index}, view ${view}`;
        const got = found.views[view];
        const [state, expected] = [shape(got.state), shape(stateOf(wanted.state))];
        same({ ...state, position: sorted(state.position) }, { ...expected, position: sorted(expected.position) }, what);
        same(ascending(got.pending), wanted.pending, `${what}: pending`);
        same(ascending(got.undecided), wanted.undecided, `${what}: undecided`);
        same(got.doubts, wanted.doubts, `${what}: doubts`);
        pending += got.pending.size;
      });
    });
    same(pending > 50, true, `${pending} pending rows`);
  });

  test('what no transaction changes is the same object', () => {
    for (const one of overlay.cases) {
      const views = one.views.map(viewOf);
      const found = laid(views, one.transactions.map(mutationsOf), models[one.model], new NestDate(0));
      found.views.forEach(({ state, pending, undecided }, index) => {
        const old = new Map(views[index].state.sections.flatMap(({ rows }) => rows.map((row) => [row.id, row])));
        for (const { rows } of state.sections) {
          for (const row of rows) {
            // Rows of outlines have depths and numbers of children, which change with other rows.
            const { columns, outline } = views[index].request;
            const isChanged = pending.has(row.id) || undecided.has(row.id) || columns.length > 0 || outline;
            same(row === old.get(row.id) || Boolean(isChanged), true, `row ${row.id}`);
          }
        }
        const none = laid(views, [], models[one.model], new NestDate(0));
        same(none.views[index].state === views[index].state, true);
      });
    }
  });
}
