// Text as predicates and orders compare it: folded, then by its UTF-8 bytes (protocol.md, section 9).

/** @typedef {0 | 1 | 2 | 3} Folding 0: none. 1: ignore case, `[c]`. 2: ignore diacritics, `[d]`. 3: both. */

export const CASE = 1;
export const DIACRITICS = 2;

const ascii = /^[\0-\x7f]*$/;
const nonspacing = /\p{Mn}/gu;

/**
 * Maps each scalar to lower case by itself. `toLowerCase` has one rule that looks at neighbours, the final sigma: the
 * text is cut at that letter.
 * @param {string} text
 */
function lower(text) {
  return text.includes('\u03a3') ? text.split('\u03a3').map((part) => part.toLowerCase()).join('\u03c3')
    : text.toLowerCase();
}

/**
 * Returns the folded text. Folded texts are equal, and ordered, by their UTF-8 bytes. Letters that the platform's
 * Unicode version does not know yet stay as they are.
 * @param {string} text
 * @param {number} folding 1: case, 2: diacritics, 3: both; 0 returns the text.
 * @returns {string}
 */
export function fold(text, folding) {
  if (!folding) return text;
  if (ascii.test(text)) return folding & CASE ? text.toLowerCase() : text;
  let folded = text;
  if (folding & DIACRITICS) folded = folded.normalize('NFD').replace(nonspacing, '');
  return folding & CASE ? lower(lower(folded).toUpperCase()) : folded;
}

/**
 * Compares two texts by their UTF-8 bytes, which is the order of their scalars. (`<` compares UTF-16 units: it puts
 * U+FF5E above U+1F600.)
 * @param {string} a
 * @param {string} b
 * @returns {number} Below 0, 0, or above 0.
 */
export function compareText(a, b) {
  const count = Math.min(a.length, b.length);
  for (let index = 0; index < count; index += 1) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    if (x !== y) return x >= 0xd800 && y >= 0xd800 ? rank(x) - rank(y) : x - y;
  }
  return a.length - b.length;
}

/** @param {number} unit At least 0xd800. Surrogates stand for scalars above all others. */
function rank(unit) {
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/**
 * The first scalar of a text; empty for the empty text.
 * @param {string} text
 */
export function firstScalar(text) {
  return text === '' ? '' : String.fromCodePoint(/** @type {number} */ (text.codePointAt(0)));
}

/**
 * Compiles a pattern of `LIKE`: `*` is any text, `?` one scalar, `\` before a scalar is that scalar. The test takes
 * time linear in the text whatever the pattern: an automaton whose states are bits, all followed at once.
 * @param {string} pattern Folded like the texts.
 * @returns {(text: string) => boolean} Whether the whole text matches.
 */
export function likePattern(pattern) {
  /** @type {(string | null)[]} */
  const tokens = [];
  const stars = [];
  let escaped = false;
  for (const scalar of pattern) {
    if (!escaped && scalar === '\\') {
      escaped = true;
      continue;
    }
    if (!escaped && scalar === '*') stars.push(tokens.length);
    else tokens.push(!escaped && scalar === '?' ? null : scalar);
    escaped = false;
  }
  if (escaped) tokens.push('\\');

  // State i: the first i tokens are matched. 31 states to a word, so that a step's carry stays in the integer.
  const words = Math.floor(tokens.length / 31) + 1;
  const bits = (/** @type {number[]} */ states, /** @type {Int32Array} */ set) => {
    for (const state of states) set[Math.floor(state / 31)] |= 1 << state % 31;
    return set;
  };
  const staying = bits(stars, new Int32Array(words));
  const others = bits(tokens.flatMap((token, state) => token === null ? [state] : []), new Int32Array(words));
  /** @type {Map<string, Int32Array>} */
  const steps = new Map();
  tokens.forEach((token, state) => {
    if (token === null) return;
    steps.set(token, bits([state], steps.get(token) ?? others.slice()));
  });
  return (text) => {
    const states = new Int32Array(words);
    states[0] = 1;
    for (const scalar of text) {
      const step = steps.get(scalar) ?? others;
      let carry = 0;
      let alive = 0;
      for (let word = 0; word < words; word += 1) {
        const moved = states[word] & step[word];
        states[word] = (moved << 1 | carry | states[word] & staying[word]) & 0x7fffffff;
        carry = moved >>> 30;
        alive |= states[word];
      }
      if (alive === 0) return false;
    }
    return (states[words - 1] >> tokens.length % 31 & 1) === 1;
  };
}
