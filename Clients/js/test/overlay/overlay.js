// What a client shows of its own writes agrees with Tests/Vectors/overlay.json, which Swift writes.

import { laid } from '../../overlay/overlay.js';
import { fromHex } from '../../wire/bytes.js';
import { decodeModel } from '../../wire/model.js';
import { NestDate } from '../../wire/values.js';
import { same } from '../rules/same.js';
import { asRead, mutationsOf, viewOf } from './states.js';

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
        same(asRead(got), asRead(wanted), what);
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
