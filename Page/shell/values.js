// Values of properties as people read them, in one line.

import { Double, LargeValue, NestDate, Reference, UUID } from '/client/index.js';
import { bytesText, labelText, momentText, numberText } from './format.js';

/** The longest text that is shown of a value, in characters. */
const TEXT_MAX = 120;

/** A value in one line: texts in quotation marks, nothing for null. */
export function valueText(value) {
  if (value === null || value === undefined) return 'nothing';
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (typeof value === 'string') {
    const text = labelText(value.length > TEXT_MAX ? value.slice(0, TEXT_MAX) : value);
    return `“${text}${value.length > TEXT_MAX ? '…' : ''}”`;
  }
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return numberText(value);
  if (typeof value === 'number') return String(value);
  if (value instanceof Double) return String(value.value);
  if (value instanceof NestDate) return momentText(Number(value.microseconds) / 1_000);
  if (value instanceof Reference) return `#${value.id}`;
  if (value instanceof UUID) return String(value);
  if (value instanceof Uint8Array || value instanceof LargeValue) return `${bytesText(value.length)} of data`;
  return labelText(String(value));
}
