import NestEngine
import NestModel
import NestProtocol
import NestSchema
import NestStore
import NestTestSupport
import Testing

/// Two engines that get the same requests. One prepares every write of more than a few objects; the other, the oracle,
/// runs each as one piece.
final class PreparedTwins {
    private final class Twin {
        let fixture: EngineFixture
        let writers: [SimulatedClient]
        let reader: SimulatedClient
        /// Sees only what is in the first item.
        let guest: SimulatedClient

        init(preparedObjectsMin: Int, inlineBytesMax: Int = 64 << 10, streamedFrom: Int = 4_096) throws {
            self.fixture = try EngineFixture(
                preparedObjectsMin: preparedObjectsMin,
                inlineBytesMax: inlineBytesMax,
                streamedFrom: streamedFrom
            )
            let fixture = self.fixture
            self.writers = try (1...2).map { try fixture.connect(session: $0) }
            self.reader = try fixture.connect(session: 3)
            let item = try #require(fixture.store.layout[EngineFixture.item])
            let first = try fixture.write(self.writers[0], [EngineFixture.insert("first")]).insertedIDs[0]
            let grant = AccessConfinement(
                root: first,
                entity: EngineFixture.item,
                relationship: item.toMany[0].relationship.number
            )
            self.guest = try fixture.connect(session: 4, scope: .subtree(grant))
            try fixture.perform([self.guest.subscribe(ObjectFetchRequest(entity: EngineFixture.item))])
            try self.settle()
        }

        func settle() throws {
            while self.fixture.engine.hasBacklog || !self.fixture.reads.isEmpty { try self.fixture.perform([]) }
        }

        /// The objects in preorder.
        func tree() throws -> [String] {
            var lines: [String] = []
            var waiting = [(EngineFixture.root, 0)]
            let slot = try #require(self.fixture.store.layout[EngineFixture.item]?.slot(of: EngineFixture.title))
            while let (id, depth) = waiting.popLast() {
                let row = try #require(try self.fixture.store.access { try self.fixture.store.object(id)?.row })
                lines.append("\(depth) \(id) \(row.values[slot]), revision \(row.revision)")
                waiting += try self.fixture.children(id).reversed().map { ($0, depth + 1) }
            }
            return lines
        }
    }

    private let parts: Twin
    private let whole: Twin
    private var random: SeededRandom
    private let seed: UInt64
    private var step = 0
    /// The requests that were not answered in the turn in which they arrived.
    private(set) var preparedCount = 0
    private(set) var overtakenCount = 0

    init(seed: UInt64) throws {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
        // The topmost objects are in the journal's row, or behind the prepared blocks.
        self.parts = try Twin(
            preparedObjectsMin: 8,
            inlineBytesMax: seed.isMultiple(of: 2) ? 0 : 64 << 10,
            streamedFrom: seed.isMultiple(of: 3) ? 4 : 4_096
        )
        self.whole = try Twin(preparedObjectsMin: .max)
        var requests = [
            SimulatedClient.children(of: EngineFixture.root), ObjectFetchRequest(entity: EngineFixture.item),
            try OutlineWorld.request(),
        ]
        let item = try #require(ManagedObjectModel.nestedList.entity(EngineFixture.item))
        for predicate in ["title CONTAINS '3'", "SELF IN SUBTREE(2)", "children.@count > 1"] {
            var request = ObjectFetchRequest(entity: EngineFixture.item)
            request.predicate = try FetchPredicate(predicate, of: item, in: .nestedList)
            requests.append(request.canonical(in: .nestedList))
        }
        for request in requests { try self.subscribe(request) }
    }

    private var what: Comment { "seed \(self.seed), step \(self.step)" }

    func subscribe(_ request: ObjectFetchRequest) throws {
        for twin in [self.parts, self.whole] where twin.reader.subscriptions[request] == nil {
            try twin.fixture.perform([twin.reader.subscribe(request)])
            try twin.settle()
        }
    }

    /// Sends a random request, and perhaps one of another client while the first is being prepared.
    func advance() throws {
        self.step += 1
        let ids = try self.ids()
        if self.random.oneIn(6) { try self.subscribe(SimulatedClient.children(of: self.pick(ids))) }
        let first = try self.request(ids)
        let client = self.random.below(2)
        let (id, input) = self.parts.writers[client].request(first)
        try self.parts.fixture.perform([input])
        var order = [(client, id, first)]
        if self.parts.writers[client].replies[id] == nil {
            self.preparedCount += 1
            for _ in 0..<self.random.below(6) { try self.parts.fixture.perform([]) }
            if let other = try self.otherRequest(beside: first, ids) {
                let isFirst = self.parts.writers[client].replies[id] != nil
                let (otherID, input) = self.parts.writers[1 - client].request(other)
                try self.parts.fixture.perform([input])
                order.append((1 - client, otherID, other))
                if !isFirst, self.parts.writers[client].replies[id] == nil {
                    order.reverse()
                    self.overtakenCount += 1
                }
            }
        }
        try self.parts.settle()
        if order.count == 2, let a = self.revision(order[0]), let b = self.revision(order[1]), a > b { order.reverse() }
        for (client, id, request) in order {
            let twin = self.whole.writers[client].request(request)
            try self.whole.fixture.perform([twin.input])
            try self.whole.settle()
            self.compare(self.parts.writers[client].replies[id], self.whole.writers[client].replies[twin.id])
        }
        try self.compare()
    }

    private func revision(_ sent: (client: Int, id: UInt32, EngineRequest)) -> Revision? {
        let receipt = self.parts.writers[sent.client].replies[sent.id]?.receipt
        return receipt.flatMap { $0.isChanged ? $0.revision : nil }
    }

    private func compare(_ parts: EngineReply?, _ whole: EngineReply?) {
        // Conflicts have the order of the journal, in which the topmost objects of a prepared write have other places.
        #expect(self.sorted(parts?.receipt) == self.sorted(whole?.receipt), self.what)
        #expect(parts?.error?.code == whole?.error?.code, self.what)
        #expect(self.clauses(parts?.error) == self.clauses(whole?.error), self.what)
        #expect(parts != nil, self.what)
    }

    private func sorted(_ receipt: Receipt?) -> Receipt? {
        var receipt = receipt
        var conflicts = UndoConflicts()
        for conflict in (receipt?.conflicts.listed ?? []).sorted(by: { $0.object < $1.object }) {
            conflicts.append(conflict)
        }
        receipt?.conflicts = conflicts
        return receipt
    }

    private func clauses(_ error: NestError?) -> [String] {
        (error?.message ?? "").split { $0 == ";" || $0 == ":" }.map(String.init).sorted()
    }

    private func compare() throws {
        #expect(try self.parts.tree() == self.whole.tree(), self.what)
        for (parts, whole) in [(self.parts.reader, self.whole.reader), (self.parts.guest, self.whole.guest)] {
            #expect(Set(parts.subscriptions.keys) == Set(whole.subscriptions.keys), self.what)
            for (request, subscription) in parts.subscriptions {
                let expected = whole.subscriptions[request]?.state?.sections
                #expect(subscription.state?.sections == expected, "\(self.what): \(request)")
            }
        }
        for (parts, whole) in zip(self.parts.writers, self.whole.writers) {
            #expect(parts.undoState == whole.undoState, self.what)
        }
        let report = try self.parts.fixture.store.reader.check(deadline: .none) { _ in }
        #expect(report.problems == [], self.what)
        #expect(try self.parts.fixture.preparedFormat() == false, self.what)
    }

    // MARK: Requests

    private func ids() throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try self.parts.fixture.file().forEachRow("SELECT id FROM Item ORDER BY id") { row in
            ids.append(row.id(0))
            return true
        }
        return ids
    }

    private func pick(_ ids: [ObjectID]) -> ObjectID { ids[self.random.below(ids.count)] }

    private func request(_ ids: [ObjectID]) throws -> EngineRequest {
        switch self.random.below(10) {
        case 0, 1: try self.importing(under: self.pick(ids))
        case 2, 3: .transaction(WriteTransaction(mutations: [.delete(.object(self.pick(ids)))]))
        case 4, 5: .undo(key: nil, UndoOptions(policy: self.random.oneIn(4) ? .strict : .keep))
        case 6, 7: .redo(key: nil, UndoOptions())
        default: self.small(ids, inserts: true)
        }
    }

    /// Returns a request that may be committed while another is being prepared. New objects would get other ids than
    /// those of an import that has begun before.
    private func otherRequest(beside request: EngineRequest, _ ids: [ObjectID]) throws -> EngineRequest? {
        var inserts = true
        if case .importSubtree = request { inserts = false }
        return self.random.oneIn(3) ? nil : self.small(ids, inserts: inserts)
    }

    private func small(_ ids: [ObjectID], inserts: Bool) -> EngineRequest {
        let (some, other) = (self.pick(ids), self.pick(ids))
        let mutation =
            switch self.random.below(inserts ? 4 : 2) {
            case 0: EngineFixture.edit(some, "edited \(self.step)")
            case 1: EngineFixture.move(some, under: other, self.random.oneIn(2) ? .first : .last)
            default: EngineFixture.insert("new \(self.step)", under: some, self.random.oneIn(2) ? .first : .last)
            }
        return .transaction(WriteTransaction(mutations: [mutation]))
    }

    private func importing(under owner: ObjectID) throws -> EngineRequest {
        var depth = 0
        let rows = (0..<(5 + self.random.below(40))).map { number -> (depth: Int, title: String) in
            depth = number == 0 ? 0 : self.random.below(min(depth + 1, 5) + 1)
            return (depth, "\(self.step)/\(number)")
        }
        return try EngineFixture.importing(rows, under: owner, directory: self.parts.fixture.path)
    }
}

extension EngineFixture {
    /// Whether the store has the format of one with hidden rows.
    func preparedFormat() throws -> Bool {
        var version: Int64 = 0
        try self.file().forEachRow("PRAGMA user_version") { row in
            version = row.integer(0)
            return false
        }
        return version == 12
    }
}
