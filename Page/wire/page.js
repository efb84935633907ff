// /wire: the frames of this window, decoded, as they come and go. Cutting the link shows how the client resumes.

import '/client/wire/messages-more.js';
import { streamUnpacker } from '/client/client/unpack.js';
import { COMPRESSED, MORE } from '/client/wire/frames.js';
import { button, fill, make, style } from '../shell/dom.js';
import { bytesText, clockText, count, numberText, spanText } from '../shell/format.js';
import { Grid } from '../shell/grid.js';
import { FRAMES_MAX } from '../shell/tap.js';
import { belongsTo, describe, hexLines, isSecret, linesOf, nameOf } from './describe.js';
import { Follow } from './follow.js';
import { HoldBack } from './hold-back.js';
import { Names } from './names.js';

/** The least time between two drawings, in milliseconds. */
const DRAW_MS = 100;
/** Bytes that the hexadecimal view shows. */
const HEX_MAX = 4_096;

const KEYS = [{
  title: 'Wire',
  keys: [['↑ ↓', 'The frame after, the one before'], ['Enter', 'Open a frame'], ['Escape', 'Close it'],
    ['Space', 'Open a frame, too']],
}];

export async function open(main, app) {
  await style(import.meta.url, './page.css');
  const model = await app.nest.model().catch(() => null);
  return new WirePage(main, app, new Names(model));
}

class WirePage {
  keys = KEYS;
  #app;
  #names;
  #ring;
  #descriptions = new WeakMap();
  #unpacked = new WeakMap();
  #unpack = null;
  /** While paused, the frames that are shown of: no later ones. @type {any[] | null} */
  #held = null;
  #direction = 'both';
  #type = '';
  #text = '';
  #timer = null;
  #detail = null;
  #grid;
  #end;

  constructor(main, app, names) {
    this.#app = app;
    this.#names = names;
    this.#ring = app.link.frames;
    this.#grid = new Grid({
      label: 'Frames, the newest last', className: 'frames', empty: 'No frame is like that.',
      columns: [
        { name: 'time', text: 'Time' }, { name: 'direction', text: 'Direction', isQuiet: true },
        { name: 'message', text: 'Message' },
        { name: 'of', text: 'Of' }, { name: 'summary', text: 'What it says' },
        { name: 'after', text: 'After', className: 'number' }, { name: 'size', text: 'Size', className: 'number' },
      ],
      keyOf: ({ number }) => number, fill: (cells, entry, row) => this.#fill(cells, entry, row),
      onOpen: (entry) => this.#open(entry),
    });
    this.follow = new Follow(app);
    this.holdBack = new HoldBack(app.link.hold, (words) => app.announce(words));
    this.side = make('div', { className: 'side' });
    this.status = make('p', { className: 'soft status' });
    main.append(
      make('div', { className: 'head', data: { region: '' } },
        make('h1', {}, 'Wire'), this.#tools(), this.holdBack.element, this.follow.element),
      make('div', { className: 'split' },
        make('div', { className: 'list', data: { region: '' } }, this.#grid.element, this.status), this.side));
    this.main = main;
    this.onKey = (event) => this.#key(event);
    main.addEventListener('keydown', this.onKey);
    this.#end = this.#ring.follow(() => this.#later());
    this.#draw();
    this.#grid.toEnd();
  }

  go() {}

  close() {
    this.#end();
    clearTimeout(this.#timer);
    this.follow.close();
    this.holdBack.close();
    this.#grid.close();
    delete this.main.dataset.open;
    this.main.removeEventListener('keydown', this.onKey);
  }

  // MARK: Which frames

  #tools() {
    const filter = () => {
      this.#text = field.value.toLowerCase();
      this.#draw();
    };
    const field = make('input', {
      type: 'search', placeholder: 'Filter', 'aria-label': 'Filter by words', oninput: filter,
    });
    const direction = make('select', { 'aria-label': 'Direction', onchange: () => {
      this.#direction = direction.value;
      this.#draw();
    } }, [['both', 'Sent and received'], ['out', 'Sent'], ['in', 'Received']]
      .map(([value, text]) => make('option', { value }, text)));
    this.types = make('select', { 'aria-label': 'Type of message', onchange: () => {
      this.#type = this.types.value;
      this.#draw();
    } });
    const pause = button('Pause', () => {
      this.#held = this.#held ? null : [...this.#ring.entries];
      pause.setAttribute('aria-pressed', this.#held !== null);
      this.#draw();
    }, { 'aria-pressed': 'false' });
    const ping = button('Ping', () => this.#ping(ping));
    return make('div', { className: 'tools' }, field, this.types, direction, pause,
      button('Clear', () => this.#clear()), ping,
      button('Cut the link', () => this.#cut(), { className: 'danger' }));
  }

  /** The frames that can be shown. */
  get #entries() {
    return this.#held ?? this.#ring.entries;
  }

  /** Only types that were seen can be chosen. */
  #showTypes() {
    const seen = new Map();
    for (const { kind, type } of this.#entries) if (kind === 'frame') seen.set(type, (seen.get(type) ?? 0) + 1);
    const options = [...seen].map(([type, number]) => [String(type), `${nameOf(type)} (${number})`])
      .sort(([, a], [, b]) => (a < b ? -1 : 1));
    if (this.#type && !seen.has(Number(this.#type))) options.push([this.#type, nameOf(Number(this.#type))]);
    this.types.replaceChildren(...[['', 'All messages'], ...options].map(([value, text]) =>
      make('option', { value, selected: value === this.#type }, text)));
  }

  #isShown(entry) {
    if (entry.kind !== 'frame') return this.#direction === 'both' && this.#type === '' && this.#text === '';
    if (this.#direction !== 'both' && entry.isOut !== (this.#direction === 'out')) return false;
    if (this.#type !== '' && entry.type !== Number(this.#type)) return false;
    if (this.#text === '') return true;
    const { name, summary } = this.#described(entry);
    return `${name} ${summary}`.toLowerCase().includes(this.#text);
  }

  #later() {
    if (this.#held) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#draw();
    }, DRAW_MS);
  }

  #draw() {
    const wasAtEnd = this.#grid.isAtEnd;
    if (document.activeElement !== this.types) this.#showTypes();
    const shown = this.#entries.filter((entry) => this.#isShown(entry));
    this.#grid.set(shown);
    if (wasAtEnd) this.#grid.toEnd();
    const { dropped } = this.#ring;
    this.status.textContent = `${count(shown.length, 'line')} of ${numberText(this.#entries.length)}. The last ${
      numberText(FRAMES_MAX)} are kept, also those of other pages of this window.${
      dropped > 0 ? ` ${count(dropped, 'older one')} dropped.` : ''}${this.#held ? ' Paused.' : ''}`;
  }

  #clear() {
    this.#ring.clear();
    if (this.#held) this.#held = [];
    this.#draw();
  }

  // MARK: What a frame says

  /** The whole body, unpacked; null if it is not there (yet). */
  #bodyOf(entry) {
    if (!(entry.flags & COMPRESSED)) return entry.body.length === entry.size ? entry.body : null;
    const known = this.#unpacked.get(entry);
    if (known !== undefined) return known;
    this.#unpacked.set(entry, null);
    if (entry.body.length === entry.size) this.#unpackBody(entry);
    return null;
  }

  async #unpackBody(entry) {
    this.#unpack ??= streamUnpacker();
    this.#unpacked.set(entry, await this.#unpack(entry.body));
    this.#descriptions.delete(entry);
    this.#grid.refresh();
    if (this.#detail === entry) this.#open(entry);
  }

  #described(entry) {
    let known = this.#descriptions.get(entry);
    if (!known) {
      known = describe(entry, this.#bodyOf(entry), this.#names);
      this.#descriptions.set(entry, known);
    }
    return known;
  }

  #fill(cells, entry, row) {
    row.dataset.kind = entry.kind === 'frame' ? (entry.isOut ? 'out' : 'in') : entry.kind;
    cells.time.textContent = `${clockText(entry.time)}.${String(entry.time % 1_000).padStart(3, '0')}`;
    if (entry.kind !== 'frame') {
      cells.message.textContent = entry.kind === 'opened' ? 'connected' : 'link lost';
      cells.summary.textContent = entry.kind === 'closed' ? entry.text
        : `connection ${entry.connection} to ${entry.text}`;
      return;
    }
    const { name, summary, fault } = this.#described(entry);
    fill(cells.direction, make('span', { className: 'quiet' }, entry.isOut ? 'sent' : 'received'),
      make('span', { 'aria-hidden': 'true' }, entry.isOut ? '↑' : '↓'));
    cells.message.textContent = name;
    cells.of.textContent = entry.id === 0 ? '' : belongsTo(entry.id);
    cells.summary.textContent = summary || fault || '';
    cells.after.textContent = entry.after === null ? '' : spanText(entry.after * 1_000);
    cells.size.textContent = bytesText(entry.size);
  }

  #open(entry) {
    if (entry.kind !== 'frame') return;
    const { name, fields, fault } = this.#described(entry);
    this.#detail = entry;
    const title = make('h2', { tabIndex: -1 }, name);
    const body = this.#bodyOf(entry) ?? entry.body;
    const facts = [
      ['Direction', entry.isOut ? 'sent' : 'received'], ['Type', entry.type.toString(16).padStart(2, '0')],
      ['Of', belongsTo(entry.id)], ['Size', `${numberText(entry.size)} bytes, and 12 of the head`],
      entry.flags !== 0 && ['Flags', [entry.flags & MORE && 'MORE', entry.flags & COMPRESSED && 'COMPRESSED']
        .filter(Boolean).join(', ')],
      entry.after !== null && ['Answers', `${nameOf(entry.of.type)} after ${spanText(entry.after * 1_000)}`],
    ].filter(Boolean);
    fill(this.side, make('section', { className: 'detail', 'aria-label': 'The frame', data: { region: '' } },
      make('div', { className: 'detail-head' }, title, button('×', () => this.#closeDetail(),
        { className: 'plain', 'aria-label': 'Close the frame', title: 'Close (Escape)' })),
      make('dl', {}, facts.map(([key, value]) => [make('dt', {}, key), make('dd', {}, value)])),
      fault && make('p', { className: 'fault' }, fault),
      fields && make('pre', { className: 'fields', tabIndex: 0, role: 'group', 'aria-label': 'Fields' },
        linesOf(fields).join('\n') || 'no fields'),
      this.#hex(entry, body)));
    this.main.dataset.open = '';
    this.#grid.mark(entry.number);
    if (getComputedStyle(this.side).position === 'absolute') title.focus();
  }

  #hex(entry, body) {
    if (entry.size === 0) return null;
    if (isSecret(entry)) {
      return make('p', { className: 'soft' },
        'Its bytes are not shown: they contain the session and the token of this window.');
    }
    const cut = body.subarray(0, HEX_MAX);
    return make('details', {}, make('summary', {}, 'Bytes of the body'),
      make('pre', { className: 'hex', tabIndex: 0, role: 'group', 'aria-label': 'Bytes' }, hexLines(cut).join('\n')),
      body.length > cut.length && make('p', { className: 'soft' }, `The first ${bytesText(HEX_MAX)}.`));
  }

  #closeDetail() {
    if (!this.#detail) return;
    const { number } = this.#detail;
    this.#detail = null;
    fill(this.side);
    delete this.main.dataset.open;
    this.#grid.mark(null);
    this.#grid.focus(number);
  }

  #key(event) {
    if (event.key !== 'Escape' || event.defaultPrevented || !this.#detail || event.target.matches('input')) return;
    event.preventDefault();
    this.#closeDetail();
  }

  // MARK: The link

  async #ping(pressed) {
    pressed.disabled = true;
    const milliseconds = await this.#app.attempt(() => this.#app.nest.ping());
    pressed.disabled = false;
    if (milliseconds !== undefined) this.#app.notice(`To the server and back in ${spanText(milliseconds * 1_000)}.`);
  }

  #cut() {
    this.#app.link.cut();
    this.#app.announce('The link is cut. The client connects again by itself.');
  }
}
