import NestEngine
import NestModel
import NestProtocol
import NestTestSupport
import Testing

/// A table of presences with random clients, and the naive list of the same events.
struct PresenceWorld {
    private static let scopes = (1...3).map { ObjectID($0) }
    private let seed: UInt64
    private var random: SeededRandom
    private var table = PresenceTable()
    private var naive = NaivePresence()
    private var now: Int64 = 0
    private var nextConnection: UInt64 = 1
    private var connections: [ConnectionID: PresenceTable.Client] = [:]
    private var following: [ConnectionID: Set<ObjectID>] = [:]
    private var blocked: Set<ConnectionID> = []
    private var known: [ConnectionID: KnownPresence] = [:]
    /// When each follower got its last frame of a scope.
    private var frameTimes: [ConnectionID: [ObjectID: Int64]] = [:]

    init(seed: UInt64) {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
    }

    static func message(_ body: [UInt8]) throws -> PresenceMessage {
        try ByteReader.read(body) { (reader) throws(DecodingFailure) in try PresenceMessage(from: &reader) }
    }

    private mutating func connection() -> ConnectionID? {
        self.connections.keys.sorted().randomElement(using: &self.random)
    }

    mutating func step() throws {
        self.now += Int64(self.random.below(60_000))
        if self.random.oneIn(20) { self.now += Int64(self.random.below(5_000_000)) }
        let scope = self.random.pick(Self.scopes)
        switch self.random.below(20) {
        case 0, 1: self.connect()
        case 2:
            guard let id = self.connection() else { break }
            let isExpelled = self.random.oneIn(4)
            self.table.disconnect(id, isExpelled: isExpelled, now: self.now)
            self.naive.disconnect(id, isExpelled: isExpelled, now: self.now)
            (self.connections[id], self.following[id], self.known[id]) = (nil, nil, nil)
            self.blocked.remove(id)
        case 3, 4:
            guard let id = self.connection() else { break }
            try self.table.follow(scope, id, now: self.now)
            self.following[id, default: []].insert(scope)
        case 5:
            guard let id = self.connection() else { break }
            self.table.unfollow(scope, id)
            self.following[id]?.remove(scope)
            self.known[id]?.forget(scope)
            self.frameTimes[id]?[scope] = nil
        case 6, 7:
            guard let id = self.connection() else { break }
            if self.blocked.remove(id) != nil { self.table.unblocked(id) } else { self.blocked.insert(id) }
        case 8:
            guard let id = self.connection(), let client = self.connections[id] else { break }
            _ = self.table.leave(scope, id)
            self.naive.set(nil, in: scope, by: client)
        default:
            guard let id = self.connection(), let client = self.connections[id] else { break }
            let bytes = [UInt8]("\(id) \(self.random.below(4))".utf8)
            guard (try? self.table.set(bytes, in: scope, by: client, head: Revision(0), now: self.now)) != nil else {
                break
            }
            self.naive.set(bytes, in: scope, by: client)
        }
        try self.flush()
    }

    private mutating func connect() {
        // Few sessions, so that some come back in time.
        let session = Identifier128(high: 0, low: UInt64(self.random.below(6)))
        let id = ConnectionID(self.nextConnection)
        self.nextConnection += 1
        self.connections[id] = PresenceTable.Client(id, session: session)
        self.known[id] = KnownPresence()
    }

    private mutating func flush() throws {
        let blocked = self.blocked
        let pushes = self.table.flush(now: self.now, head: Revision(0)) { id, _ in
            blocked.contains(id) ? .waiting : .ready
        }
        for push in pushes {
            let message = try Self.message(push.body)
            for id in push.recipients {
                #expect(self.following[id]?.contains(message.scope) == true, "seed \(self.seed): not a follower")
                let isFirst = self.known[id]?.scopes[message.scope] == nil
                #expect(message.isWhole || !isFirst, "seed \(self.seed): changes before the whole state")
                self.known[id]?.take(message)
                self.note(id, message.scope)
            }
        }
    }

    private mutating func note(_ id: ConnectionID, _ scope: ObjectID) {
        if let last = self.frameTimes[id]?[scope] {
            let pause = 1_000_000 / Int64(Limits.presenceFramesPerSecondMax)
            #expect(self.now - last >= pause, "seed \(self.seed): two frames within \(self.now - last) us")
        }
        self.frameTimes[id, default: [:]][scope] = self.now
    }

    /// Nothing changes any more, and all clients read.
    mutating func settle() throws {
        for id in self.blocked { self.table.unblocked(id) }
        self.blocked = []
        for _ in 0..<10 {
            self.now += 1_000_000
            try self.flush()
        }
        #expect(self.table.isQuiet, "seed \(self.seed)")
    }

    func compare() {
        for (id, scopes) in self.following where self.connections[id] != nil {
            for scope in scopes {
                let texts = self.known[id]?.texts(in: scope).sorted()
                #expect(texts == self.naive.texts(in: scope), "seed \(self.seed): scope \(scope) of \(id)")
            }
        }
        #expect(self.table.count == Self.scopes.reduce(0) { $0 + self.naive.texts(in: $1).count }, "seed \(self.seed)")
    }
}
