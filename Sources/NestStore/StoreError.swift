import GRDBSQLite
import Glibc
import NestModel

/// Why a store cannot be opened, or can no longer be used. Refusals of requests are `NestError`s.
package enum StoreError: Error, Sendable, CustomStringConvertible {
    /// Another process has the store.
    case locked(path: String, pid: Int32?)
    /// The file is not a store of nest, or one of another version.
    case notAStore(path: String, reason: String)
    case corrupt(path: String, reason: String)
    /// The store has a format that this program does not read.
    case otherFormat(path: String, reason: String)
    /// Beside the store lies a log that is not its own, or a log without a store.
    case strayLog(log: String, reason: String)
    /// While the store was open, its file was removed or another put into its place.
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

    package var description: String {
        switch self {
        case .locked(let path, let pid):
            "the store \(path) is in use by \(pid.map { "the process \($0)" } ?? "another process"): stop it, or give --store another file"
        case .notAStore(let path, let reason):
            "\(path) is not a store of nest: \(reason)"
        case .corrupt(let path, let reason):
            "the store \(path) is damaged: \(reason). Restore a backup; to rescue what can be read: sqlite3 \(path) .recover"
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
        }
    }

    /// After these nothing may be acknowledged any more: what has reached the disk is not known.
    package var isFatal: Bool {
        switch self {
        case .sqlite(let code, _): [SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
        case .corrupt, .replaced: true
        default: false
        }
    }

    /// The file itself is damaged: starting again does not help.
    package var isDamage: Bool {
        switch self {
        case .sqlite(let code, _): [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
        case .corrupt, .notAStore, .strayLog: true
        default: false
        }
    }

    /// The one place where a store failure becomes an error of the protocol.
    package var nestError: NestError {
        switch self {
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
