import NestModel
import NestStore
import NestProtocol

/// Undo coalescing: decides which writes join the undo entry of earlier writes. A write joins the open group of its
/// connection, or the run of its session: consecutive writes with the same coalescing key. Groups end when the server
/// stops; runs continue after a restart, because the journal records them.
///
/// A value type: after a failed commit the old value is restored.
struct UndoCoalescing {
    struct Group {
        let number: UInt64
        let session: UInt64
        /// The scope of the connection that began the group.
        let scope: AuthorisationScope
        let name: String?
        /// The connection that began the group. The group ends with it.
        let owner: ConnectionID
        fileprivate var members: Set<ConnectionID>
        fileprivate var chain = Chain()
        fileprivate var lastWrite: Int64
    }

    /// The entry that the next write may join.
    fileprivate struct Chain {
        var first: Revision?
        var count = 0

        /// The entry that a write joins; `nil` if it is full and a new one begins.
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
    /// Connections whose group ended because the node no longer leads; the next write of each is refused.
    private var ended: Set<ConnectionID> = []
    /// The run of each session whose newest write has a coalescing key.
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
        self.ended.remove(connection)
        self.closeIdle(connection, now: now)
        guard self.groupOf[connection] == nil else {
            throw StoreError.refused(.invalid, "this connection is already in a group: end it first")
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

    /// Ends the connection's group, or leaves the one that it joined. Returns `false` if there is none.
    mutating func end(_ connection: ConnectionID, now: Int64) -> Bool {
        self.closeIdle(connection, now: now)
        return self.leave(connection)
    }

    /// Ends or leaves the group like `end`, but does not check whether it is idle. Returns whether there was one.
    @discardableResult
    mutating func leave(_ connection: ConnectionID) -> Bool {
        self.ended.remove(connection)
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

    /// Ends all groups, because the node no longer leads. Returns their sessions.
    mutating func endGroups() -> Set<UInt64> {
        self.ended.formUnion(self.groupOf.keys)
        let sessions = Set(self.groups.values.map(\.session))
        (self.groups, self.groupOf) = ([:], [:])
        return sessions
    }

    /// Refuses the first write of a connection whose group ended without its knowledge: it would silently become an
    /// undo entry of its own.
    mutating func refuseEnded(_ connection: ConnectionID) throws(StoreError) {
        guard !self.ended.isEmpty, self.ended.remove(connection) != nil else { return }
        throw .refused(Self.lost)
    }

    static let lost = NestError(.notFound, "the undo group ended with the leader, or timed out: begin a new group")

    // MARK: Cluster

    func hasEnded(_ connection: ConnectionID) -> Bool { !self.ended.isEmpty && self.ended.contains(connection) }

    /// Notes that the connection's group ended without its knowledge.
    mutating func noteEnded(_ connection: ConnectionID) { self.ended.insert(connection) }

    /// The client knows that its group has ended, or begins a new one.
    mutating func forgetEnded(_ connection: ConnectionID) { self.ended.remove(connection) }

    /// Makes the numbers of new groups differ from those of earlier leaders: a client may still name one of theirs.
    mutating func numberGroups(inEpoch epoch: Int64) { self.lastGroup = max(self.lastGroup, UInt64(epoch) << 24) }

    /// Compares the group of a port with the one that its client is in (0: none). Refuses a client whose group has
    /// ended; a port whose client has left its group leaves it too. Returns whether it did.
    mutating func enter(_ group: UInt64, _ connection: ConnectionID) throws(StoreError) -> Bool {
        if group == 0 { return self.leave(connection) }
        guard self.groupOf[connection] == group else { throw .refused(Self.lost) }
        return false
    }

    // MARK: Writes

    /// Returns the entry that a write joins; `nil` if it begins a new one.
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

    /// Notes the revision of a write. `entry`: the entry that it joined; `nil` if it began a new one.
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

    /// Replays a transaction of the journal at start, oldest first, with the effect that `note` or `breakRun` had when
    /// it was written.
    mutating func restore(_ header: JournalHeader) {
        let session = header.sessionNumber
        guard header.kind == .write, let key = header.coalescingKey else { return self.breakRun(session) }
        var chain = header.entry == nil ? Chain() : self.runs[session]?.chain ?? Chain()
        chain.note(header.revision, joined: header.entry)
        self.runs[session] = Run(key: key, time: header.time, chain: chain)
    }

    /// Ends the run of a session that has undone or redone something: later writes do not join earlier ones.
    mutating func breakRun(_ session: UInt64) {
        if !self.runs.isEmpty { self.runs[session] = nil }
    }

    /// Forgets the runs that no write can join any more.
    mutating func dropRuns(before time: Int64) {
        if !self.runs.isEmpty { self.runs = self.runs.filter { $0.value.time >= time } }
    }
}
