// How the server answers the present request, in plain words.

import { make } from '../shell/dom.js';
import { bytesText, count } from '../shell/format.js';

const READING = {
  ordered: 'The store returns them in order.', sorted: 'The store returns them, and the server sorts them.',
  examined: 'The store returns candidates; the server filters and sorts them.',
};

const routingWords = ({ routing, route }) => ({
  value: `Of each commit only objects with ${route}, before or after it, are looked at.`,
  pair: `Of each commit only objects and pairs of ${route} are looked at.`,
  table: `Every changed object of ${route} is looked at.`,
}[routing]);

/** Lines of an explanation: `[what, words]`. */
export function explanationLines(found) {
  const lines = found.request.map(({ name, text }) => [name[0].toUpperCase() + name.slice(1), text]);
  lines.push(['First rows', `${found.candidates}. ${READING[found.reading]}`], ['Changes', routingWords(found)]);
  for (const { text, tables } of found.paths) {
    lines.push(['Reads', `${text}: changes of ${tables.join(', ')} are traced back to rows.`]);
  }
  for (const { text, objects } of found.subtrees) {
    const those = objects === null ? 'its objects are' : `${count(objects, 'object')} ${objects === 1 ? 'is' : 'are'}`;
    lines.push(['Sub-tree', `${text}: ${those} kept as a set; moving one also moves those below it.`]);
  }
  lines.push(['After a break', `A client that comes back gets the net difference${found.isInJournal
    ? ', even after a restart of the server.' : ' as long as the result is kept, and a snapshot after a restart.'}`]);
  const { live } = found;
  if (!live) lines.push(['Now', 'No client follows it.']);
  else {
    const sections = live.sections === 1 ? '' : ` in ${count(live.sections, 'section')}`;
    lines.push(['Now', `${count(live.rows, 'row')}${sections}, ${bytesText(live.bytes)} of memory; shared by `
      + `${count(live.subscriptions, 'subscription')} in ${count(live.views, 'view')}.`],
    ['So far', `Looked at ${count(live.evaluations, 'object')}; changed by ${count(live.changes, 'commit')}.`]);
  }
  return lines;
}

/** Shows how the server evaluates a request. */
export async function showExplanation(app, request) {
  const found = await app.nest.explain(request);
  await app.ask({
    title: 'How the server answers this', wide: true,
    body: [make('dl', { className: 'explanation' },
      explanationLines(found).map(([what, words]) => [make('dt', {}, what), make('dd', {}, words)]))],
  });
}
