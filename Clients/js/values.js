/**
 * Large values: `await sendValue(nest, notes, 'photo', file)`, and `await readValue(nest, notes, note, 'photo')`.
 * @module
 */

export { readValue, sendValue } from './client/values.js';
