import NestProtocol
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// A random history of the whole core by seed. Several sessions write, several clients subscribe, lag, disconnect and
/// reconnect, and the engine is restarted. After every batch the state of each client equals a fresh fetch and a naive
/// outline.
final class Simulation {
    private let seed: UInt64
    var random: SeededRandom
    private let directory = TemporaryDirectory()
    private var configuration: Store.Configuration
    private let differenceRowsMin: Int
    private var engine: Engine
    private var store: Store
    var outline = NaiveOutline()
    private var clients: [SimulatedClient] = []
    private var nextConnection: UInt64 = 1
    /// Many years later than a clock without battery power would show.
    private var now: Int64 = 1_000_000_000_000_000
    private(set) var step = 0
    private(set) var undone = 0
    private(set) var refusedUndos = 0
    private(set) var restarts = 0

    /// The last session that set each value, by object and slot. An undo of another session must not change the value.
    var lastWriter: [ObjectID: [Int: Identifier128]] = [:]

    struct Written: Hashable {
        var session: Identifier128
        var id: ObjectID
        var slot: Int
        var value: AttributeValue
    }

    var written: Set<Written> = []

    /// The id of the next inserted object. Requests that are refused or change nothing use no ids.
    var nextID: Int64 = 2

    init(seed: UInt64, clients: Int) throws {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
        let history = Identifier128.random(using: &self.random)
        // Either small limits, so that bulk writes are streamed and large changes are sent as snapshots, or a server's.
        let isSmall = !seed.isMultiple(of: 4)
        self.configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: .nestedList
        )
        if isSmall {
            self.configuration.streamedFrom = self.random.below(5)
            self.configuration.bulkObjectsInMemoryMax = self.configuration.streamedFrom
            self.configuration.inlineBytesMax = self.random.below(400)
            // Small gaps, so that rows are renumbered often.
            self.configuration.orderStep = Int64(self.random.below(4) + 2)
        }
        self.differenceRowsMin = isSmall ? self.random.below(12) : Limits.differenceRowsMin
        self.store = try Store(self.configuration, newHistoryID: history)
        self.engine = try Engine(store: self.store, limits: EngineLimits(differenceRowsMin: self.differenceRowsMin))
        for _ in 0..<clients {
            let session = Identifier128.random(using: &self.random)
            let client = SimulatedClient(session: session, connection: ConnectionID(0))
            client.namesOwnRequests = session.low.isMultiple(of: 2)
            self.clients.append(client)
            try self.perform([client.connect(as: self.newConnection())])
        }
    }

    private var what: String { "seed \(self.seed), step \(self.step)" }

    private func newConnection() -> ConnectionID {
        defer { self.nextConnection += 1 }
        return ConnectionID(self.nextConnection)
    }

    private func perform(_ inputs: [EngineInput]) throws {
        // The wall clock jumps in both directions, by less than the time after which anything is forgotten.
        self.now += self.random.oneIn(40) ? Int64(self.random.below(7_200) - 3_600) * 1_000_000 : 1_000
        let effects = self.engine.perform(inputs, now: self.now)
        #expect(self.engine.failure == nil, "\(self.what)")
        for client in self.clients {
            for effect in effects { try client.take(effect, self.what) }
            #expect(client.isBlocked || !client.hasUnconfirmedOwnWrites, "\(self.what)")
        }
    }

    // MARK: A step

    func run(steps: Int) throws {
        for _ in 0..<steps {
            self.step += 1
            switch self.random.below(20) {
            case 0..<11: try self.writeBatch()
            case 11..<13: try self.undoOrRedo()
            case 13..<15: try self.subscribeSomewhere()
            case 15: try self.blockOrDrain()
            case 16: try self.reconnect()
            case 17: try self.perform([.tick])
            case 18: if self.random.oneIn(8) { try self.restart() }
            default: try self.importSomething()
            }
            try self.check()
        }
        for client in self.clients where client.isBlocked { try self.drain(client) }
        try self.check()
        try self.engine.close()
    }

    func anyItem() -> ObjectID {
        // The root is chosen often, so that its list grows.
        if self.random.oneIn(3) { return ObjectID(1) }
        return self.outline.items.keys.sorted().randomElement(using: &self.random)!
    }

    private func anyClient() -> SimulatedClient { self.clients[self.random.below(self.clients.count)] }

    /// Sends requests of several clients in one batch, so that they share a group commit. Sometimes an undo follows,
    /// which may revert a write of the same batch.
    private func writeBatch(without absent: SimulatedClient? = nil) throws {
        var expectations: [(client: SimulatedClient, id: UInt32, expected: Expectation)] = []
        var inputs: [EngineInput] = []
        func send(_ client: SimulatedClient, _ transaction: WriteTransaction, _ expected: Expectation) {
            let (id, input) = client.request(.transaction(transaction))
            inputs.append(input)
            expectations.append((client, id, expected))
        }
        let head = self.store.head
        for number in 0...self.random.below(4) {
            let client = self.anyClient()
            guard client !== absent else { continue }
            if self.random.oneIn(4), let answer = self.answers.randomElement(using: &self.random),
                let author = self.clients.first(where: { $0.session == answer.session }), author !== absent
            {
                try self.retry(answer, author, send)
                continue
            }
            var (transaction, expected) = try self.transaction(client.session, number == 0 ? head : nil)
            if self.random.oneIn(3) {
                transaction.key = Identifier128.random(using: &self.random)
                if case .done(let inserted, true) = expected {
                    let answer = (client.session, transaction, inserted)
                    self.answers.append(answer)
                    send(client, transaction, expected)
                    if self.random.oneIn(3) { try self.retry(answer, client, send) }
                    continue
                }
            }
            send(client, transaction, expected)
        }
        let undoer = self.random.oneIn(5) ? self.anyClient() : nil
        if let undoer, undoer !== absent { inputs.append(undoer.request(.undo(key: nil)).input) }
        try self.perform(inputs)
        for (client, id, expected) in expectations {
            if client.isBlocked, client.replies[id] == nil {
                self.unanswered.append((client, id, expected, self.step))
            } else {
                self.compare(client.replies[id], expected)
            }
        }
        if let undoer {
            let before = self.outline
            try self.reload()
            self.checkOthersValues(before, undoer.session)
        }
    }

    /// The requests with a key that have succeeded, and the objects that they inserted.
    private var answers: [(session: Identifier128, transaction: WriteTransaction, inserted: [ObjectID])] = []

    /// Sends the same request again, or another with the same key.
    private func retry(
        _ answer: (session: Identifier128, transaction: WriteTransaction, inserted: [ObjectID]),
        _ client: SimulatedClient,
        _ send: (SimulatedClient, WriteTransaction, Expectation) -> Void
    ) throws {
        if self.random.oneIn(4) {
            var other = answer.transaction
            other.mutations.append(.delete(.object(ObjectID(1))))
            send(client, other, .refused(.keyReused))
        } else {
            send(client, answer.transaction, .replayed(inserted: answer.inserted))
        }
    }

    /// Returns a random transaction, sometimes with a precondition if it is the first of its batch. `head` is `nil` if
    /// it is not.
    private func transaction(_ session: Identifier128, _ head: Revision?) throws -> (WriteTransaction, Expectation) {
        guard let head, self.random.oneIn(5) else { return self.randomTransaction(session) }
        let id = self.anyItem()
        let row = try self.store.access { try self.store.object(id)?.row }
        let revision = try #require(row, "\(self.what)").revision
        if revision > Revision(0), self.random.oneIn(2) {
            let before = (self.outline, self.lastWriter, self.nextID)
            var (transaction, _) = self.randomTransaction(session)
            (self.outline, self.lastWriter, self.nextID) = before
            transaction.preconditions = [.init(object: id, revision: Revision(revision.rawValue - 1))]
            return (transaction, .refused(.conflict))
        }
        var (transaction, expected) = self.randomTransaction(session)
        transaction.preconditions = [.init(object: id, revision: self.random.oneIn(2) ? revision : head)]
        return (transaction, expected)
    }

    /// Requests that are answered when their connection drains.
    private var unanswered: [(client: SimulatedClient, id: UInt32, expected: Expectation, step: Int)] = []

    private func drain(_ client: SimulatedClient) throws {
        try self.perform([client.drain()])
        for waiting in self.unanswered where waiting.client === client {
            self.compare(client.replies[waiting.id], waiting.expected)
        }
        self.unanswered.removeAll { $0.client === client }
    }

    enum Expectation {
        case done(inserted: [ObjectID], isChanged: Bool)
        case replayed(inserted: [ObjectID])
        case refused(ErrorCode)
    }

    private func compare(_ reply: EngineReply?, _ expected: Expectation) {
        switch (reply, expected) {
        case (.receipt(let receipt), .done(let inserted, let isChanged)):
            #expect(receipt.insertedIDs == inserted, "\(self.what)")
            #expect(receipt.isChanged == isChanged && !receipt.isReplayed, "\(self.what)")
        case (.receipt(let receipt), .replayed(let inserted)):
            #expect(receipt.insertedIDs == inserted && receipt.isReplayed, "\(self.what)")
        case (.failure(let error), .refused(let code)):
            #expect(error.code == code, "\(self.what): \(error)")
        default:
            Issue.record("\(self.what): expected \(expected), got \(String(describing: reply))")
        }
    }

    // MARK: Undo

    private func undoOrRedo() throws {
        let client = self.anyClient()
        guard !client.isBlocked else { return }
        let before = self.outline
        let isUndo = self.random.below(3) > 0
        let (id, input) = client.request(isUndo ? .undo(key: nil) : .redo(key: nil))
        try self.perform([input])
        try self.reload()
        switch client.replies[id] {
        case .receipt(let receipt):
            self.undone += 1
            self.checkOthersValues(before, client.session)
            // An undo and its redo, or a redo and its undo, restore the state if nothing happens in between.
            guard receipt.isChanged, self.random.oneIn(2) else { return }
            let after = self.outline
            for request in [
                isUndo ? EngineRequest.redo(key: nil) : .undo(key: nil), isUndo ? .undo(key: nil) : .redo(key: nil),
            ] {
                let (again, input) = client.request(request)
                try self.perform([input])
                guard case .receipt = client.replies[again] else {
                    Issue.record(
                        "\(self.what): refused right after its inverse: \(String(describing: client.replies[again]))"
                    )
                    return
                }
                try self.reload()
                #expect(
                    self.outline == (request.isUndo == isUndo ? after : before),
                    "\(self.what): undo and redo are not inverse"
                )
            }
        case .failure(let error):
            self.refusedUndos += 1
            #expect(
                [.undoConflict, .ownerGone, .nothingToUndo, .nothingToRedo, .cycle].contains(error.code),
                "\(self.what): \(error)"
            )
            #expect(self.outline == before, "\(self.what): a refused undo changed something")
        case let reply:
            Issue.record("\(self.what): \(String(describing: reply))")
        }
    }

    /// Checks that the undo has changed no value that another session wrote last. Forgets the writers of the changed
    /// values, because any session may have written the restored value.
    private func checkOthersValues(_ before: NaiveOutline, _ session: Identifier128) {
        for (id, writers) in self.lastWriter {
            guard let old = before.items[id]?.values, let new = self.outline.items[id]?.values else { continue }
            for (slot, writer) in writers where old[slot] != new[slot] {
                // Conflicts compare values. If another session set the value that this session had set, there is none.
                let own = Written(session: session, id: id, slot: slot, value: old[slot])
                #expect(
                    writer == session || self.written.contains(own),
                    "\(self.what): undo changed another session's value of \(id)"
                )
                self.lastWriter[id]![slot] = nil
            }
        }
    }

    /// Reads the outline from the store. The test does not predict the effect of an undo.
    private func reload() throws {
        var fresh = NaiveOutline()
        fresh.items = [:]
        var pending = [ObjectID(1)]
        while let id = pending.popLast() {
            let children = try self.fetch(id)
            let row = try #require(try self.store.access { try self.store.object(id)?.row }, "\(self.what)")
            fresh.items[id] = .init(
                title: row.values[0],
                note: row.values[1],
                done: row.values[2],
                extra: row.values[3],
                parent: row.values[4].referenceValue,
                children: children.map(\.id)
            )
            pending += children.map(\.id)
        }
        self.outline = fresh
        // An undo is not the last writer of the values that it restores: others may have set them before.
        for id in self.lastWriter.keys where fresh.items[id] == nil { self.lastWriter[id] = nil }
    }

    // MARK: Others

    private func importSomething() throws {
        let client = self.anyClient()
        guard !client.isBlocked else { return }
        let parent = self.anyItem()
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        var depth = -1
        var path: [ObjectID] = []
        let count = self.random.below(12) + 1
        let siblings = self.outline.items[parent]!.children.count
        let index = self.random.below(siblings + 1)
        var top = index
        for number in 0..<count {
            depth = self.random.below(min(depth + 2, 4))
            let title = "i\(number)"
            writer.append(SubtreeRow(depth: depth, id: nil, values: [.string(title)]))
            let id = ObjectID(self.nextID)
            self.nextID += 1
            path.removeSubrange(min(depth, path.count)...)
            if depth == 0 {
                self.outline.insert(id, .init(title: .string(title)), under: parent, at: top)
                top += 1
            } else {
                let owner = path[depth - 1]
                self.outline.insert(
                    id,
                    .init(title: .string(title)),
                    under: owner,
                    at: self.outline.items[owner]!.children.count
                )
            }
            path.append(id)
        }
        var chunks = try SpooledChunks(directory: self.directory.path)
        try chunks.append(writer.take())
        let staged = StagedSubtree(
            request: SubtreeImport(
                entity: EntityNumber(1),
                placement: Placement(relationship: PropertyNumber(5), owner: .object(parent), place: .at(index)),
                properties: [PropertyNumber(1)]
            ),
            chunks: chunks,
            rowCount: count,
            checksum: 0
        )
        let (id, input) = client.request(.importSubtree(staged))
        try self.perform([input])
        guard case .receipt(let receipt) = client.replies[id] else {
            Issue.record("\(self.what): import: \(String(describing: client.replies[id]))")
            return
        }
        #expect(
            receipt.insertedCount == count && receipt.firstInserted == ObjectID(self.nextID - Int64(count)),
            "\(self.what)"
        )
    }

    private func subscribeSomewhere() throws {
        let client = self.anyClient()
        let parent = self.anyItem()
        let projection = [[], [], [1], [3], [2, 5]].randomElement(using: &self.random)!.map { PropertyNumber($0) }
        guard client.subscriptions[SimulatedClient.children(of: parent, projection)] == nil else { return }
        try self.perform([client.subscribe(parent, projection)])
    }

    private func blockOrDrain() throws {
        let client = self.anyClient()
        if client.isBlocked { try self.drain(client) } else { try self.perform([client.block()]) }
    }

    private func reconnect() throws {
        let client = self.anyClient()
        var inputs = [EngineInput.disconnected(client.connection)]
        self.unanswered.removeAll { $0.client === client }
        try self.perform(inputs)
        // Other clients write meanwhile.
        if self.random.oneIn(2) { try self.writeBatch(without: client) }
        inputs = [client.connect(as: self.newConnection())]
        inputs += client.resumeAll()
        try self.perform(inputs)
    }

    private func restart() throws {
        self.restarts += 1
        self.unanswered = []
        try self.engine.close()
        self.store = try Store(self.configuration, newHistoryID: Identifier128(high: 0, low: 0))
        self.engine = try Engine(store: self.store, limits: EngineLimits(differenceRowsMin: self.differenceRowsMin))
        for client in self.clients {
            try self.perform([client.connect(as: self.newConnection())])
            try self.perform(client.resumeAll())
        }
    }

    // MARK: The oracle

    private func fetch(_ parent: ObjectID) throws -> [Row] {
        let prober = ConnectionID(UInt64.max)
        let request = ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: parent, relationship: PropertyNumber(6))
        )
        let effects = self.engine.perform(
            [
                .connected(prober, session: Identifier128(high: 9, low: 9), scope: .everything),
                .request(prober, requestID: 1, .fetch(request, atLeast: Revision(0))), .disconnected(prober),
            ],
            now: self.now
        )
        for case .reply(_, _, let reply) in effects {
            if case .snapshot(_, let bodies, _) = reply {
                return try bodies.flatMap { body in
                    try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                        try reader.rows(valueCount: 5)
                    }
                }
            }
            // An owner that does not exist has no rows.
            if case .failure(let error) = reply, error.code == .notFound { return [] }
        }
        Issue.record("\(self.what): no answer to a fetch")
        return []
    }

    private func check() throws {
        for (parent, item) in self.outline.items {
            let rows = try self.fetch(parent)
            #expect(rows.map(\.id) == item.children, "\(self.what): wrong children of \(parent)")
            for row in rows {
                #expect(self.outline.items[row.id]?.values == row.values, "\(self.what): wrong values of \(row.id)")
            }
        }
        for client in self.clients where !client.isBlocked {
            for (request, subscription) in client.subscriptions {
                let state = try #require(subscription.state, "\(self.what): no state")
                let parent = try #require(request.source).object
                let rows = try self.fetch(parent)
                let projected = rows.map { row in
                    Row(id: row.id, values: subscription.projection.map { row.values[Int($0.rawValue) - 1] })
                }
                #expect(state.sections[0].rows == projected, "\(self.what): wrong rows subscribed of \(parent)")
                #expect(state.revision >= client.acknowledged, "\(self.what): an answer arrived before its diff")
            }
        }
    }
}

extension EngineRequest {
    fileprivate var isUndo: Bool {
        if case .undo = self { true } else { false }
    }
}
