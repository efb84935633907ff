import NestModel
import NestStore

/// The class and code of an error of PostgreSQL, such as `53100` (disk full).
struct SQLState: Equatable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    let code: String

    init(_ code: String) {
        self.code = code
    }

    init(stringLiteral code: String) {
        self.code = code
    }

    /// The first two characters: the class.
    var category: String { String(self.code.prefix(2)) }

    static let diskFull: SQLState = "53100"
    static let cancelled: SQLState = "57014"
    static let lockNotAvailable: SQLState = "55P03"

    /// Whether the same statement may succeed at once: a conflict of transactions, or an operator has cancelled it
    /// before it was executed.
    var isTransient: Bool { self.category == "40" || self == Self.cancelled || self == Self.lockNotAvailable }

    /// Whether only an operator can help: wrong name or password, no database, table or right.
    private var isPermanent: Bool { ["28", "3D", "3F", "42", "0A"].contains(self.category) }

    func failure(_ message: String) -> LogFailure {
        if self.isPermanent { return .unusable(message) }
        // Data or index corrupted.
        return self.category == "XX" && self.code != "XX000" ? .damaged(message) : .unavailable(message)
    }

    /// The error of a record that PostgreSQL refused, so that it was not executed.
    func refusal(_ message: String) -> NestError {
        self == Self.diskFull
            ? NestError(.diskFull, "the disk of the cluster's log is full: nothing was written")
            : NestError(.logUnavailable, "the cluster's log refused the write, nothing was written: \(message)")
    }

    var description: String { self.code }
}

/// Why a statement has no result.
enum PostgresFailure: Error {
    /// The connection has ended, or does not answer in time. Whether the server executes what was sent is not known.
    case lost(String)
    /// The server refused the statement, and has rolled it back.
    case refused(SQLState, String)
    /// This server must not have the log: too old, or with settings that lose data.
    case unusable(String)
    /// A row is not what its table declares.
    case damaged(String)

    var logFailure: LogFailure {
        switch self {
        case .lost(let reason): .unavailable(reason)
        case .refused(let state, let message): state.failure(message)
        case .unusable(let reason): .unusable(reason)
        case .damaged(let reason): .damaged(reason)
        }
    }
}
