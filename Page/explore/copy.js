// The present request as people would write it: for nestc, for Swift, for JavaScript.

import { columnsOf, readSection, sortOf } from './query.js';

/** A word for a POSIX shell. */
export const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A text of JavaScript in single quotation marks. */
const jsText = (text) => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

/** A text of Swift: no interpolation can begin in it, because each backslash is escaped. */
const swiftWord = (text) =>
  `"${text.replace(/["\\]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}"`;

/** Whether nestc would leave out the root object of an entity, which this page shows. */
const hasRoot = (entity) => entity.root !== null && entity.root !== undefined;

export function nestcText(entity, query) {
  const words = ['nestc', 'fetch'];
  const add = (name, value) => value && words.push(name, shellWord(value));
  if (query.of) {
    add('--of', String(query.of.id));
    add('--relationship', query.of.relationship);
  } else add('--entity', query.entity);
  add('--where', query.where);
  add('--sort', sortOf(query));
  add('--section', query.section);
  add('--properties', columnsOf(entity, query).join(','));
  add('--totals', query.totals.join(','));
  if (!query.of && hasRoot(entity)) words.push('--with-root');
  return words.join(' ');
}

/** A program for Node and for pages. `address`: that of the web port, such as `ws://host:7080/nest`. */
export function javaScriptText(entity, query, { address, zone }) {
  const { of } = query;
  const lines = [
    "import { connect } from 'nest-client';", '',
    `const nest = await connect({ url: ${jsText(address)}${zone ? `, zone: ${jsText(zone)}` : ''} });`,
    `const ${of ? 'owners' : 'objects'} = await nest.entity(${jsText(of ? of.entity : query.entity)});`,
  ];
  const steps = [of ? `owners.of(${of.id}, ${jsText(of.relationship)})` : 'objects'];
  if (query.where) steps.push(`.where(${jsText(query.where)})`);
  const sort = sortOf(query);
  if (sort) steps.push(`.sorted(${sort.split(',').map(jsText).join(', ')})`);
  steps.push(`.properties(${columnsOf(entity, query).map(jsText).join(', ')})`);
  const section = readSection(query.section);
  const by = section?.by === 'value' ? [] : [section?.by];
  if (section) steps.push(`.section(${[section.path, ...by].map(jsText).join(', ')})`);
  if (query.totals.length > 0) steps.push(`.totals(${query.totals.map(jsText).join(', ')})`);
  lines.push(`const request = ${steps.join('\n  ')};`, '', 'for await (const { state } of nest.results(request)) {',
    '  console.table(state.rows.map((row) => row.toJSON()));',
    ...(query.totals.length > 0 ? ['  console.log(state.totals);'] : []),
      '}');
  return `${lines.join('\n')}\n`;
}

/** A program of Swift. `host`: the name of the server. */
export function swiftText(entity, query, { host }) {
  const { of } = query;
  const parts = [];
  const add = (name, value) => value && parts.push(`${name}: ${value}`);
  add('where', query.where && swiftWord(query.where));
  add('sort', sortOf(query) && swiftWord(sortOf(query)));
  add('section', query.section && swiftWord(query.section));
  add('properties', `[${columnsOf(entity, query).map(swiftWord).join(', ')}]`);
  add('totals', query.totals.length > 0 && swiftWord(query.totals.join(', ')));
  const lines = [
    'import NestClient', '',
    `let client = NestClient(ClientConfiguration(host: ${swiftWord(host)}, port: 7000))`, 'try await client.connect()',
    `let entity = try await client.entity(${swiftWord(query.entity)})`,
    `${of ? 'var' : 'let'} request = try entity.request(\n    ${parts.join(',\n    ')}\n).request`,
  ];
  if (of) {
    lines.push(`let owner = try await client.entity(${swiftWord(of.entity)})`, 'request.source = FetchSource(object: '
      + `ObjectID(${of.id}), relationship: try owner.property(${swiftWord(of.relationship)}))`);
  }
  const { length } = query.totals;
  lines.push('let result = try await client.fetch(request)', 'for row in result.sections.flatMap(\\.rows) {',
    '    print(row.id, row.values)', '}', ...(length > 0 ? ['print(result.totals)'] : []));
  return `${lines.join('\n')}\n`;
}
