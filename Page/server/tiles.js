// What the server does now: a tile for each number, with a line for the last two minutes.

import { make } from '../shell/dom.js';
import { bytesText, numberText, shortNumber, spanText } from '../shell/format.js';
import { drawn, HEIGHT, rate, Series, WIDTH } from './series.js';

const perSecond = (value) => (value < 9.95 ? String(Math.round(value * 10) / 10) : shortNumber(Math.round(value)));

/**
 * The tiles, in their order. `of`: the names of STATISTICS that it is made of, the first one that the server has;
 * `isRate`: growth in a second, else the value itself; `text`: the number for people; `unit`: what follows it.
 */
const TILES = [
  { title: 'Commits', of: ['commits'], isRate: true, text: perSecond, unit: '/s' },
  { title: 'Deliveries', of: ['deliveries', 'diffs_encoded'], isRate: true, text: perSecond, unit: '/s' },
  { title: 'Sent', of: ['bytes_out'], isRate: true, text: bytesText, unit: '/s' },
  { title: 'Received', of: ['bytes_in'], isRate: true, text: bytesText, unit: '/s' },
  { title: 'Requests', of: ['requests'], isRate: true, text: perSecond, unit: '/s' },
  { title: 'Connections', of: ['connections'], text: numberText },
  { title: 'Subscriptions', of: ['subscriptions'], text: numberText },
  { title: 'Views', of: ['views'], text: numberText },
  { title: 'Live rows', of: ['live_result_rows'], text: shortNumber },
  { title: 'Memory', of: ['memory_bytes', 'memory_resident_bytes', 'resident_bytes'], text: bytesText },
];

/** The times of commits in the last minute, in microseconds. */
const TIMES = [
  ['half within', 'commit_microseconds_p50'], ['99 of 100 within', 'commit_microseconds_p99'],
  ['longest', 'commit_microseconds_max'],
];

function graph() {
  const draw = (name, attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const area = draw('path', { class: 'area' });
  const line = draw('path', { class: 'line' });
  const svg = draw('svg', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', class: 'graph', 'aria-hidden': 'true',
  });
  svg.append(area, line);
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
    this.element = make('div', { className: 'card tile' }, make('h3', {}, spec.title),
      make('p', {}, this.value, spec.unit && make('span', { className: 'soft' }, spec.unit)), this.#graph.svg,
      this.most);
  }

  show(value) {
    this.#series.add(value);
    this.value.textContent = value === null ? '–' : this.spec.text(value);
    const { max } = this.#series;
    this.most.textContent = max === null ? '' : `highest ${this.spec.text(max)}`;
    this.#graph.show(this.#series.values);
  }
}

export class Tiles {
  #tiles = TILES.map((spec) => new Tile(spec));
  #before = null;
  #time = 0;

  constructor() {
    this.times = make('dl', {});
    this.commitTimes = make('div', { className: 'card tile times', hidden: true }, make('h3', {}, 'Time of a commit'),
      this.times, make('span', { className: 'soft' }, 'in the last minute'));
    this.element = make('div', { className: 'tiles' }, this.#tiles[0].element, this.commitTimes,
      this.#tiles.slice(1).map(({ element }) => element));
  }

  /** Shows the numbers of STATISTICS, read at a time of `performance.now()`. */
  show(statistics, time) {
    for (const tile of this.#tiles) {
      const name = tile.spec.of.find((each) => statistics.has(each));
      tile.element.hidden = name === undefined;
      if (name === undefined) continue;
      const value = statistics.get(name);
      tile.show(tile.spec.isRate ? rate(this.#before?.get(name), value, time - this.#time) : Number(value));
    }
    this.#showTimes(statistics);
    this.#before = statistics;
    this.#time = time;
  }

  #showTimes(statistics) {
    const known = TIMES.filter(([, name]) => statistics.has(name));
    this.commitTimes.hidden = known.length === 0;
    this.times.replaceChildren(...known.flatMap(([text, name]) => {
      const value = Number(statistics.get(name));
      return [make('dt', {}, text), make('dd', { className: 'number' }, value === 0 ? '–' : spanText(value))];
    }));
  }
}
