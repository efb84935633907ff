/**
 * Totals of lists and of answers to FETCH. Only programs that ask for totals load this module.
 *
 * RESULT_TOTALS comes before the diff or the snapshot that it belongs to, and both are applied as one state; or it
 * comes alone, for the rows that the client holds.
 * @module
 */

import '../wire/messages-totals.js';
import { malformed } from '../wire/bytes.js';
import { Limits } from '../wire/limits.js';
import { decode } from '../wire/messages.js';
import { frozen } from '../wire/model.js';
import { handlers, unexpected } from './frames.js';
import { note } from './seen.js';
import { T } from './types.js';
import { View, views } from './views.js';

/** @typedef {import('./machine.js').Machine} Machine */

/**
 * The values by the names of their totals, without a prototype: every name is only a name.
 * @param {any[]} totals of the request
 * @param {any[]} values
 */
const named = (totals, values) =>
  frozen(Object.assign(Object.create(null), Object.fromEntries(totals.map(({ name }, i) => [name, values[i]]))));

/**
 * A state with other totals; sections that the message does not name keep theirs.
 * @param {any} state
 * @param {any} message RESULT_TOTALS
 * @param {any[]} totals of the request
 * @throws NestError MALFORMED if they do not belong to the state
 */
function withTotals(state, message, totals) {
  const { revision, values } = message;
  if (revision !== state.revision) {
    throw malformed(`totals of revision ${revision} are before rows of ${state.revision}`);
  }
  if (values.length !== totals.length) throw malformed('there are other totals than the request has');
  const sections = state.sections.slice();
  for (const { index, values: those } of message.sections) {
    if (!sections[index]) throw malformed('there are totals of a section that is not there');
    sections[index] = { ...sections[index], totals: named(totals, those) };
  }
  return { ...state, sections, totals: named(totals, values) };
}

/** A view whose states may have totals. */
export class TotalsView extends View {
  /** What came before the next diff or snapshot. @type {any} */
  next = null;

  /** @returns {any[]} those of its request */
  get totals() {
    const [list] = this.lists;
    return list?.spec.wire.totals ?? [];
  }

  /** @param {Machine} m @param {{ type: number, body: Uint8Array }} frame @param {boolean} hasMore */
  frame(m, frame, hasMore) {
    if (frame.type === T.resultTotals) this.summed(m, decode('resultTotals', frame.body));
    else super.frame(m, frame, hasMore);
  }

  /** @param {Machine} m @param {any} message RESULT_TOTALS */
  summed(m, message) {
    note(m, message.revision);
    this.next = message;
    if (message.isBeforeRows) return;
    const { head } = this;
    if (!head || !this.isReady || head.revision > message.revision) {
      this.next = null;
      return;
    }
    head.revision = message.revision;
    this.state = { ...this.state, revision: message.revision };
    this.arrived(m, { type: 'totals' });
  }

  /** @param {Machine} m @param {any} diff @param {number} bytes */
  diffed(m, diff, bytes) {
    super.diffed(m, diff, bytes);
    // The diff may be one that the state has already.
    this.next = null;
  }

  /** @param {Machine} m @param {{ type: string, [name: string]: any }} change @param {number} [bytes] */
  arrived(m, change, bytes) {
    const { next, totals } = this;
    this.next = null;
    if (next) {
      try {
        this.state = withTotals(this.state, next, totals);
      } catch (error) {
        return this.restart(m, /** @type {any} */ (error).message);
      }
    }
    super.arrived(m, change, bytes);
  }
}

views.View = TotalsView;

handlers.set(T.resultTotals, (m, frame) => {
  const { id, body } = frame;
  if (id >= Limits.viewIDMin) {
    const view = m.views.get(id);
    // Those of a view that the client has left are ignored.
    if (view instanceof TotalsView) view.frame(m, frame, false);
    return;
  }
  const entry = m.table.inFlight.get(id);
  if (!entry) return;
  const { type, totals = [] } = entry.request;
  if (type !== T.fetch) return unexpected(m, frame);
  const message = decode('resultTotals', body);
  entry.totals = (state) => withTotals(state, message, totals);
});
