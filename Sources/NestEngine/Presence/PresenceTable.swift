import NestModel
import NestProtocol

/// The clients that are present in each scope, and what the followers of the scope know of them.
///
/// A value without clock, store or sockets: times come in, in microseconds, and `flush` returns what to send. Nothing
/// of it is stored. Its law: after quiet, every follower of a scope knows the last states of the clients that are
/// connected, and no others.
package struct PresenceTable {
    /// A client of this node.
    package struct Client {
        package var id: ConnectionID
        package var session: Identifier128
        package var sessionNumber: UInt64
        package var user: UserLabel?

        package init(
            _ id: ConnectionID,
            session: Identifier128,
            sessionNumber: UInt64 = 0,
            user: UserLabel? = nil
        ) {
            self.id = id
            self.session = session
            self.sessionNumber = sessionNumber
            self.user = user
        }
    }

    /// Another node of the cluster.
    package enum Peer: Hashable, Sendable {
        /// The one that this node follows.
        case leader
        /// One that follows this node, by its connection.
        case node(ConnectionID)
    }

    /// What keeps a presence alive.
    enum Owner: Equatable {
        case client(ConnectionID)
        case peer(Peer)
        /// No connection since this time: it ends after a while, unless its session comes back.
        case lost(since: Int64)

        var isLost: Bool { if case .lost = self { true } else { false } }
    }

    /// One presence in one scope.
    struct Entry {
        var owner: Owner
        /// The secret id of the client's session.
        var session: Identifier128
        /// What followers may know; `nil` until this node has reached the first state's revision.
        var shown: PresenceState?
        /// A newer state, which followers may know when this node has reached the revision.
        var next: (state: PresenceState, revision: Revision)?

        /// The newest state, shown or not.
        var state: PresenceState? { self.next?.state ?? self.shown }

        var byteCount: Int {
            guard let state else { return Self.overhead }
            return Self.overhead + state.bytes.count + (state.user?.text.utf8.count ?? 0)
        }

        /// The memory of an entry besides its bytes and its label, about.
        private static let overhead = 256
    }

    struct Scope {
        var entries: [UInt64: Entry] = [:]
        var followers: Set<ConnectionID> = []
        /// The followers that need the whole state: new ones, and those that were blocked meanwhile.
        var stale: Set<ConnectionID> = []
        /// The presences whose state may differ from `sent`.
        var changed: Set<UInt64> = []
        /// What the followers know that are not stale.
        var sent: [UInt64: PresenceState] = [:]
        var pace = Pace()
    }

    /// When something was sent last, and how long nothing may follow. A clock that was set back ends the pause.
    struct Pace {
        private var sentAt = Int64.min
        private var pause: Int64 = 0

        func isDue(_ now: Int64) -> Bool { now < self.sentAt || now - self.pause >= self.sentAt }

        mutating func sent(now: Int64, pause: Int64) {
            self.sentAt = now
            self.pause = pause
        }
    }

    private struct Member {
        /// 0: present nowhere yet.
        var number: UInt64 = 0
        var presentIn: Set<ObjectID> = []
        var following: Set<ObjectID> = []
        /// SET_PRESENCEs that it may still send, and the time up to which they were added.
        var budget = Limits.presenceSetsPerSecondMax
        var filledAt: Int64

        mutating func takeBudget(now: Int64) -> Bool {
            let each = 1_000_000 / Int64(Limits.presenceSetsPerSecondMax)
            // After a clock was set back, time counts from there.
            if now < self.filledAt { self.filledAt = now }
            let due = min((now - self.filledAt) / each, Int64(Limits.presenceSetsPerSecondMax))
            self.budget = min(Limits.presenceSetsPerSecondMax, self.budget + Int(due))
            self.filledAt += due * each
            if self.budget == Limits.presenceSetsPerSecondMax { self.filledAt = now }
            guard self.budget > 0 else { return false }
            self.budget -= 1
            return true
        }
    }

    /// One presence, for lists of them.
    struct Key: Hashable, Comparable {
        var scope: ObjectID
        var number: UInt64

        static func < (a: Key, b: Key) -> Bool { (a.scope.rawValue, a.number) < (b.scope.rawValue, b.number) }
    }

    var scopes: [ObjectID: Scope] = [:]
    private var members: [ConnectionID: Member] = [:]
    /// Scopes with something to send, or with followers that need the whole state.
    var dirty: Set<ObjectID> = []
    /// Scopes with states that this node has not reached.
    private var held: Set<ObjectID> = []
    /// Presences that were lost, in that order. One that has been lost at another time since is not meant.
    private var losses: [(at: Int64, key: Key)] = []
    /// The numbers of lost clients of this node, by session.
    private var lostNumbers: [Identifier128: UInt64] = [:]
    /// Followers that were blocked when their scopes changed.
    private var waiting: [ConnectionID: Set<ObjectID>] = [:]
    /// The other nodes, and whether each needs the whole state.
    var peers: [Peer: Bool] = [:]
    /// Presences that the other nodes must hear of.
    var relayed: Set<Key> = []
    var relayPace = Pace()
    /// The newest revision that the followers have.
    private var head = Revision(0)
    private let numberBase: UInt64
    private var numberCount: UInt64 = 0
    package private(set) var byteCount = 0
    package private(set) var count = 0

    static let grace = Int64(Limits.presenceGraceSeconds) * 1_000_000
    static let frameTime = 1_000_000 / Int64(Limits.presenceFramesPerSecondMax)

    /// `node`: random; the numbers of two nodes then differ, as long as they are exact in a double. 0: a single node.
    package init(node: UInt64 = 0) {
        self.numberBase = (node & (1 << 29 - 1)) << 24
    }

    package var followerCount: Int { self.members.values.reduce(0) { $0 + $1.following.count } }

    /// Whether a connection follows or is present in a scope.
    package func knows(_ scope: ObjectID, _ id: ConnectionID) -> Bool {
        guard let member = self.members[id] else { return false }
        return member.presentIn.contains(scope) || member.following.contains(scope)
    }

    // MARK: Requests

    /// Sets what a client shows in a scope. Returns its number. `head`: the newest revision of this node, which has
    /// everything that the client can know of.
    package mutating func set(
        _ bytes: [UInt8],
        in scope: ObjectID,
        by client: Client,
        head: Revision,
        now: Int64
    ) throws(NestError) -> UInt64 {
        var member = self.members[client.id] ?? Member(filledAt: now)
        let isInBudget = member.takeBudget(now: now)
        self.members[client.id] = member
        guard isInBudget else {
            throw NestError(
                .limitExceeded,
                "a client shows its presence at most \(Limits.presenceSetsPerSecondMax) times a second"
            )
        }
        try self.requireRoom(for: member, in: scope)
        if member.number == 0 { member.number = self.lostNumbers[client.session] ?? self.makeNumber() }
        let state = PresenceState(
            number: member.number,
            sessionNumber: client.sessionNumber,
            user: client.user,
            bytes: bytes
        )
        let entry = Entry(owner: .client(client.id), session: client.session, shown: state)
        let key = Key(scope: scope, number: member.number)
        guard self.hasRoom(for: entry, key) else {
            throw NestError(.busy, "the server's memory for presence is used up: try again later")
        }
        guard self.scopes[scope]?.entries[key.number] != nil || self.hasSlot(in: scope, session: client.session) else {
            throw NestError(.limitExceeded, "\(Limits.presencesPerScopeMax) clients are present at object \(scope)")
        }
        member.presentIn.insert(scope)
        self.members[client.id] = member
        if self.lostNumbers[client.session] == member.number { self.lostNumbers[client.session] = nil }
        self.head = max(self.head, head)
        self.put(entry, key)
        return member.number
    }

    /// Removes what a client shows in a scope. Returns its number; 0 if it has none.
    package mutating func leave(_ scope: ObjectID, _ id: ConnectionID) -> UInt64 {
        guard let number = self.members[id]?.number else { return 0 }
        if self.members[id]?.presentIn.remove(scope) != nil {
            self.remove(Key(scope: scope, number: number))
        }
        return number
    }

    /// Begins to follow a scope. The next `flush` returns its whole state.
    package mutating func follow(_ scope: ObjectID, _ id: ConnectionID, now: Int64) throws(NestError) {
        var member = self.members[id] ?? Member(filledAt: now)
        try self.requireRoom(for: member, in: scope)
        member.following.insert(scope)
        self.members[id] = member
        self.scopes[scope, default: Scope()].followers.insert(id)
        self.scopes[scope]?.stale.insert(id)
        self.dirty.insert(scope)
    }

    package mutating func unfollow(_ scope: ObjectID, _ id: ConnectionID) {
        self.members[id]?.following.remove(scope)
        self.waiting[id]?.remove(scope)
        self.scopes[scope]?.followers.remove(id)
        self.scopes[scope]?.stale.remove(id)
        self.dropIfEmpty(scope)
    }

    /// Forgets a connection that is gone. What it shows stays for a while, unless it `isExpelled`.
    package mutating func disconnect(_ id: ConnectionID, isExpelled: Bool = false, now: Int64) {
        guard let member = self.members[id] else { return }
        for scope in member.following { self.unfollow(scope, id) }
        self.members[id] = nil
        self.waiting[id] = nil
        for scope in member.presentIn.sorted(by: { $0.rawValue < $1.rawValue }) {
            let key = Key(scope: scope, number: member.number)
            if isExpelled { self.remove(key) } else { self.lose(key, now: now) }
        }
    }

    /// A connection that was blocked has everything that its lists show.
    package mutating func unblocked(_ id: ConnectionID) {
        guard let scopes = self.waiting.removeValue(forKey: id) else { return }
        self.dirty.formUnion(scopes)
    }

    private func requireRoom(for member: Member, in scope: ObjectID) throws(NestError) {
        guard !member.presentIn.contains(scope), !member.following.contains(scope) else { return }
        guard member.presentIn.union(member.following).count < Limits.presenceScopesPerConnectionMax else {
            throw NestError(
                .limitExceeded,
                "a connection is present in at most \(Limits.presenceScopesPerConnectionMax) scopes, or follows them"
            )
        }
    }

    private mutating func makeNumber() -> UInt64 {
        self.numberCount += 1
        return self.numberBase | self.numberCount & (1 << 24 - 1)
    }

    // MARK: Presences

    func hasRoom(for entry: Entry, _ key: Key) -> Bool {
        let before = self.scopes[key.scope]?.entries[key.number]?.byteCount ?? 0
        return self.byteCount - before + entry.byteCount <= Limits.presenceMemoryBytesMax
    }

    /// Whether another presence fits into a scope. A lost one of the same session makes place.
    func hasSlot(in scope: ObjectID, session: Identifier128) -> Bool {
        guard let entries = self.scopes[scope]?.entries, entries.count >= Limits.presencesPerScopeMax else {
            return true
        }
        return entries.values.contains { $0.owner.isLost && $0.session == session }
    }

    /// Puts a new or newer presence. A lost one of the same session with another number ends.
    mutating func put(_ entry: Entry, _ key: Key) {
        let before = self.scopes[key.scope]?.entries[key.number]
        if before == nil {
            let entries = self.scopes[key.scope]?.entries ?? [:]
            for (number, other) in entries where other.owner.isLost && other.session == entry.session {
                self.remove(Key(scope: key.scope, number: number))
            }
            self.count += 1
        }
        var entry = entry
        if let next = entry.next {
            // Until then the followers keep what they know.
            entry.shown = before?.shown
            if next.revision <= self.head {
                entry.shown = next.state
                entry.next = nil
            } else {
                self.held.insert(key.scope)
            }
        }
        self.byteCount += entry.byteCount - (before?.byteCount ?? 0)
        self.scopes[key.scope, default: Scope()].entries[key.number] = entry
        if entry.state != before?.state { self.noteRelay(key) }
        if entry.shown != before?.shown { self.note(key) }
    }

    mutating func remove(_ key: Key) {
        guard let entry = self.scopes[key.scope]?.entries.removeValue(forKey: key.number) else { return }
        self.count -= 1
        self.byteCount -= entry.byteCount
        if self.lostNumbers[entry.session] == key.number { self.lostNumbers[entry.session] = nil }
        self.noteRelay(key)
        self.note(key)
        self.dropIfEmpty(key.scope)
    }

    /// A presence has lost its connection.
    mutating func lose(_ key: Key, now: Int64) {
        guard let entry = self.scopes[key.scope]?.entries[key.number] else { return }
        if case .client = entry.owner { self.lostNumbers[entry.session] = key.number }
        self.scopes[key.scope]?.entries[key.number]?.owner = .lost(since: now)
        self.losses.append((now, key))
    }

    /// Without other nodes, nothing is kept for them: a new one gets everything.
    private mutating func noteRelay(_ key: Key) { if !self.peers.isEmpty { self.relayed.insert(key) } }

    private mutating func note(_ key: Key) {
        self.scopes[key.scope]?.changed.insert(key.number)
        self.dirty.insert(key.scope)
    }

    mutating func dropIfEmpty(_ scope: ObjectID) {
        guard let state = self.scopes[scope], state.entries.isEmpty, state.followers.isEmpty else { return }
        self.scopes[scope] = nil
        self.dirty.remove(scope)
        self.held.remove(scope)
    }

    // MARK: Time and revisions

    /// Whether `flush` has nothing to do, whatever the time is. Inlined: a call would copy the table, at each commit.
    @inline(__always) package var isQuiet: Bool {
        // One after the other: the operands of `&&` are closures, for which the table would be copied.
        if !self.dirty.isEmpty { return false }
        if !self.losses.isEmpty { return false }
        if !self.held.isEmpty { return false }
        if !self.relayed.isEmpty { return false }
        return self.peers.isEmpty || !self.peers.values.contains(true)
    }

    /// Ends the lost presences whose time is over, and shows the states that this node has reached.
    mutating func advance(now: Int64, head: Revision) {
        self.head = head
        let due = self.losses.prefix { now >= $0.at + Self.grace || now < $0.at }
        for (time, key) in due where self.scopes[key.scope]?.entries[key.number]?.owner == .lost(since: time) {
            self.remove(key)
        }
        self.losses.removeFirst(due.count)
        for scope in self.held {
            var isHeld = false
            for (number, entry) in self.scopes[scope]?.entries ?? [:] {
                guard let next = entry.next else { continue }
                guard next.revision <= head else {
                    isHeld = true
                    continue
                }
                self.scopes[scope]?.entries[number]?.shown = next.state
                self.scopes[scope]?.entries[number]?.next = nil
                self.note(Key(scope: scope, number: number))
            }
            if !isHeld { self.held.remove(scope) }
        }
    }

    mutating func wait(_ id: ConnectionID, for scope: ObjectID) { self.waiting[id, default: []].insert(scope) }
}
