import GRDBSQLite
import Glibc
import NestModel

/// Why the store did not do what it was asked to: the one error type of this target.
///
/// Almost every function of the object graph can both refuse a request and fail, so one type has both: Swift converts
/// no error into another on its way up, and each call would need a `do` of its own.
package enum StoreError: Error, Sendable, CustomStringConvertible {
    /// The request is wrong, or the state of the store forbids it. The store itself is sound.
    case refused(NestError)
    /// A request failed after it had written without a savepoint, or SQLite rolled back the whole group. Roll the group
    /// back and run each of its requests in a group of its own.
    indirect case retryIndividually(cause: StoreError)
    /// Another process has the store.
    case locked(path: String, pid: Int32?)
    /// The file is not a store of nest, or one of another version.
    case notAStore(path: String, reason: String)
    case corrupt(path: String, reason: String)
    /// The store has a format that this program does not read.
    case otherFormat(path: String, reason: String)
    /// Next to the store is a log of another store, or there is a log without a store.
    case strayLog(log: String, reason: String)
    /// The file was removed or replaced while the store was open.
    case replaced(path: String, reason: String)
    /// The store was made with another model, and these differences cannot be migrated.
    case modelDiffers(path: String, differences: [String])
    case invalidModel([String])
    case cannotOpen(path: String, reason: String)
    /// SQLite failed: its extended result code and message.
    case sqlite(code: Int32, message: String)
    case io(operation: String, errno: Int32)
    /// A request takes more steps than it may; nothing else is wrong.
    case overBudget(steps: Int)
    /// The server stops: what was under way is rolled back.
    case stopping
    /// Nothing is wrong, but it is not done now. Whoever asked catches it: no client sees this.
    case postponed(Postponement)

    /// Why something is done later, or in another way.
    package enum Postponement: Sendable {
        /// The members of sub-trees must be read first.
        case unreadSubtrees
        /// The rows of a result take too long to find between two commits: read them in the background.
        case resultTooDear
        /// A snapshot is too large to make between two commits: read it in the background.
        case snapshotTooLarge
        /// A write takes more steps than are left in this turn of the engine: it begins the next.
        case nextTurn
        /// So many changes have happened meanwhile that reading the result anew costs less.
        case tooManyChanges
    }

    package var description: String {
        switch self {
        case .refused(let error):
            error.description
        case .retryIndividually(let cause):
            cause.description
        case .locked(let path, let pid):
            "the store \(path) is in use by \(pid.map { "the process \($0)" } ?? "another process"): stop it, "
                + "or give --store another file"
        case .notAStore(let path, let reason):
            "\(path) is not a store of nest: \(reason)"
        case .corrupt(let path, let reason):
            "the store \(path) is damaged: \(reason). Restore a backup; to rescue what can be read: sqlite3 "
                + "\(path) .recover"
        case .otherFormat(let path, let reason):
            "the store \(path) has another format: \(reason)"
        case .strayLog(let log, let reason):
            "there is a log, \(log), \(reason); nothing was changed"
        case .replaced(let path, let reason):
            "the store \(path) \(reason) while nestd had it open: stop nestd before files are moved"
        case .modelDiffers(let path, let differences):
            "the store \(path) was made with another model and cannot be migrated to this one; nothing was changed: "
                + differences.joined(separator: "; ")
        case .invalidModel(let faults):
            "the model is inconsistent: " + faults.joined(separator: "; ")
        case .cannotOpen(let path, let reason):
            "cannot open the store \(path): \(reason)"
        case .sqlite(let code, let message):
            "SQLite: \(message) (\(code))"
        case .io(let operation, let number):
            "\(operation): \(String(cString: strerror(number)))"
        case .overBudget(let steps):
            "the request looks at or changes more than it may (\(steps) steps): do it in parts"
        case .stopping:
            "the server is stopping: nothing of the request was done"
        case .postponed(let reason):
            "the engine has not caught that it must wait (\(reason)); this is a defect of nest"
        }
    }

    /// Refuses a request.
    package static func refused(
        _ code: ErrorCode,
        _ message: String,
        object: ObjectID? = nil,
        faults: [ValidationFault] = []
    ) -> StoreError {
        .refused(NestError(code, message, object: object, faults: faults))
    }

    /// The error of a group whose requests must run one by one because of this error.
    var retryingIndividually: StoreError {
        if case .retryIndividually = self { self } else { .retryIndividually(cause: self) }
    }

    /// The refusal, when the request was refused and nothing failed.
    package var refusal: NestError? {
        if case .refused(let error) = self { error } else { nil }
    }

    /// After a fatal error the server must not acknowledge any write: it is unknown what has reached the disk.
    package var isFatal: Bool {
        switch self {
        case .retryIndividually(let cause): cause.isFatal
        case .sqlite(let code, _): [SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
        case .corrupt, .replaced: true
        default: false
        }
    }

    /// The file itself is damaged: a restart does not help.
    package var isDamage: Bool {
        switch self {
        case .retryIndividually(let cause): cause.isDamage
        case .sqlite(let code, _): [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
        case .corrupt, .notAStore, .strayLog: true
        default: false
        }
    }

    /// The one place where an error of the store becomes an error of the protocol.
    package var nestError: NestError {
        switch self {
        case .refused(let error):
            error
        case .retryIndividually(let cause):
            cause.nestError
        case .sqlite(let code, _) where code & 0xff == SQLITE_FULL:
            NestError(.diskFull, "the disk is full: nothing was written")
        case .sqlite where self.isDamage, .corrupt:
            NestError(.storageCorrupt, self.description)
        case .overBudget:
            NestError(.limitExceeded, self.description)
        case .stopping:
            NestError(.shuttingDown, self.description)
        case .sqlite(let code, _) where code & 0xff == SQLITE_INTERRUPT:
            Self.stopping.nestError
        case .io(_, ENOSPC), .io(_, EDQUOT):
            NestError(.diskFull, "the disk is full: nothing was written")
        default:
            NestError(.storageFailure, self.description)
        }
    }
}
