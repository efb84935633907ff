// Assertions that run in Node and in a page.

const hex = (byte) => byte.toString(16).padStart(2, '0');

/** A value as text, with what JSON does not have. */
export function shown(value) {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (value instanceof Uint8Array) return `<${Array.from(value, (byte) => hex(byte)).join(' ')}>`;
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (value === null || typeof value !== 'object') return value === undefined ? 'undefined' : JSON.stringify(value);
  return `{${Object.keys(value).map((key) => `${key}: ${shown(value[key])}`).join(', ')}}`;
}

/** Fails unless both values have the same form and content. */
export function same(actual, expected, what = '') {
  const [got, wanted] = [shown(actual), shown(expected)];
  if (got !== wanted) throw new Error(`${what}: ${got} instead of ${wanted}`);
}

/** Fails unless `body` throws an error with the code. */
export function refuses(code, body, what = '') {
  let found;
  try {
    body();
  } catch (error) {
    found = error.code ?? String(error);
  }
  same(found, code, what);
}
