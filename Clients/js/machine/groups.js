/**
 * The group of a connection, whose writes are one undo entry. Only programs that begin groups load this module.
 * @module
 */

import '../wire/messages-more.js';
import { NestError } from '../wire/errors.js';
import { decode } from '../wire/messages.js';
import { fail, submit } from './calls.js';
import { handlers, unexpected } from './frames.js';
import { T } from './types.js';

/** @typedef {import('./machine.js').Machine} Machine */
/** @typedef {import('./table.js').OutgoingRequest} OutgoingRequest */

/** Requests that become part of an open group. Undo, redo and revert end a group instead. */
const GROUPED = new Set([T.transaction, T.importSubtree]);

const GROUP_LOST = 'the connection was lost, which ended the group: its writes so far are one undo entry; '
  + 'end the group, then begin another';

class Group {
  /** @param {number} number */
  constructor(number) {
    this.number = number;
    /** Whether the connection was lost with it. */
    this.isLost = false;
  }

  /** Why a request cannot be sent. @param {OutgoingRequest} request */
  refusal({ type }) {
    return this.isLost && GROUPED.has(type) ? new NestError('CONNECTION_LOST', GROUP_LOST) : null;
  }

  /** A request as part of the group, if it can be one. @param {OutgoingRequest} request @returns {OutgoingRequest} */
  joined(request) {
    return !this.isLost && GROUPED.has(request.type) ? { ...request, group: this.number } : request;
  }
}

handlers.set(T.group, (m, frame) => {
  const request = m.table.inFlight.get(frame.id)?.request;
  if (!request) return;
  if (request.type !== T.beginGroup) return unexpected(m, frame);
  const { number } = decode('group', frame.body);
  m.finish(frame.id, number);
  // Without a caller, the request was abandoned: nobody would end the group.
  if (request.owner) m.group = new Group(number);
  else endGroup(m, null);
});

/**
 * Ends the group. If the connection that had it was lost, it has ended already: NOT_FOUND.
 * @param {Machine} m
 * @param {object | null} call null: the answer is not needed
 */
export function endGroup(m, call) {
  const wasLost = m.group?.isLost;
  m.group = null;
  const owner = call && { call };
  /** @type {OutgoingRequest} */
  const request = { owner, kind: 'connection', type: T.endGroup, body: new Uint8Array(0), answer: T.done };
  if (wasLost) fail(m, request, new NestError('NOT_FOUND', GROUP_LOST));
  else if (call) submit(m, request);
  else m.table.submit(request);
}
