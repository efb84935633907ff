// One transaction: what it has changed, and what it would mean to take it back.

import { button, fill, make } from '../shell/dom.js';
import { count, labelText, millisecondsOf, momentText, numberText } from '../shell/format.js';
import { personText } from '../shell/people.js';
import { valueText } from '../shell/values.js';
import { LISTED_MAX, readChanges, totalOf } from './changes.js';
import { adviceText, conflictText, effectText, kindText } from './words.js';

/** Objects of a preview that are drawn. */
const SHOWN_MAX = 200;
/** How long the store must be still before the preview is made again, in milliseconds. */
const SETTLE_MS = 400;

const SIGNS = { inserted: ['+', 'inserted'], updated: ['~', 'changed'], deleted: ['−', 'deleted'] };

const POLICIES = [
  ['keep', 'Keep', 'What has been changed since stays.'],
  ['force', 'Force', 'Overwrites what has been changed since, and deletes what was put inside.'],
  ['strict', 'Strict', 'Takes back all of it or nothing.'],
];

const VERBS = { undo: 'Undo', redo: 'Redo', revert: 'Take it back' };

/** A line for an object: a sign, its entity and number with a link to it, its label. */
function objectLine({ change, entity, id, label = '', properties = [] }, rest = []) {
  const [sign, word] = SIGNS[change];
  const name = `${labelText(entity)} #${id}`;
  return make('li', { data: { change } },
    make('span', { className: 'sign', 'aria-hidden': 'true' }, sign), make('span', { className: 'quiet' }, `${word} `),
    make('div', {},
      change === 'deleted' ? name : make('a', { href: `/explore/${encodeURIComponent(entity)}/${id}` }, name),
      label && ` “${labelText(label)}”`,
      properties.length > 0 && make('span', { className: 'soft' }, ` ${properties.map(labelText).join(', ')}`), rest));
}

/**
 * The panel of one transaction, or of the next undo or redo. `subject`: 'undo', 'redo' or a revision; for a revision
 * also `entry` of HISTORY, and `siblings`, the transactions of its undo entry. `done(receipt, kind)`: it is taken back.
 */
export class Detail {
  #app;
  #subject;
  #entry;
  #policy = 'keep';
  #rehomes = false;
  #stop = new AbortController();
  #settling = null;
  /** Counts previews: only the newest is shown. */
  #turn = 0;
  #isBusy = false;

  constructor(app, { subject, entry, siblings, done, close }) {
    Object.assign(this, { done });
    this.#app = app;
    this.#subject = subject;
    this.#entry = entry;
    this.changes = make('div', { className: 'changes' });
    this.preview = make('div', { className: 'preview', 'aria-live': 'polite' });
    this.title = make('h2', { tabIndex: -1 }, entry ? labelText(entry.name) || 'no name' : `${VERBS[subject]} next`);
    this.element = make('section', { className: 'detail', 'aria-label': 'The transaction', data: { region: '' } },
      make('div', { className: 'detail-head' }, this.title,
        button('×', close, { className: 'plain', 'aria-label': 'Close the transaction', title: 'Close (Escape)' })),
      entry && this.#facts(siblings), entry && this.#hasFeed && this.changes, this.#undoPart());
    if (entry && this.#hasFeed) this.#readChanges();
    this.update(0);
  }

  get subject() {
    return this.#subject;
  }

  /** A confined token has no feed of changes, and cannot take back single transactions. */
  get #hasFeed() {
    return this.#app.root === null;
  }

  get #kind() {
    return typeof this.#subject === 'number' ? 'revert' : this.#subject;
  }

  close() {
    this.#stop.abort();
    clearTimeout(this.#settling);
    this.element.remove();
  }

  /** The store has changed: what taking back means may be something else now. */
  update(pause = SETTLE_MS) {
    if (!this.preview.isConnected && pause > 0) return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#showPreview(), pause);
  }

  #facts(siblings) {
    const { revision, time } = this.#entry;
    const kind = kindText(this.#entry);
    const others = siblings.filter((each) => each !== revision);
    return make('dl', {}, [
      ['Author', personText(this.#entry)],
      ['When', momentText(millisecondsOf(time))],
      ['Revision', numberText(revision)],
      kind && ['Kind', this.#entry.reverted === null ? kind
        : make('a', { href: `/history/${this.#entry.reverted}` }, kind)],
      others.length > 0 && ['With it', [`${count(others.length, 'more transaction')} of one undo entry: `,
        others.slice(0, 20).map((each) => [make('a', { href: `/history/${each}` }, String(each)), ' '])]],
    ].filter(Boolean).map(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
  }

  async #readChanges() {
    const { revision } = this.#entry;
    fill(this.changes, make('p', { className: 'soft' }, 'Reading what it changed…'));
    let sum = null;
    try {
      await readChanges(this.#app.nest, revision, revision, (_, read) => { sum = read; }, this.#stop.signal);
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      const isOld = error.code === 'REVISION_DROPPED';
      fill(this.changes, make('p', { className: 'soft' },
        isOld ? 'The journal no longer has what this transaction changed.' : error.message));
      return;
    }
    if (this.#stop.signal.aborted) return;
    const total = sum ? totalOf(sum) : 0;
    const listed = sum?.objects ?? [];
    fill(this.changes,
      make('h3', {}, `It changed ${sum?.isMore ? 'at least ' : ''}${count(total, 'object')}`),
      make('ul', { className: 'objects' }, listed.map((object) => objectLine(object))),
      total > listed.length && make('p', { className: 'soft' }, `These are the first ${LISTED_MAX}.`));
  }

  // MARK: Taking it back

  #undoPart() {
    const kind = this.#kind;
    if (kind === 'revert' && !this.#hasFeed) {
      return make('p', { className: 'soft' },
        'Your token can undo and redo in order. It cannot take back one transaction.');
    }
    const name = `policy-${kind}-${this.#subject}`;
    const policy = ([value, text, words]) => make('label', { className: 'check' },
      make('input', { type: 'radio', name, value, checked: value === this.#policy, onchange: () => {
        this.#policy = value;
        this.#showPreview();
      } }), make('span', {}, text, make('span', { className: 'soft' }, ` ${words}`)));
    this.act = button(VERBS[kind], () => this.#takeBack(), { className: 'primary' });
    return make('div', { className: 'take-back' },
      make('h3', {}, kind === 'revert' ? 'Taking it back' : `What ${kind} would do now`),
      make('fieldset', {}, make('legend', { className: 'quiet' }, 'What was changed since'), POLICIES.map(policy),
        this.#hasFeed && make('label', { className: 'check' }, make('input', { type: 'checkbox', onchange: (event) => {
          this.#rehomes = event.target.checked;
          this.#showPreview();
        } }), make('span', {}, 'Elsewhere if need be', make('span', { className: 'soft' },
          ' An object whose owner is deleted comes back under the nearest one above it.')))),
      this.preview, this.#app.can('write') ? make('div', { className: 'actions' }, this.act) : make('p', {
        className: 'soft' }, 'Your token may look, but not undo.'));
  }

  get #options() {
    return { policy: this.#policy, rehomes: this.#rehomes };
  }

  get #isOfOther() {
    return this.#entry !== null && !this.#entry.isMine;
  }

  async #showPreview() {
    const turn = (this.#turn += 1);
    const what = this.#kind === 'revert' ? { revision: this.#subject, ofAnyone: this.#isOfOther } : this.#kind;
    if (this.#kind === 'revert' && !this.#hasFeed) return;
    try {
      const found = await this.#app.nest.preview(what, this.#options);
      if (turn !== this.#turn || this.#stop.signal.aborted) return;
      this.#drawPreview(found);
    } catch (error) {
      if (turn !== this.#turn || this.#stop.signal.aborted) return;
      this.#drawRefusal(error);
    }
  }

  #drawPreview(found) {
    const { name, changes, conflicts, conflictCount, insertedCount, updatedCount, deletedCount } = found;
    const isNothing = insertedCount + updatedCount + deletedCount === 0;
    this.act.disabled = this.#isBusy || isNothing;
    if (!this.#entry) this.title.textContent = `${VERBS[this.#kind]}: ${labelText(name)}`;
    const values = (one) => one.values.map(({ property, before, after }) => make('div', { className: 'value' },
      make('span', { className: 'soft' }, `${labelText(property)} `), make('del', {}, valueText(before)), ' → ',
      make('ins', {}, valueText(after))));
    const shown = changes.slice(0, SHOWN_MAX);
    fill(this.preview,
      make('p', {}, effectText(found)),
      conflictList(conflicts, conflictCount),
      make('ul', { className: 'objects' }, shown.map((one) => objectLine({ ...one, properties: [] }, values(one)))),
      insertedCount + updatedCount + deletedCount > shown.length && make('p', { className: 'soft' },
        `These are the first ${shown.length}.`));
  }

  #drawRefusal(error) {
    this.act.disabled = true;
    const isEmpty = error.code === 'NOTHING_TO_UNDO' || error.code === 'NOTHING_TO_REDO';
    const advice = adviceText(error);
    fill(this.preview,
      make('p', { className: isEmpty ? 'soft' : 'fault' },
        isEmpty ? `There is nothing to ${this.#kind}.` : error.message),
      advice && make('p', { className: 'soft' }, advice));
  }

  async #takeBack() {
    this.#isBusy = true;
    this.act.disabled = true;
    const { nest } = this.#app;
    const kind = this.#kind;
    const receipt = await this.#app.attempt(() => (kind === 'revert'
      ? nest.revert(this.#subject, { ...this.#options, ofAnyone: this.#isOfOther }) : nest[kind](this.#options)));
    this.#isBusy = false;
    if (this.#stop.signal.aborted) return;
    this.update(0);
    if (receipt) this.done(receipt, kind);
  }
}

/** What an undo leaves or overwrites, by name; null if there is nothing. */
export function conflictList(conflicts, total) {
  if (total === 0) return null;
  return make('ul', { className: 'conflicts' }, conflicts.map((conflict) => {
    const { text, isLoss } = conflictText(conflict);
    return make('li', { className: isLoss ? 'loss' : '' }, text);
  }), total > conflicts.length && make('li', {}, `and ${count(total - conflicts.length, 'more')}`));
}
