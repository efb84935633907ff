// The words of a predicate with their places, for completion and for the mark under a fault. The server alone decides
// what a predicate means; this only splits text, and never fails.

/** Keywords that begin or quantify a comparison, that join, and that compare; in capitals. */
export const QUANTIFIERS = ['ANY', 'ALL', 'NONE', 'SOME'];
const JOINS = { AND: 'join', OR: 'join', '&&': 'join', '||': 'join', NOT: 'not', '!': 'not' };
const COMPARISONS = new Set(['CONTAINS', 'BEGINSWITH', 'ENDSWITH', 'LIKE', 'MATCHES', 'IN', 'BETWEEN']);
const CONSTANTS = new Set(['YES', 'NO', 'TRUE', 'FALSE', 'NIL', 'NULL', 'TRUEPREDICATE', 'FALSEPREDICATE']);

/** In this order at each place. A path is one word with its dots, and may end in one. */
const WORDS = [
  ['text', /"(?:\\[^]|[^"\\])*"?|'(?:\\[^]|[^'\\])*'?/y],
  ['literal', /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?)?/y],
  ['literal', /[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y],
  ['name', /[#@]?[\p{L}_][\p{L}\p{N}_]*(?:\.[@#]?(?:[\p{L}_][\p{L}\p{N}_]*)?)*/uy],
  ['name', /[#@]/y],
  ['folding', /\[[cd]*\]?/y],
  ['compare', /==|!=|<>|<=|=<|>=|=>|=|<|>/y],
  ['join', /&&|\|\|/y],
  ['not', /!/y],
  ['mark', /[(){},]/y],
  ['other', /\S/uy],
];

/** What a name is by itself, whatever the model has. */
function kindOf(name) {
  const word = name.toUpperCase();
  if (Object.hasOwn(JOINS, word)) return JOINS[word];
  if (QUANTIFIERS.includes(word)) return 'quantifier';
  if (COMPARISONS.has(word)) return 'compare';
  if (CONSTANTS.has(word)) return 'literal';
  return 'name';
}

/**
 * The words: `{ kind, text, from, to }` by UTF-16 places. Kinds: text, literal, name (a path), folding, compare, join,
 * not, quantifier, mark, other.
 */
export function lex(text) {
  const words = [];
  for (let at = 0; at < text.length;) {
    const space = /\s+/y;
    space.lastIndex = at;
    if (space.test(text)) {
      at = space.lastIndex;
      continue;
    }
    for (const [kind, pattern] of WORDS) {
      pattern.lastIndex = at;
      const found = pattern.exec(text)?.[0];
      if (!found) continue;
      words.push({ kind: kind === 'name' ? kindOf(found) : kind, text: found, from: at, to: at + found.length });
      at += found.length;
      break;
    }
  }
  return words;
}

/** The UTF-16 place of a column, which servers count from 1 in Unicode scalars. */
export function placeOf(text, column) {
  let place = 0;
  for (let left = column - 1; left > 0 && place < text.length; left -= 1) place += text.codePointAt(place) > 0xffff ? 2
    : 1;
  return place;
}

/** What to mark for a fault at a column: the word there; at the end of the text the last sign. */
export function faultRange(text, column) {
  const place = placeOf(text, column);
  const word = lex(text).find(({ from, to }) => place >= from && place < to);
  if (word) return { from: place, to: word.to };
  const last = text.trimEnd().length;
  return { from: Math.max(0, Math.min(place, last - 1)), to: Math.max(1, Math.min(place + 1, text.length)) };
}
