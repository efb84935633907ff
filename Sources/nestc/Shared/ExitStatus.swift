import NestModel

/// The exit codes of the process, like those of sysexits(3). `nestc help exit-codes` prints them as a table.
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
        case .refused: "the server refused, or a check failed"
        case .usage: "the command line is wrong"
        case .badInput: "the input is not valid"
        case .missingInput: "an input file cannot be opened"
        case .unreachable: "no connection; nothing was done"
        case .internalError: "a bug in nestc"
        case .inputOutput: "reading or writing failed"
        case .temporary: "the server is temporarily unable; try again later"
        case .protocolMismatch: "the server speaks another protocol or version"
        case .authentication: "not allowed"
        case .configuration: "a setting is not valid"
        case .outcomeUnknown: "unknown whether the change was made; see --key"
        case .blocked: "the undo or redo changed nothing: everything has changed since"
        case .interrupted: "interrupted (Ctrl-C)"
        }
    }

    /// The exit code for an error of the library.
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

/// An error that a command throws to end with a status and a message.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}

/// The reader of standard output has closed it (`| head`). This is not an error, and nothing is printed.
struct OutputClosed: Error {}
