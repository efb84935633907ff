// Numbers over time, from the counters and gauges of STATISTICS. Pure.

/** Samples that are kept of each series: two minutes of one a second. */
export const SAMPLES_MAX = 120;

/** A series of samples, oldest first; null where there is none. */
export class Series {
  values = [];

  add(value) {
    this.values.push(value);
    if (this.values.length > SAMPLES_MAX) this.values.shift();
  }

  get last() {
    return this.values.at(-1) ?? null;
  }

  get max() {
    return this.values.reduce((max, value) => (value === null || (max !== null && max >= value) ? max : value), null);
  }
}

/**
 * The growth of a counter in a second. null if it cannot be known: the first sample, or the server has started again,
 * so that the counter began anew.
 */
export function rate(before, after, milliseconds) {
  if (before === undefined || after === undefined || milliseconds <= 0) return null;
  const grown = Number(after) - Number(before);
  return grown < 0 ? null : grown * 1_000 / milliseconds;
}

/** The size of a drawing. */
export const WIDTH = SAMPLES_MAX - 1;
export const HEIGHT = 30;

/**
 * The path of a line through a series, the newest sample at the right edge, and of the area below it. The top is `top`,
 * or the largest value. A sample that is missing is a gap.
 */
export function drawn(values, top = Math.max(...values.map((value) => value ?? 0))) {
  const x = (index) => WIDTH - (values.length - 1 - index);
  const y = (value) => HEIGHT - 1 - (top > 0 ? value / top : 0) * (HEIGHT - 2);
  let line = '';
  let area = '';
  let run = [];
  const end = () => {
    if (run.length === 0) return;
    const points = run.map(([at, value]) => `${x(at)} ${round(y(value))}`).join('L');
    line += `M${points}`;
    area += `M${x(run[0][0])} ${HEIGHT}L${points}L${x(run.at(-1)[0])} ${HEIGHT}Z`;
    run = [];
  };
  values.forEach((value, index) => {
    if (value === null) end();
    else run.push([index, value]);
  });
  end();
  return { line, area };
}

const round = (value) => Math.round(value * 100) / 100;
