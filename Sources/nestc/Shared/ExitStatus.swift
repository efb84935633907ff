import NestModel

/// What the process ends with, in the manner of sysexits. The table of `nestc help exit-codes`.
enum ExitStatus: Int32, CaseIterable {
    case done = 0
    case refused = 1
    case usage = 64
    case badInput = 65
    case missingInput = 66
    case unreachable = 69
    case internalError = 70
    case inputOutput = 74
    case temporary = 75
    case protocolMismatch = 76
    case authentication = 77
    case configuration = 78
    case outcomeUnknown = 79
    case blocked = 80
    case interrupted = 130

    var meaning: String {
        switch self {
        case .done: "done"
        case .refused: "the server refused, or the answer is no"
        case .usage: "the command line is wrong"
        case .badInput: "the input is not what it should be"
        case .missingInput: "an input file cannot be opened"
        case .unreachable: "no connection; nothing was done"
        case .internalError: "a fault of nestc itself"
        case .inputOutput: "reading or writing failed"
        case .temporary: "the server cannot now; try again later"
        case .protocolMismatch: "the other side speaks another protocol or version"
        case .authentication: "not allowed"
        case .configuration: "a setting is wrong"
        case .outcomeUnknown: "not known whether the change was made; see --key"
        case .blocked: "an undo or redo that changed nothing: all was changed since"
        case .interrupted: "interrupted (Ctrl-C)"
        }
    }

    /// The status that a library error ends with.
    init(_ code: ErrorCode) {
        switch code {
        case .unreachable, .connectionLost, .closed: self = .unreachable
        case .untrusted: self = .authentication
        case .outcomeUnknown, .internalError, .storageFailure: self = .outcomeUnknown
        case .versionMismatch: self = .protocolMismatch
        case .storageCorrupt: self = .inputOutput
        case .limitExceeded: self = .refused
        default:
            switch code.rawValue >> 8 {
            case 0x01: self = .protocolMismatch
            case 0x02: self = .authentication
            case 0x05: self = .temporary
            case 0x06: self = .outcomeUnknown
            default: self = .refused
            }
        }
    }
}

/// Why a command ends: the one error that commands throw themselves.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// Standard output was closed by who reads it (`| head`): no error, there is just nobody left to tell.
struct OutputClosed: Error {}
