import NestModel
import NestStore
import NestProtocol

/// Undo coalescing: which writes become parts of the undo entry of writes before them. A write joins the open group of
/// its connection, or the run of its session: consecutive writes with the same coalescing key. Groups end with the
/// server; runs go on after a restart, by the journal.
///
/// A value: a commit that fails puts the old one back.
struct UndoCoalescing {
    struct Group {
        let number: UInt64
        let session: UInt64
        /// Of the connection that began it.
        let scope: AuthorisationScope
        let name: String?
        /// With this connection it ends.
        let owner: ConnectionID
        fileprivate var members: Set<ConnectionID>
        fileprivate var chain = Chain()
        fileprivate var lastWrite: Int64
    }

    /// The entry that the next write may join.
    fileprivate struct Chain {
        var first: Revision?
        var count = 0

        /// The entry that a write joins; a full one is left for a new one.
        var joined: Revision? { self.count < Limits.undoEntryTransactionsMax ? self.first : nil }

        mutating func note(_ revision: Revision, joined: Revision?) {
            self.count = joined == nil ? 1 : self.count + 1
            self.first = joined ?? revision
        }
    }

    private struct Run {
        var key: String
        var time: Int64
        var chain: Chain
    }

    private var groups: [UInt64: Group] = [:]
    private var groupOf: [ConnectionID: UInt64] = [:]
    private var lastGroup: UInt64 = 0
    /// By session: its newest write, if that has a coalescing key.
    private var runs: [UInt64: Run] = [:]

    // MARK: Groups

    mutating func begin(
        _ connection: ConnectionID,
        session: UInt64,
        scope: AuthorisationScope,
        name: String?,
        joined: UInt64?,
        now: Int64
    ) throws(StoreError) -> UInt64 {
        self.closeIdle(connection, now: now)
        guard self.groupOf[connection] == nil else {
            throw StoreError.refused(.invalid, "this connection is in a group already: end that first")
        }
        if let joined {
            self.closeIdle(group: joined, now: now)
            guard self.groups[joined]?.session == session else {
                throw StoreError.refused(
                    .notFound,
                    "this session has no open group \(joined): it has ended or timed out"
                )
            }
            self.groups[joined]!.members.insert(connection)
            self.groupOf[connection] = joined
            return joined
        }
        guard self.groups.values.count(where: { $0.session == session }) < Limits.undoGroupsPerSessionMax else {
            throw StoreError.refused(
                .limitExceeded,
                "the session has \(Limits.undoGroupsPerSessionMax) open groups: end one of them"
            )
        }
        self.lastGroup += 1
        self.groups[self.lastGroup] = Group(
            number: self.lastGroup,
            session: session,
            scope: scope,
            name: name,
            owner: connection,
            members: [connection],
            lastWrite: now
        )
        self.groupOf[connection] = self.lastGroup
        return self.lastGroup
    }

    /// Ends the connection's group, or leaves the one it joined; `false` when there is none any more.
    mutating func end(_ connection: ConnectionID, now: Int64) -> Bool {
        self.closeIdle(connection, now: now)
        return self.leave(connection)
    }

    /// The same, whatever the time. Returns whether there was one.
    @discardableResult
    mutating func leave(_ connection: ConnectionID) -> Bool {
        guard let number = self.groupOf[connection], let group = self.groups[number] else { return false }
        if group.owner == connection {
            self.close(number)
        } else {
            self.groups[number]!.members.remove(connection)
            self.groupOf[connection] = nil
        }
        return true
    }

    func group(of connection: ConnectionID) -> Group? {
        self.groupOf[connection].flatMap { self.groups[$0] }
    }

    /// Closes groups in which nothing has been written for too long; returns their sessions.
    mutating func closeIdle(now: Int64) -> Set<UInt64> {
        var sessions: Set<UInt64> = []
        for (number, group) in self.groups where Self.isIdle(group, now) {
            sessions.insert(group.session)
            self.close(number)
        }
        return sessions
    }

    private mutating func closeIdle(_ connection: ConnectionID, now: Int64) {
        if let number = self.groupOf[connection] { self.closeIdle(group: number, now: now) }
    }

    private mutating func closeIdle(group number: UInt64, now: Int64) {
        if let group = self.groups[number], Self.isIdle(group, now) { self.close(number) }
    }

    private static func isIdle(_ group: Group, _ now: Int64) -> Bool {
        now - group.lastWrite > Int64(Limits.undoGroupSeconds) * 1_000_000
    }

    private mutating func close(_ number: UInt64) {
        guard let group = self.groups.removeValue(forKey: number) else { return }
        for member in group.members { self.groupOf[member] = nil }
    }

    // MARK: Writes

    /// The entry that a write becomes part of; `nil` for one of its own.
    mutating func entry(
        of connection: ConnectionID,
        session: UInt64,
        _ coalescing: Coalescing?,
        now: Int64
    ) -> Revision? {
        guard !self.groups.isEmpty || !self.runs.isEmpty else { return nil }
        self.closeIdle(connection, now: now)
        if let group = self.group(of: connection) { return group.chain.joined }
        guard let coalescing, let run = self.runs[session], run.key == coalescing.key,
            now - run.time <= Int64(coalescing.milliseconds) * 1_000
        else { return nil }
        return run.chain.joined
    }

    /// A write of a session has become this revision, as part of an entry or of its own.
    mutating func note(
        _ revision: Revision,
        partOf entry: Revision?,
        _ connection: ConnectionID,
        session: UInt64,
        _ coalescing: Coalescing?,
        now: Int64
    ) {
        guard coalescing != nil || !self.groups.isEmpty || !self.runs.isEmpty else { return }
        if let number = self.groupOf[connection] {
            self.groups[number]!.chain.note(revision, joined: entry)
            self.groups[number]!.lastWrite = now
            self.runs[session] = nil
        } else if let coalescing {
            var chain = entry == nil ? Chain() : self.runs[session]?.chain ?? Chain()
            chain.note(revision, joined: entry)
            self.runs[session] = Run(key: coalescing.key, time: now, chain: chain)
        } else {
            self.runs[session] = nil
        }
    }

    /// Takes a transaction of the journal at the start, oldest first, as `note` and `breakRun` took it when it was
    /// written.
    mutating func restore(_ header: JournalHeader) {
        let session = header.sessionNumber
        guard header.kind == .write, let key = header.coalescingKey else { return self.breakRun(session) }
        var chain = header.entry == nil ? Chain() : self.runs[session]?.chain ?? Chain()
        chain.note(header.revision, joined: header.entry)
        self.runs[session] = Run(key: key, time: header.time, chain: chain)
    }

    /// The session has undone or redone something: later writes do not join earlier ones.
    mutating func breakRun(_ session: UInt64) {
        if !self.runs.isEmpty { self.runs[session] = nil }
    }

    /// Forgets what nothing can join any more.
    mutating func dropRuns(before time: Int64) {
        if !self.runs.isEmpty { self.runs = self.runs.filter { $0.value.time >= time } }
    }
}
