/// A stable number for each kind of error, and what a client can do about it. The high byte is the class, by which a
/// client handles codes that it does not know.
public struct ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// Whether a client may retry the request.
    public enum Retry: UInt8, Sendable {
        /// The same request will fail again.
        case never = 0
        /// Not executed; may be sent again at once.
        case now = 1
        /// Not executed; may be sent again after a pause.
        case later = 2
        /// May have been executed: retry only with the same idempotency key.
        case unknownOutcome = 3
        /// Not executed; reconnect first.
        case reconnect = 4
    }

    // 01: the protocol itself
    public static let protocolViolation = ErrorCode(rawValue: 0x0100)
    public static let frameTooLarge = ErrorCode(rawValue: 0x0101)
    public static let unsupportedMessage = ErrorCode(rawValue: 0x0102)
    public static let unsupportedFlag = ErrorCode(rawValue: 0x0103)
    public static let malformed = ErrorCode(rawValue: 0x0104)
    public static let requestID = ErrorCode(rawValue: 0x0105)
    public static let flowControl = ErrorCode(rawValue: 0x0106)
    public static let checksum = ErrorCode(rawValue: 0x0107)
    public static let unsupported = ErrorCode(rawValue: 0x0108)
    public static let versionMismatch = ErrorCode(rawValue: 0x0109)
    // 02: access
    /// The server requires a valid token and did not receive one. The message does not state why the token was refused.
    public static let unauthenticated = ErrorCode(rawValue: 0x0201)
    public static let forbidden = ErrorCode(rawValue: 0x0202)
    /// The token does not permit the request.
    public static let notPermitted = ErrorCode(rawValue: 0x0203)
    /// The token was valid and has expired.
    public static let tokenExpired = ErrorCode(rawValue: 0x0204)
    // 03: the request is wrong
    public static let invalid = ErrorCode(rawValue: 0x0300)
    public static let unknownEntity = ErrorCode(rawValue: 0x0301)
    public static let unknownProperty = ErrorCode(rawValue: 0x0302)
    public static let validationFailed = ErrorCode(rawValue: 0x0303)
    public static let invalidText = ErrorCode(rawValue: 0x0304)
    public static let valueTooLarge = ErrorCode(rawValue: 0x0305)
    public static let invalidPredicate = ErrorCode(rawValue: 0x0306)
    public static let schemaChanged = ErrorCode(rawValue: 0x0307)
    public static let indexOutOfRange = ErrorCode(rawValue: 0x0308)
    // 04: the state of the store does not allow the request
    public static let conflict = ErrorCode(rawValue: 0x0400)
    public static let cycle = ErrorCode(rawValue: 0x0401)
    public static let deleteDenied = ErrorCode(rawValue: 0x0402)
    public static let undoConflict = ErrorCode(rawValue: 0x0403)
    public static let notFound = ErrorCode(rawValue: 0x0404)
    public static let nothingToUndo = ErrorCode(rawValue: 0x0405)
    public static let keyReused = ErrorCode(rawValue: 0x0406)
    public static let depthLimit = ErrorCode(rawValue: 0x0407)
    public static let rootObject = ErrorCode(rawValue: 0x0408)
    public static let nothingToRedo = ErrorCode(rawValue: 0x0409)
    public static let notUnique = ErrorCode(rawValue: 0x040a)
    /// The read requested a revision that the store has not reached.
    public static let revisionNotReached = ErrorCode(rawValue: 0x040b)
    /// The journal no longer contains the revision.
    public static let revisionDropped = ErrorCode(rawValue: 0x040c)
    /// The owner of an object that the undo would restore is deleted.
    public static let ownerGone = ErrorCode(rawValue: 0x040d)
    // 05: the server cannot serve the request now
    public static let busy = ErrorCode(rawValue: 0x0500)
    public static let limitExceeded = ErrorCode(rawValue: 0x0502)
    public static let slowConsumer = ErrorCode(rawValue: 0x0503)
    public static let timedOut = ErrorCode(rawValue: 0x0504)
    public static let cancelled = ErrorCode(rawValue: 0x0505)
    public static let diskFull = ErrorCode(rawValue: 0x0506)
    public static let shuttingDown = ErrorCode(rawValue: 0x0507)
    /// The node leads and cannot reach the log of its cluster.
    public static let logUnavailable = ErrorCode(rawValue: 0x0508)
    /// Another node of the cluster takes writes: `NestError.leader`, if there is one now.
    public static let notLeader = ErrorCode(rawValue: 0x0509)
    // 06: the server failed
    public static let internalError = ErrorCode(rawValue: 0x0600)
    public static let storageFailure = ErrorCode(rawValue: 0x0601)
    public static let storageCorrupt = ErrorCode(rawValue: 0x0602)
    // 07: errors of the client library; never on the wire
    /// No connection could be made: nothing was executed.
    public static let unreachable = ErrorCode(rawValue: 0x0700)
    /// The connection was lost; the request was not executed, or changes nothing.
    public static let connectionLost = ErrorCode(rawValue: 0x0701)
    /// The connection was lost, or no answer arrived, after a write was sent.
    public static let outcomeUnknown = ErrorCode(rawValue: 0x0702)
    /// The client was closed.
    public static let closed = ErrorCode(rawValue: 0x0703)
    /// The server could not prove its identity, or the token would have been sent unencrypted.
    public static let untrusted = ErrorCode(rawValue: 0x0704)

    private static let names: [ErrorCode: String] = [
        .protocolViolation: "PROTOCOL", .frameTooLarge: "FRAME_TOO_LARGE",
        .unsupportedMessage: "UNSUPPORTED_MESSAGE", .unsupportedFlag: "UNSUPPORTED_FLAG",
        .malformed: "MALFORMED", .requestID: "REQUEST_ID", .flowControl: "FLOW_CONTROL", .checksum: "CHECKSUM",
        .unsupported: "UNSUPPORTED", .versionMismatch: "VERSION_MISMATCH",
        .unauthenticated: "UNAUTHENTICATED", .forbidden: "FORBIDDEN", .notPermitted: "NOT_PERMITTED",
        .tokenExpired: "TOKEN_EXPIRED",
        .invalid: "INVALID", .unknownEntity: "UNKNOWN_ENTITY", .unknownProperty: "UNKNOWN_PROPERTY",
        .validationFailed: "VALIDATION_FAILED", .invalidText: "INVALID_TEXT", .valueTooLarge: "VALUE_TOO_LARGE",
        .invalidPredicate: "INVALID_PREDICATE",
        .schemaChanged: "SCHEMA_CHANGED", .indexOutOfRange: "INDEX_OUT_OF_RANGE", .conflict: "CONFLICT",
        .cycle: "CYCLE", .deleteDenied: "DELETE_DENIED", .undoConflict: "UNDO_CONFLICT", .notFound: "NOT_FOUND",
        .nothingToUndo: "NOTHING_TO_UNDO", .keyReused: "KEY_REUSED", .depthLimit: "DEPTH_LIMIT",
        .rootObject: "ROOT_OBJECT", .nothingToRedo: "NOTHING_TO_REDO", .notUnique: "NOT_UNIQUE",
        .revisionNotReached: "REVISION_NOT_REACHED", .revisionDropped: "REVISION_DROPPED",
        .ownerGone: "OWNER_GONE", .busy: "BUSY",
        .limitExceeded: "LIMIT_EXCEEDED", .slowConsumer: "SLOW_CONSUMER", .timedOut: "TIMED_OUT",
        .cancelled: "CANCELLED", .diskFull: "DISK_FULL", .shuttingDown: "SHUTTING_DOWN",
        .logUnavailable: "LOG_UNAVAILABLE", .notLeader: "NOT_LEADER",
        .internalError: "INTERNAL", .storageFailure: "STORAGE_FAILURE", .storageCorrupt: "STORAGE_CORRUPT",
    ]

    private static let clientNames: [ErrorCode: String] = [
        .unreachable: "UNREACHABLE", .connectionLost: "CONNECTION_LOST", .outcomeUnknown: "OUTCOME_UNKNOWN",
        .closed: "CLOSED", .untrusted: "UNTRUSTED",
    ]

    /// Every code of the protocol, in order.
    public static var all: [ErrorCode] { Self.names.keys.sorted { $0.rawValue < $1.rawValue } }

    public var description: String {
        Self.names[self] ?? Self.clientNames[self] ?? "ERROR_\(String(self.rawValue, radix: 16))"
    }

    public var retry: Retry {
        switch self {
        case .busy, .diskFull, .revisionNotReached, .logUnavailable, .unreachable: .later
        case .cancelled: .now
        case .protocolViolation, .flowControl, .checksum, .slowConsumer, .shuttingDown, .notLeader, .schemaChanged,
            .connectionLost:
            .reconnect
        case .timedOut, .internalError, .storageFailure, .outcomeUnknown: .unknownOutcome
        default: .never
        }
    }
}

/// A refused request or a failure of the server: a stable code, and a text for people that states what to do.
public struct NestError: Error, Equatable, Sendable, CustomStringConvertible {
    public var code: ErrorCode
    public var message: String
    /// The object the error is about.
    public var object: ObjectID?
    /// The faults of the state that the transaction would leave; at most `Limits.faultsPerErrorMax`.
    public var faults: [ValidationFault]
    /// With `notLeader`: the address of the node that takes writes; `nil` if there is none now, or it is unknown.
    public var leader: String?
    /// With `invalidPredicate`: the column of the mistake in the text of the predicate, counted from 1 in Unicode
    /// scalars; `nil` if the predicate was no text.
    public var column: Int?
    /// Why the client has no connection; `nil` for every other error. Never on the wire.
    public var connectFault: ConnectFault?

    public init(
        _ code: ErrorCode,
        _ message: String,
        object: ObjectID? = nil,
        faults: [ValidationFault] = [],
        leader: String? = nil,
        column: Int? = nil,
        connectFault: ConnectFault? = nil
    ) {
        self.code = code
        self.message = message
        self.object = object
        self.faults = faults
        self.leader = leader
        self.column = column
        self.connectFault = connectFault
    }

    public var description: String { "\(self.message) [\(self.code)]" }
}
