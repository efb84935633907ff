// What the server does now: a tile for each number, with a line for the last two minutes.

import { make } from '../shell/dom.js';
import { bytesText, numberText, shortNumber, spanText } from '../shell/format.js';
import { drawn, HEIGHT, rate, Series, WIDTH } from './series.js';

const perSecond = (value) => (value < 9.95 ? String(Math.round(value * 10) / 10) : shortNumber(Math.round(value)));

/**
 * The tiles, in their order. `of`: a name of STATISTICS; a tile without a number is not shown. `isRate`: growth in a
 * second, else the value itself; `text`: the number for people; `unit`: what follows it; `note`: what stands below.
 */
const TILES = [
  { title: 'Commits', of: 'commits', isRate: true, text: perSecond, unit: '/s' },
  { title: 'Deliveries', of: 'deliveries', isRate: true, text: perSecond, unit: '/s' },
  { title: 'Sent', of: 'bytes_out', isRate: true, text: bytesText, unit: '/s' },
  { title: 'Received', of: 'bytes_in', isRate: true, text: bytesText, unit: '/s' },
  { title: 'Requests', of: 'requests', isRate: true, text: perSecond, unit: '/s' },
  { title: 'Connections', of: 'connections', text: numberText, note: 'with those for files' },
  { title: 'Subscriptions', of: 'subscriptions', text: numberText },
  { title: 'Views', of: 'views', text: numberText },
  { title: 'Live rows', of: 'live_result_rows', text: shortNumber },
  { title: 'Memory', of: 'memory_resident_bytes', text: bytesText },
];

/** The times of commits in the last minute, in microseconds. */
const TIMES = [
  ['50 % within', 'commit_p50_us'], ['99 % within', 'commit_p99_us'], ['longest', 'commit_max_us'],
];
/** How many commits these times are of. */
const TIMED = 'commit_batches_60s';

function graph() {
  const draw = (name, attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const area = draw('path', { class: 'area' });
  const line = draw('path', { class: 'line' });
  // Where there are no samples yet.
  const base = draw('path', { class: 'base', d: `M0 ${HEIGHT - 1}H${WIDTH}` });
  const svg = draw('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', class: 'graph', 'aria-hidden': 'true',
  });
  svg.append(base, area, line);
  return {
    svg,
    show(values) {
      const paths = drawn(values);
      area.setAttribute('d', paths.area);
      line.setAttribute('d', paths.line);
    },
  };
}

class Tile {
  #series = new Series();
  #graph = graph();

  constructor(spec) {
    this.spec = spec;
    this.value = make('strong', {}, '–');
    this.most = make('span', { className: 'soft' });
    this.element = make('div', { className: 'card tile' }, make('h2', {}, spec.title),
      make('p', {}, this.value, spec.unit && make('span', { className: 'soft' }, spec.unit)), this.#graph.svg,
      this.most);
  }

  show(value) {
    this.#series.add(value);
    this.value.textContent = value === null ? '–' : this.spec.text(value);
    const { max } = this.#series;
    const { note } = this.spec;
    this.most.textContent = note ?? (max === null ? '' : `highest ${this.spec.text(max)}`);
    this.#graph.show(this.#series.values);
  }
}

export class Tiles {
  #tiles = TILES.map((spec) => new Tile(spec));
  #before = null;
  #time = 0;

  constructor() {
    this.times = make('dl', {});
    this.timed = make('span', { className: 'soft' });
    this.commitTimes = make('div', { className: 'card tile times', hidden: true }, make('h2', {}, 'Time of a commit'),
      this.times, this.timed);
    this.element = make('div', { className: 'tiles' }, this.#tiles[0].element, this.commitTimes,
      this.#tiles.slice(1).map(({ element }) => element));
  }

  /** Shows the numbers of STATISTICS, read at a time of `performance.now()`. */
  show(statistics, time) {
    for (const tile of this.#tiles) {
      const { of, isRate } = tile.spec;
      tile.element.hidden = !statistics.has(of);
      if (tile.element.hidden) continue;
      const value = statistics.get(of);
      tile.show(isRate ? rate(this.#before?.get(of), value, time - this.#time) : Number(value));
    }
    this.#showTimes(statistics);
    this.#before = statistics;
    this.#time = time;
  }

  #showTimes(statistics) {
    this.commitTimes.hidden = !statistics.has(TIMED);
    if (this.commitTimes.hidden) return;
    const commits = Number(statistics.get(TIMED));
    this.times.replaceChildren(...TIMES.flatMap(([text, name]) => [make('dt', {}, text),
      make('dd', { className: 'number' }, commits === 0 ? '–' : spanText(Number(statistics.get(name))))]));
    this.timed.textContent = commits === 0 ? 'none in the last minute'
      : `${numberText(commits)} in the last minute`;
  }
}
