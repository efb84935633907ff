import GRDBSQLite
import Glibc
import NestModel

/// The error type of this target: why the store refused a request or failed.
///
/// Almost every function of the object graph can both refuse a request and fail, so one type covers both. Swift
/// converts no error type into another when it rethrows: with two types each call would need its own `do`.
package indirect enum StoreError: Error, Sendable, CustomStringConvertible {
    /// The request is wrong, or the state of the store forbids it. The store itself is sound.
    case refused(NestError)
    /// A request failed after it had written without a savepoint, or SQLite rolled back the whole group. Roll the group
    /// back and run each of its requests in a group of its own.
    case retryIndividually(cause: StoreError)
    /// Another process has the store open.
    case locked(path: String, pid: Int32?)
    /// The file is not a store of nest.
    case notAStore(path: String, reason: String)
    case corrupt(path: String, reason: String)
    /// The store has a format that this program does not read.
    case otherFormat(path: String, reason: String)
    /// Next to the store is a log of another store, or there is a log without its store.
    case strayLog(log: String, reason: String)
    /// The file was removed or replaced while the store was open.
    case replaced(path: String, reason: String)
    /// The store was made with another model, and these differences cannot be migrated, or would lose something.
    case modelDiffers(path: String, differences: [String], losses: [String])
    case invalidModel([String])
    case cannotOpen(path: String, reason: String)
    /// SQLite failed: its extended result code and message.
    case sqlite(code: Int32, message: String)
    case io(operation: String, errno: Int32)
    /// A request takes more steps than allowed.
    case overBudget(steps: Int)
    /// The server is stopping: the open transaction is rolled back.
    case stopping
    /// Another node of the cluster has written in the meantime: the group is rolled back and never happens.
    case overtaken
    /// The cluster's log does not contain what this store was built on: the group is rolled back and never happens.
    case offTheLog
    /// The cluster's log has not answered: the group is rolled back, and its fate is not known yet.
    case uncertain
    /// A record of the log is damaged, or does not fit this store.
    case logDamaged(String)
    /// A whole record of the log contradicts this store, which is on another line than the log. Nothing was changed.
    case diverged(String)
    /// The store belongs to a cluster and was opened without its log, or the other way round.
    case clusterMismatch(path: String, reason: String)
    /// The work must be done later or in another way. The caller catches this error: it never reaches a client.
    case postponed(Postponement)

    /// The reason why work is postponed.
    package enum Postponement: Sendable {
        /// The members of sub-trees must be read first.
        case unreadSubtrees
        /// Finding the rows of a result takes too long between two commits: read them in the background.
        case resultTooExpensive
        /// A snapshot is too large to build between two commits: read it in the background.
        case snapshotTooLarge
        /// A write needs more steps than are left in this turn of the engine: run it at the start of the next turn.
        case nextTurn
        /// A write of very many objects must be prepared before it runs.
        case preparation
        /// A write cannot run as it was prepared: run it as one piece when nothing is prepared any more.
        case onePiece
        /// So many changes have happened since then that reading the result again costs less than applying them.
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
            "the store \(path) is damaged: \(reason). Restore a backup; to rescue the readable data: sqlite3 "
                + "\(path) .recover"
        case .otherFormat(let path, let reason):
            "the store \(path) has another format: \(reason)"
        case .strayLog(let log, let reason):
            "the log \(log) \(reason); nothing was changed"
        case .replaced(let path, let reason):
            "the store \(path) \(reason) while nestd had it open: stop nestd before you move its files"
        case .modelDiffers(let path, let differences, let losses):
            "the store \(path) was made with another model and "
                + (differences.isEmpty ? "would lose data in a migration" : "cannot be migrated")
                + " to this one; nothing was changed: " + (differences + losses).joined(separator: "; ")
        case .invalidModel(let faults):
            "the model is inconsistent: " + faults.joined(separator: "; ")
        case .cannotOpen(let path, let reason):
            "cannot open the store \(path): \(reason)"
        case .sqlite(let code, let message):
            "SQLite: \(message) (\(code))"
        case .io(let operation, let number):
            "\(operation): \(String(cString: strerror(number)))"
        case .overBudget(let steps):
            "the request reads or changes too much (more than \(steps) steps): split it into smaller requests"
        case .stopping:
            "the server is stopping: the request was not performed"
        case .overtaken:
            "another node of the cluster leads now: nothing was written"
        case .offTheLog:
            "this node's store is not on the line of the cluster's log: nothing was written"
        case .uncertain:
            "the cluster's log has not answered: whether the write happened is not known yet"
        case .logDamaged(let reason), .diverged(let reason):
            reason
        case .clusterMismatch(let path, let reason):
            "the store \(path) \(reason)"
        case .postponed(let reason):
            "the engine did not handle postponed work (\(reason)): this is a bug in nest"
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

    /// The refusal; `nil` for a failure.
    package var refusal: NestError? {
        if case .refused(let error) = self { error } else { nil }
    }

    /// Whether the server must not acknowledge any more writes, because it is unknown what has reached the disk.
    package var isFatal: Bool {
        switch self {
        case .retryIndividually(let cause): cause.isFatal
        case .sqlite(let code, _): [SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
        case .corrupt, .replaced, .logDamaged: true
        default: false
        }
    }

    /// Whether the file itself is damaged, so that a restart does not help.
    package var isDamage: Bool {
        switch self {
        case .retryIndividually(let cause): cause.isDamage
        case .sqlite(let code, _): [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff)
        case .corrupt, .notAStore, .strayLog, .logDamaged: true
        default: false
        }
    }

    /// The error that clients receive. All store errors are converted to protocol errors here.
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
        case .overtaken, .offTheLog:
            NestError(.notLeader, self.description)
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
