/**
 * Requests that a model names, with variables: `await namedRequest(nest, 'Thing.others', { source: thing })`.
 * @module
 */

export { namedRequest } from './client/named.js';
