/** Requests that a model names: fetched properties and fetch request templates of Core Data, with variables. */

import type { FetchRequest, Nest, ObjectLike, Row } from './index.js';

/**
 * A request of the server's model: `Thing.others` for a fetched property, or a template's name. `source`: the object that
 * `$FETCH_SOURCE` stands for; `$FETCH_SOURCE.price` is the value that it has now. `variables`: the values of the others.
 * Throws INVALID if the model has no such request, or if a value is missing.
 */
export function namedRequest(
  nest: Nest, name: string, given?: { source?: ObjectLike, variables?: Record<string, unknown> },
): Promise<FetchRequest<Row>>;
