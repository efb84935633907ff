// Dialogs for what is shown: columns with paths and functions of related objects, sections, totals.

import { ask } from '../shell/dialog.js';
import { button, make, newID } from '../shell/dom.js';
import { isHidden, isNumber, isRelationship, readPath, typeWords } from './paths.js';
import { columnsOf, readSection } from './query.js';

const COLUMNS_MAX = 64;
const TOTALS_MAX = 16;
/** Relationships that a path follows at most. */
const STEPS_MAX = 4;

/** Paths that can be columns, from an entity: own properties, counts and functions; and where to-one ones lead. */
function paths(model, entity, prefix) {
  const found = [];
  for (const property of entity.properties.filter((one) => !isHidden(one))) {
    const path = `${prefix}${property.name}`;
    if (!isRelationship(property)) found.push({ path, words: property.type });
    else if (!property.isToMany) found.push({ path, words: typeWords(model, property),
      opens: model.entity(property.destination) });
    else {
      const other = model.entity(property.destination);
      found.push({ path: `${path}.@count`, words: `how many ${other.name}` });
      for (const attribute of other.attributes) {
        const functions = isNumber(attribute.type) ? ['@sum', '@min', '@max', '@avg'] : ['@min', '@max'];
        for (const name of functions) found.push({ path: `${path}.${name}.${attribute.name}`,
          words: `of ${other.name}`, isRare: true });
      }
    }
  }
  return found;
}

/** Asks for columns. Resolves with a list, or with null: as before; with []: the usual ones. */
export async function chooseColumns(model, entity, query) {
  let chosen = [...columnsOf(entity, query)];
  const order = make('ol', { className: 'chosen' });
  const fault = make('p', { className: 'fault', role: 'status', hidden: true });
  const boxes = new Map();
  const list = newID('paths');
  const other = make('input', { placeholder: 'another path, such as whole.whole.name', autocomplete: 'off',
    spellcheck: false, 'aria-label': 'Another path', list });
  const draw = () => {
    order.replaceChildren(...chosen.map((path, index) => {
      const move = (by) => {
        chosen.splice(index + by, 0, ...chosen.splice(index, 1));
        draw();
        order.children[index + by]?.querySelector(by < 0 ? '.up' : '.down')?.focus();
      };
      return make('li', {},
        make('div', { className: 'item' }, make('code', {}, path), make('span', { className: 'tools' },
        button('↑', () => index > 0 && move(-1),
          { className: 'plain up', 'aria-label': `${path}: further left`, disabled: index === 0 }),
        button('↓', () => move(1),
          { className: 'plain down', 'aria-label': `${path}: further right`, disabled: index === chosen.length - 1 }),
        button('×', () => toggle(path, false), { className: 'plain', 'aria-label': `Leave out ${path}` }))));
    }));
    for (const [path, box] of boxes) box.checked = chosen.includes(path);
  };
  const toggle = (path, isOn) => {
    chosen = chosen.filter((each) => each !== path);
    if (isOn) chosen.push(path);
    fault.hidden = chosen.length <= COLUMNS_MAX;
    fault.textContent = `At most ${COLUMNS_MAX} columns.`;
    draw();
  };
  const group = (title, at, prefix, depth) => {
    const entries = paths(model, at, prefix);
    const line = ({ path, words, opens }) => {
      const box = make('input', { type: 'checkbox', onchange: () => toggle(path, box.checked) });
      boxes.set(path, box);
      const label = make('label', { className: 'check' }, box, make('code', {}, path),
        make('span', { className: 'soft' }, ` ${words}`));
      if (!opens || depth >= STEPS_MAX) return label;
      const more = make('details', {}, make('summary', {}, `of ${path}`));
      // Made when it is opened: models have circles.
      more.addEventListener('toggle', () => {
        if (!more.open || more.children.length > 1) return;
        more.append(group(null, opens, `${path}.`, depth + 1));
        draw();
      });
      return [label, more];
    };
    const rare = entries.filter((one) => one.isRare);
    return make('div', { className: 'paths' }, title && make('h3', {}, title),
      entries.filter((one) => !one.isRare).flatMap(line),
      rare.length > 0 ? make('details', {}, make('summary', {}, 'functions of related objects'), rare.flatMap(line))
        : null);
  };
  const add = () => {
    const path = other.value.trim();
    const isPath = readPath(model, entity, path) !== null;
    fault.hidden = isPath;
    fault.textContent = `${path} is no path to a value of ${entity.name}`;
    if (!isPath) return;
    toggle(path, true);
    other.value = '';
  };
  other.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    add();
  });
  const body = [make('div', { className: 'two' },
    make('div', {}, group(entity.name, entity, '', 1), make('div', { className: 'line' }, other, button('Add', add))),
    make('div', {}, make('h3', {}, 'From left to right'), order)), fault];
  draw();
  const answer = await ask({ title: 'Columns', wide: true, body,
    actions: [['usual', 'The usual ones'], ['', 'Cancel'], ['ok', 'Show', 'primary']] });
  if (answer === 'usual') return [];
  return answer === 'ok' && chosen.length > 0 && chosen.length <= COLUMNS_MAX ? chosen : null;
}

/** The keys of sections that an entity has: `[text, words]`. */
export function sectionKeys(entity) {
  const keys = [];
  for (const { name, type } of entity.attributes) {
    if (type === 'string' || type === 'uri') keys.push([`firstCharacter(${name})`, `${name}: first letter`],
      [name, name]);
    else if (type === 'date') keys.push([`year(${name})`, `${name}: year`], [`month(${name})`, `${name}: month`],
      [`day(${name})`, `${name}: day`]);
    else if (!/^(decimal|data|large)/.test(type)) keys.push([name, name]);
  }
  return keys;
}

/** The keys behind to-one relationships: their labels. */
export function relatedSectionKeys(model, entity, labelOf) {
  return entity.relationships.filter((one) => !one.isToMany && !isHidden(one)).flatMap((one) => {
    const label = labelOf(model.entity(one.destination));
    return label?.type === 'string' ? [[`${one.name}.${label.name}`, `${one.name}.${label.name}`]] : [];
  });
}

/** The section that a text names, in words for a button. */
export const sectionWords = (text) => {
  const section = readSection(text);
  if (!section) return '';
  const by = section.by === 'firstCharacter' ? 'first letter' : section.by;
  return by === 'value' ? section.path : `${section.path} by ${by}`;
};

/** Totals that make sense for the columns shown. */
function totalTexts(model, entity, query) {
  const texts = ['count'];
  const known = new Set([...entity.attributes.map(({ name }) => name), ...columnsOf(entity, query)]);
  for (const path of known) {
    const found = readPath(model, entity, path);
    if (!found || found.isToOne || /^(data|large)/.test(found.type)) continue;
    const functions = isNumber(found.type) ? ['sum', 'min', 'max', 'avg'] : ['min', 'max'];
    texts.push(...functions.map((name) => `${name}(${path})`));
  }
  return texts;
}

/** Asks for totals. Resolves with a list, or with null: as before. */
export async function chooseTotals(model, entity, query) {
  const known = [...new Set([...query.totals, ...totalTexts(model, entity, query)])];
  const boxes = known.map((text) =>
    make('input', { type: 'checkbox', value: text, checked: query.totals.includes(text) }));
  const byPath = new Map();
  for (const [index, text] of known.entries()) {
    const path = /\((.*)\)/.exec(text)?.[1] ?? '';
    byPath.set(path, [...(byPath.get(path) ?? []), index]);
  }
  const body = [make('p', { className: 'soft' }, 'Live values over all rows, and over those of each section.'),
    make('div', { className: 'totals-choice' },
      [...byPath].map(([path, indexes]) => make('fieldset', {}, make('legend', {}, path || 'rows'),
      indexes.map((index) =>
        make('label', { className: 'check' }, boxes[index], ` ${known[index].replace(/\(.*/, '')}`)))))];
  const fault = make('p', { className: 'fault', role: 'status', hidden: true }, `At most ${TOTALS_MAX} totals.`);
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  for (const box of boxes) box.addEventListener('change', () => { fault.hidden = chosen().length <= TOTALS_MAX; });
  const answer = await ask({ title: 'Totals', wide: true, body: [...body, fault],
    actions: [['none', 'None'], ['', 'Cancel'], ['ok', 'Show', 'primary']] });
  if (answer === 'none') return [];
  return answer === 'ok' ? chosen().slice(0, TOTALS_MAX) : null;
}
