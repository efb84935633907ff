/** Codes that are not named by protocol.md have the name `ERROR_` and their number in hexadecimal digits. */
const codes = new Map();
const names = new Map();

// Each class of codes from its first number on; a digit after a name is what the client may do (`retry`, if not 0).
// An empty name is a number that is not used.
const table = {
  0x100: 'PROTOCOL4 FRAME_TOO_LARGE UNSUPPORTED_MESSAGE UNSUPPORTED_FLAG MALFORMED REQUEST_ID FLOW_CONTROL4 CHECKSUM4 '
    + 'UNSUPPORTED VERSION_MISMATCH',
  0x201: 'UNAUTHENTICATED FORBIDDEN NOT_PERMITTED TOKEN_EXPIRED',
  0x300: 'INVALID UNKNOWN_ENTITY UNKNOWN_PROPERTY VALIDATION_FAILED INVALID_TEXT VALUE_TOO_LARGE INVALID_PREDICATE '
    + 'SCHEMA_CHANGED4 INDEX_OUT_OF_RANGE',
  0x400: 'CONFLICT CYCLE DELETE_DENIED UNDO_CONFLICT NOT_FOUND NOTHING_TO_UNDO KEY_REUSED DEPTH_LIMIT ROOT_OBJECT '
    + 'NOTHING_TO_REDO NOT_UNIQUE REVISION_NOT_REACHED2 REVISION_DROPPED OWNER_GONE',
  0x500: 'BUSY2  LIMIT_EXCEEDED SLOW_CONSUMER4 TIMED_OUT3 CANCELLED1 DISK_FULL2 SHUTTING_DOWN4 LOG_UNAVAILABLE2 '
    + 'NOT_LEADER4',
  0x600: 'INTERNAL3 STORAGE_FAILURE3 STORAGE_CORRUPT',
  0x700: 'UNREACHABLE2 CONNECTION_LOST4 OUTCOME_UNKNOWN3 CLOSED UNTRUSTED',
};
for (const [first, list] of Object.entries(table)) {
  list.split(' ').forEach((entry, index) => {
    const name = entry.replace(/\d$/, '');
    if (!name) return;
    codes.set(name, { number: Number(first) + index, retry: Number(entry.slice(name.length)) });
    names.set(Number(first) + index, name);
  });
}

/** The names of all codes: those of protocol.md, and those of class 07, which only clients use. */
export const errorCodes = Object.freeze([...codes.keys()]);

/** The name of a code's number, such as NOT_FOUND for 0x404. */
export function errorName(number) {
  return names.get(number) ?? 'ERROR_' + number.toString(16).padStart(4, '0');
}

/**
 * A refusal or a failure. Act by `code`, for an unknown code by `retry`; the message is for people.
 *
 * `retry`: 0 the same request would fail again; 1 it was not executed and may be sent again at once; 2 after a pause;
 * 3 it may have been executed: send it again only with the same key; 4 it was not executed: connect again first.
 */
export class NestError extends Error {
  constructor(code, message, details) {
    super(message);
    const known = codes.get(code);
    this.code = code;
    this.number = details?.number ?? known?.number ?? (parseInt(code.slice(6), 16) || 0);
    this.retry = details?.retry ?? known?.retry ?? 3;
    this.retryAfter = details?.retryAfter ?? 0;
    this.object = details?.object ?? null;
    this.faults = details?.faults ?? [];
    this.leader = details?.leader ?? null;
    this.column = details?.column ?? null;
    this.key = null;
  }

  /** The high byte of the number: 1 the protocol, 2 access, 3 the request, 4 the state, 5 now, 6 the server, 7 here. */
  get class() {
    return this.number >> 8;
  }
}
NestError.prototype.name = 'NestError';
