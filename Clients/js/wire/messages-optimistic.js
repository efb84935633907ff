// What writes need that are shown before they are confirmed (feature bit 5). Importing this file adds it to messages.js.

import { Limits } from './limits.js';
import { checked, list, object, struct, trailing, varint } from './codec.js';
import { addMessages, increasing } from './messages.js';

/** Ids that one RESERVE may ask for. */
export const RESERVED_IDS_MAX = 65_536;

const count = checked(
  checked(varint, (n) => n <= RESERVED_IDS_MAX, 'too many ids', 'LIMIT_EXCEEDED'),
  (n) => n > 0, 'no ids',
);
const request = checked(varint, (id) => id > 0 && id <= Limits.requestIDMax, 'a request id is not possible');
const requests = list(request, 0, Limits.requestsInFlightPerConnectionMax);

addMessages({
  reserve: [0x4e, struct({ count })],
  reserved: [0x4f, checked(struct({ first: object, count }),
    ({ first, count: ids }) => ids - 1 <= Limits.objectIDMax - first, 'an id is too large')],
  own: [0xb0, checked(struct({
    revisions: increasing(Limits.requestsInFlightPerConnectionMax),
    '.requests': trailing(struct({ requests }), { requests: null }),
  }), ({ revisions, requests: of }) => !of || of.length === revisions.length, 'a revision has no request')],
});
