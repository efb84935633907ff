// Totals: field 10 of a fetch request, and RESULT_TOTALS. Importing this file adds them to request.js and messages.js.
import { checked, choice, codec, list, struct, value, varint } from './codec.js';
import { Limits } from './limits-more.js';
import { addMessages } from './messages.js';
import { path, requestFields } from './request.js';

const totalFunction = choice(['count', 'sum', 'min', 'max', 'avg']);

/** `{function: 'count'}`, or `{function, path}`. */
const total = codec((r) => {
  const name = totalFunction.read(r);
  return name === 'count' ? { function: name } : { function: name, path: path.read(r) };
}, (w, v) => {
  totalFunction.write(w, v.function);
  if (v.function !== 'count') path.write(w, v.path);
});
requestFields[10] = ['totals', list(total, 1, Limits.totalsMax), []];

const values = list(value, 1, Limits.totalsMax);

addMessages({
  resultTotals: [0xb4, checked(struct({
    revision: varint, isBeforeRows: choice([false, true]), values, sections: list(struct({ index: varint, values }), 2),
  }), (v) => v.sections.every((section, i) => section.values.length === v.values.length
      && (i === 0 || section.index > v.sections[i - 1].index)), 'totals of sections do not fit')],
});
