/**
 * How rows and states look in `console.log` of Node: as in JSON, because their values are getters.
 * @module
 */

import { ListState, Row } from './shown.js';

for (const { prototype } of [Row, ListState]) {
  Object.defineProperty(prototype, Symbol.for('nodejs.util.inspect.custom'), {
    /** @this {any} */
    value() {
      return this.toJSON();
    },
  });
}
