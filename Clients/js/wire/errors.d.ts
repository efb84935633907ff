/** What the client may do with the same request; see {@link NestError.retry}. */
export type Retry = 0 | 1 | 2 | 3 | 4;

/** One mistake in the state that a transaction would leave. */
export interface Fault {
  readonly entity: number;
  /** null: none, or several (a uniqueness constraint). */
  readonly property: number | null;
  /** null: an object that the transaction would have inserted. */
  readonly object: number | null;
  readonly reason: 'other' | 'required' | 'type' | 'tooLarge' | 'text' | 'range' | 'notUnique' | 'destination'
    | 'unknownProperty' | 'setTwice';
  /** For people; names entity and property. */
  readonly message: string;
}

export interface ErrorDetails {
  number?: number;
  retry?: number;
  retryAfter?: number;
  object?: number | null;
  faults?: readonly Fault[];
  leader?: string | null;
  column?: number | null;
}

/** The names of all codes: those of protocol.md, and those of class 07, which only clients use. */
export const errorCodes: readonly string[];

/** The name of a code's number, such as NOT_FOUND for 0x404; `ERROR_` and its digits for a code that is not known. */
export function errorName(number: number): string;

/** A refusal or a failure. Act by `code`, for an unknown code by `retry`; the message is for people. */
export class NestError extends Error {
  constructor(code: string, message: string, details?: ErrorDetails);

  /** Such as `NOT_FOUND`. */
  readonly code: string;
  /** The number of the code, such as 0x404. */
  readonly number: number;
  /**
   * 0: the same request would fail again. 1: it was not executed and may be sent again at once; 2: after a pause. 3: it
   * may have been executed: send it again only with the same key. 4: it was not executed: connect again first.
   */
  readonly retry: number;
  /** Milliseconds to wait before the next attempt; 0: none named. */
  readonly retryAfter: number;
  /** The object that the error is about. */
  readonly object: number | null;
  /** Everything that is wrong with the state that the transaction would leave; at most 100. */
  readonly faults: readonly Fault[];
  /** With NOT_LEADER: the address of the node that takes writes, if there is one. */
  readonly leader: string | null;
  /** With INVALID_PREDICATE: where the mistake is in the text, counted from 1 in Unicode scalars. */
  readonly column: number | null;
  /** With OUTCOME_UNKNOWN, the key of the write. */
  key: string | null;
  /** The high byte of the number: 1 the protocol, 2 access, 3 the request, 4 the state, 5 now, 6 the server, 7 here. */
  readonly class: number;
}
