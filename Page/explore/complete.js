// Completion of predicates: what can stand at the caret, from the model. A pure function of text and place.

import { lex, QUANTIFIERS } from './lex.js';
import { isRelationship, propertiesOf, typeWords } from './paths.js';

/** Entries that are offered at one time. */
const ENTRIES_MAX = 50;

/** `text` is inserted, with the caret `back` signs before its end. */
const entry = (text, detail, back = 0) => ({ text, detail, back });

const TEXT_OPERATORS = [
  entry('CONTAINS[cd] ""', 'a part of it; c: any case, d: any accents', 1),
  entry('BEGINSWITH[cd] ""', 'its beginning', 1),
  entry('== ""', 'equal', 1), entry('!= ""', 'not equal', 1), entry('IN {""}', 'one of these', 2),
  entry('ENDSWITH[cd] ""', 'its end', 1), entry('LIKE[cd] "**"', '* any text, ? one sign', 2),
  entry('MATCHES ""', 'a regular expression for all of it', 1),
];
const ORDER_OPERATORS = ['==', '!=', '<', '<=', '>', '>='].map((sign) => entry(`${sign} `, {
  '==': 'equal', '!=': 'not equal', '<': 'less', '<=': 'less or equal', '>': 'greater', '>=': 'greater or equal',
}[sign]));
const MORE_OPERATORS = [entry('BETWEEN {, }', 'from … to …, both included', 3), entry('IN {}', 'one of these', 1)];
const NIL = [entry('== nil', 'has no value'), entry('!= nil', 'has a value')];

/** What can follow a path that leads to a property; null: to the object itself. */
function operatorsOf(end, isSelf) {
  if (isSelf) {
    return [entry('IN SUBTREE()', 'below an object, at any depth', 1), entry('== ', 'this object'),
      entry('IN {}', 'one of these', 1)];
  }
  if (!end) return ORDER_OPERATORS;
  const nil = end.isOptional ? NIL : [];
  if (isRelationship(end)) return [entry('== ', 'this object: its id'), entry('!= ', 'not this object'),
    entry('IN {}', 'one of these', 1), ...nil];
  if (end.type === 'boolean') return [entry('== YES', 'true'), entry('== NO', 'false'), ...nil];
  if (end.type === 'string' || end.type === 'uri') return [...TEXT_OPERATORS, ...nil, ...ORDER_OPERATORS.slice(2)];
  return [...ORDER_OPERATORS, ...MORE_OPERATORS, ...nil];
}

/** Values that can be written as words. */
function valuesOf(end) {
  const nil = end?.isOptional ? [entry('nil', 'no value')] : [];
  if (!end || end.type === undefined) return nil;
  switch (end.type) {
    case 'boolean': return [entry('YES', 'true'), entry('NO', 'false'), ...nil];
    case 'date': return [
      entry('today', 'the first moment of this day'), entry('yesterday', 'of the day before'),
      entry('tomorrow', 'of the next day'),
      entry('now', 'this moment'), entry(`${new Date().getFullYear()}-01-01`, 'a day'), ...nil,
    ];
    case 'string': case 'uri': return [entry('""', 'a text', 1), ...nil];
    case 'uuid': return [entry('uuid("")', '32 hexadecimal digits', 2), ...nil];
    case 'data': return [entry('data("")', 'base64', 2), ...nil];
    default: return nil;
  }
}

/**
 * Follows a path as far as it is known: `{ entity, end, isMany, count }`. `entity`: where the next name would be looked
 * up; null: nothing can follow. `end`: the last property.
 */
function follow(model, entity, names) {
  let end = null;
  let isMany = false;
  let at = entity;
  for (const name of names) {
    if (name === '@count' && isMany) return { entity: null, end: { type: 'integer', isOptional: false }, isMany };
    end = at?.find(name.replace(/^#/, '')) ?? null;
    if (!end) return { entity: null, end: null, isMany };
    at = isRelationship(end) ? model.entity(end.destination) : null;
    isMany = isRelationship(end) && end.isToMany;
  }
  return { entity: at, end, isMany };
}

/** What is expected after these words: `{ wants, end, isSelf, isQuantified }`. */
function expected(model, entity, words) {
  let wants = 'operand';
  let end = null;
  let isSelf = false;
  let isQuantified = false;
  let isList = false;
  for (const [index, { kind, text }] of words.entries()) {
    switch (wants) {
      case 'operand':
        if (kind === 'quantifier') isQuantified = true;
        else if (kind === 'name') {
          isSelf = text.toUpperCase() === 'SELF';
          end = isSelf ? null : follow(model, entity, text.split('.')).end;
          wants = 'operator';
        } else if (kind === 'literal') wants = /PREDICATE$/i.test(text) ? 'join' : 'operator';
        else if (kind === 'text') wants = 'operator';
        break;
      case 'operator':
        if (kind === 'compare') {
          isList = /^(IN|BETWEEN)$/i.test(text);
          wants = isList ? 'list' : 'value';
        }
        break;
      case 'list':
        if (text === '{' || text === '(') wants = 'value';
        break;
      case 'value':
        if (text === '}' || text === ')') wants = 'join';
        else if (!isList && (kind === 'literal' || kind === 'text' || kind === 'name')) {
          // date("…") and now() are one value.
          const isCalled = kind === 'name' && words[index + 1]?.text === '(';
          if (!isCalled) wants = 'join';
        }
        break;
      default:
        if (kind === 'join') {
          wants = 'operand';
          isQuantified = false;
        }
    }
  }
  return { wants, end, isSelf, isQuantified };
}

/**
 * What can stand at a place: `{ from, to, entries }`, where the text from `from` to `to` would be replaced. Entries
 * whose names begin with what is there come first, then those that contain it. None inside of a text.
 */
export function complete(model, entity, text, caret) {
  const words = lex(text.slice(0, caret));
  const last = words.at(-1);
  const nothing = { from: caret, to: caret, entries: [] };
  // Inside of a text in quotation marks.
  if (last?.kind === 'text' && last.to === caret
    && (last.text.length === 1 || last.text.at(-1) !== last.text[0])) return nothing;
  const isPartial = last && last.to === caret
    && ['name', 'quantifier', 'not', 'join', 'compare', 'literal'].includes(last.kind)
    && /[\p{L}\p{N}_.@#]$/u.test(last.text);
  const before = isPartial ? words.slice(0, -1) : words;
  const typed = isPartial ? last.text : '';
  const { wants, end, isSelf, isQuantified } = expected(model, entity, before);
  const dot = wants === 'operand' ? typed.lastIndexOf('.') : -1;
  const part = typed.slice(dot + 1);
  const from = caret - part.length;
  const tail = /^[\p{L}\p{N}_]*/u.exec(text.slice(caret))[0];
  const found = matching(offered(), part);
  // Nothing to offer if it is there already.
  return { from, to: caret + tail.length, entries: found.length === 1 && found[0].text === part ? [] : found };

  function offered() {
    switch (wants) {
      case 'operand': {
        const path = dot < 0 ? [] : typed.slice(0, dot).split('.');
        const at = path.length === 0 ? { entity, isMany: false } : follow(model, entity, path);
        if (!at.entity) return [];
        const names = propertiesOf(at.entity).map((property) => entry(property.name, typeWords(model, property)));
        if (at.isMany) names.unshift(entry('@count', 'how many'));
        if (dot >= 0) return names;
        const many = propertiesOf(entity).some((property) => isRelationship(property) && property.isToMany);
        return [
          ...names, entry('SELF', 'the object itself'),
          ...(isQuantified ? [] : [
            ...(many ? QUANTIFIERS.slice(0, 3).map((word) =>
              entry(`${word} `, { ANY: 'one of several', ALL: 'each of them', NONE: 'not one' }[word])) : []),
            entry('NOT ', 'the opposite'), entry('()', 'together', 1),
          ]),
        ];
      }
      case 'operator': return operatorsOf(end, isSelf);
      case 'list': return [entry('{}', 'a list', 1)];
      case 'value': return valuesOf(end);
      default: return [entry('AND ', 'both'), entry('OR ', 'one or both')];
    }
  }
}

function matching(entries, part) {
  const wanted = part.toLowerCase();
  const rank = ({ text }) => {
    const place = text.toLowerCase().indexOf(wanted);
    return place === 0 ? 0 : place > 0 ? 1 : 2;
  };
  return entries.map((one, index) => ({ one, index, rank: rank(one) })).filter((each) => each.rank < 2)
    .sort((a, b) => a.rank - b.rank || a.index - b.index).slice(0, ENTRIES_MAX).map(({ one }) => one);
}
