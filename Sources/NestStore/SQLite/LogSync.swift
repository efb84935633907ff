import CSQLite
import GRDBSQLite
import Glibc
import NIOConcurrencyHelpers
import Synchronization

/// Makes commits durable that SQLite has only written to its write-ahead log: `PRAGMA synchronous = NORMAL`. One sync
/// makes all commits before it durable. Any thread may sync, while the writer goes on to its next commit.
///
/// Other connections see a commit before it is durable. What they have read is handed out by `whenDurable`.
package final class LogSync: Sendable {
    private struct State {
        var failure: StoreError?
        var waiting: [(commits: UInt64, body: @Sendable (StoreError?) -> Void)] = []
    }

    /// SQLite's file of the log. It stays open as long as the writer's connection.
    nonisolated(unsafe) private let file: UnsafeMutablePointer<sqlite3_file>
    /// Commits that other connections may see.
    private let begun = Atomic<UInt64>(0)
    /// Commits that are in the log.
    private let written = Atomic<UInt64>(0)
    /// Commits that are durable.
    private let synced = Atomic<UInt64>(0)
    /// Whether a group was committed since the last sync.
    private let hasGroup = Atomic(false)
    private let state = NIOLockedValueBox(State())

    /// The same file, for `groupWritten`: SQLite does not lend its descriptor. Negative if it cannot be opened.
    private let descriptor: Int32

    /// `path`: that of the log.
    init(_ file: UnsafeMutablePointer<sqlite3_file>, path: String) {
        self.file = file
        self.descriptor = open(path, O_RDONLY | O_CLOEXEC)
    }

    deinit {
        if self.descriptor >= 0 { close(self.descriptor) }
    }

    // MARK: Called on the writer's thread

    /// A commit begins: from now on readers may see it.
    func commitBegins() { self.begun.add(1, ordering: .sequentiallyConsistent) }

    /// A commit is in the log, or has failed.
    func commitEnds() {
        self.written.store(self.begun.load(ordering: .sequentiallyConsistent), ordering: .sequentiallyConsistent)
    }

    /// A group is in the log. Lets the disk begin to write it, while the caller does something else before it calls
    /// `sync`. Makes nothing durable. May block if the disk has much to write.
    func groupWritten() {
        self.hasGroup.store(true, ordering: .releasing)
        if self.descriptor >= 0 { nest_begin_writing(self.descriptor) }
    }

    // MARK: Called on any thread

    /// Whether there are commits that are not durable yet.
    package var isPending: Bool { self.written.load(ordering: .acquiring) != self.synced.load(ordering: .acquiring) }

    /// Makes everything durable that was committed before the call. One thread at a time, beside the writer. Blocks for
    /// an `fdatasync`.
    ///
    /// After a failure nothing may be acknowledged any more: the kernel may have dropped what it could not write, and
    /// another sync of the file would succeed. Later calls fail as the first.
    package func sync() throws(StoreError) {
        if let failure = self.state.withLockedValue({ $0.failure }) { throw failure }
        let commits = self.written.load(ordering: .acquiring)
        let code = self.file.pointee.pMethods.pointee.xSync(self.file, SQLITE_SYNC_NORMAL)
        guard code == SQLITE_OK else {
            let failure = StoreError.sqlite(code: code, message: String(cString: sqlite3_errstr(code)))
            self.end(failure)
            throw failure
        }
        if self.hasGroup.exchange(false, ordering: .acquiringAndReleasing) { Failpoint.commitDurable.pass() }
        self.synced.store(commits, ordering: .sequentiallyConsistent)
        let due = self.state.withLockedValue { state in
            guard !state.waiting.isEmpty else { return state.waiting }
            let due = state.waiting.filter { $0.commits <= commits }
            state.waiting.removeAll { $0.commits <= commits }
            return due
        }
        for (_, body) in due { body(nil) }
    }

    /// Calls `body` as soon as everything that any connection sees now is durable: at once, or on the thread that
    /// syncs. With an error if that failed, or the writer ends before.
    package func whenDurable(_ body: @escaping @Sendable (StoreError?) -> Void) {
        let outcome: StoreError?? = self.state.withLockedValue { state in
            if let failure = state.failure { return .some(failure) }
            let commits = self.begun.load(ordering: .sequentiallyConsistent)
            guard self.synced.load(ordering: .sequentiallyConsistent) < commits else { return .some(nil) }
            state.waiting.append((commits, body))
            return nil
        }
        if let outcome { body(outcome) }
    }

    /// Nothing becomes durable any more.
    func end(_ failure: StoreError) {
        let waiting = self.state.withLockedValue { state in
            state.failure = state.failure ?? failure
            defer { state.waiting = [] }
            return state.waiting
        }
        for (_, body) in waiting { body(failure) }
    }
}
