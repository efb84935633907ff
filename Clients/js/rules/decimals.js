// Decimal numbers as text, compared exactly. Any text of a number is read, canonical or not: `-12.5`, `1.50`, `12e-1`.

const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,5}))?$/;

/**
 * Returns a text that stands in the order of the numbers: `<` and `===` of two keys are those of the two numbers.
 *
 * The key has one character for the sign (`0`, `1`, `2`), six digits for the decimal position of the first digit, then
 * the digits. In the key of a negative number every digit d is 9 - d, and `~`, above all digits, ends it.
 * @param {string} text
 * @returns {string | undefined} Undefined if the text is not a number.
 */
export function decimalKey(text) {
  const parts = form.exec(text);
  if (!parts || !(parts[2] || parts[3])) return undefined;
  const fraction = parts[3] ?? '';
  const written = parts[2] + fraction;
  const digits = written.replace(/^0+/, '');
  if (digits === '') return '1';
  const position = digits.length - fraction.length + Number(parts[4] ?? 0) + 500_000;
  const key = String(position).padStart(6, '0') + digits.replace(/0+$/, '');
  return parts[1] === '-' ? `0${key.replace(/\d/g, (digit) => String(9 - Number(digit)))}~` : `2${key}`;
}
