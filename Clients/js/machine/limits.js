/**
 * Limits of the client itself: protocol.md, section 17, has those that both sides know, under the same names.
 * @module
 */

/** Requests that wait for a connection, or for others to be answered (`clientRequestsWaitingMax`). */
export const REQUESTS_WAITING_MAX = 65_536;
/** Bytes of changes that the program has not taken; above it the client stops reading (`clientQueueBytesMax`). */
export const QUEUE_BYTES_MAX = 8 << 20;
/** The same while an answer is due, for which a consumer may be waiting (`clientQueueBytesHardMax`). */
export const QUEUE_BYTES_HARD_MAX = 64 << 20;
/** Bytes of changes of one list or feed that the program has not taken; above it the client pauses that one. */
export const CONSUMER_BYTES_MAX = 1 << 20;
/** Silence after a PING after which the server counts as dead, in milliseconds (`pingTimeoutSeconds`). */
export const PING_TIMEOUT_MS = 10_000;
/** The longest pause before a request is sent again that no node took (`leaderPauseMillisecondsMax`). */
export const LEADER_PAUSE_MS_MAX = 1_000;
/** Milliseconds of one attempt to connect to one address, until the server has answered the handshake. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** Milliseconds from the call of a request to its answer, with reconnecting and sending again. */
export const REQUEST_TIMEOUT_MS = 30_000;
/** Revisions of own writes, and of authors, that are remembered until every list has passed them. */
export const OWN_REVISIONS_MAX = 1_000;
/** Rows up to which every state is compared with the server's digest. */
export const DIGEST_ROWS_ALWAYS = 1_000;
/** Beyond that, every how many diffs it is compared. */
export const DIGEST_EVERY = 16;
/** Rows beyond which only snapshots are compared, because a digest takes 0.4 microseconds for each row. */
export const DIGEST_ROWS_MAX = 100_000;
