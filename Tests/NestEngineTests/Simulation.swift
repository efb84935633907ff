import NestProtocol
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// The whole core by seed: several sessions write at random, several clients subscribe, lag, leave and return, the engine is
/// restarted; after every batch everybody's state equals a fresh fetch and the outline kept the obvious way.
final class Simulation {
    private let seed: UInt64
    private var random: SeededRandom
    private let directory = TemporaryDirectory()
    private var configuration: Store.Configuration
    private let differenceRowsMin: Int
    private var engine: Engine
    private var store: Store
    private var outline = NaiveOutline()
    private var clients: [SimulatedClient] = []
    private var nextConnection: UInt64 = 1
    /// Years after what a clock says that has lost its battery.
    private var now: Int64 = 1_000_000_000_000_000
    private(set) var step = 0
    private(set) var undone = 0
    private(set) var refusedUndos = 0
    private(set) var restarts = 0

    /// The last session that set each value: what an undo by another must not change.
    private var lastWriter: [ObjectID: [Int: Identifier128]] = [:]

    private struct Written: Hashable {
        var session: Identifier128
        var id: ObjectID
        var slot: Int
        var value: AttributeValue
    }

    private var written: Set<Written> = []

    init(seed: UInt64, clients: Int) throws {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
        let history = Identifier128.random(using: &self.random)
        // Small limits, with which bulk writes are streamed and large changes are snapshots, or those of a server.
        let isSmall = !seed.isMultiple(of: 4)
        self.configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: .nestedList
        )
        if isSmall {
            self.configuration.streamedFrom = self.random.below(5)
            self.configuration.bulkObjectsInMemoryMax = self.configuration.streamedFrom
            self.configuration.inlineBytesMax = self.random.below(400)
            // Gaps run out all the time.
            self.configuration.orderStep = Int64(self.random.below(4) + 2)
        }
        self.differenceRowsMin = isSmall ? self.random.below(12) : Limits.differenceRowsMin
        self.store = try Store(self.configuration, newHistoryID: history)
        self.engine = try Engine(store: self.store, limits: EngineLimits(differenceRowsMin: self.differenceRowsMin))
        for _ in 0..<clients {
            let session = Identifier128.random(using: &self.random)
            let client = SimulatedClient(session: session, connection: ConnectionID(0))
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
        // The wall clock jumps, both ways, by less than what is forgotten after a time is kept.
        self.now += self.random.oneIn(40) ? Int64(self.random.below(7_200) - 3_600) * 1_000_000 : 1_000
        let effects = self.engine.perform(inputs, now: self.now)
        #expect(self.engine.failure == nil, "\(self.what)")
        for client in self.clients {
            for effect in effects { try client.take(effect, self.what) }
            #expect(client.isBlocked || !client.toldOfForeignWrites, "\(self.what)")
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

    private func anyItem() -> ObjectID {
        // Mostly few parents, so that lists grow and meet.
        if self.random.oneIn(3) { return ObjectID(1) }
        return self.outline.items.keys.sorted().randomElement(using: &self.random)!
    }

    private func anyClient() -> SimulatedClient { self.clients[self.random.below(self.clients.count)] }

    /// Requests of several clients in one batch, so that they share a group commit; sometimes with an undo at the end, which
    /// may be of what the batch has just done.
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

    /// Requests with a key that have been done, and what they inserted.
    private var answers: [(session: Identifier128, transaction: WriteTransaction, inserted: [ObjectID])] = []

    /// The same request again, or another under its key.
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

    /// A random transaction, at times with a precondition; `head` when nothing of the batch comes before it.
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

    /// Answers that wait until their connection drains.
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

    // MARK: Random transactions, and what they should do

    /// Performs one or several mutations on the naive outline and answers the transaction that asks the same of the engine.
    private func randomTransaction(_ session: Identifier128) -> (WriteTransaction, Expectation) {
        let before = (self.outline, self.lastWriter)
        var transaction = WriteTransaction(mutations: [])
        if self.random.oneIn(6) { transaction.name = "step \(self.step)" }
        let count = self.random.oneIn(4) ? self.random.below(10) + 1 : 1
        var inserted: [ObjectID] = []
        for _ in 0..<count {
            let (mutation, refusal) = self.randomMutation(&inserted, session)
            transaction.mutations.append(mutation)
            if let refusal {
                (self.outline, self.lastWriter) = before
                return (transaction, .refused(refusal))
            }
        }
        // Who sets a value there and back in one transaction has not written it.
        for (id, writers) in self.lastWriter {
            for (slot, writer) in writers where writer != before.1[id]?[slot] {
                guard let old = before.0.items[id], old.values[slot] == self.outline.items[id]?.values[slot] else {
                    continue
                }
                self.lastWriter[id]![slot] = before.1[id]?[slot]
            }
        }
        let isChanged = self.outline != before.0
        if isChanged { self.nextID += Int64(inserted.count) }
        return (transaction, .done(inserted: isChanged ? inserted : [], isChanged: isChanged))
    }

    /// The id that the engine will give next: requests that are refused, or change nothing in the end, use none up.
    private var nextID: Int64 = 2

    private func randomMutation(_ inserted: inout [ObjectID], _ session: Identifier128) -> (Mutation, ErrorCode?) {
        func reference(_ id: ObjectID, _ inserted: [ObjectID]) -> ObjectReference {
            inserted.firstIndex(of: id).map { .inserted($0 + 1) } ?? .object(id)
        }
        switch self.random.below(10) {
        case 0..<4:
            let parent = self.anyItem()
            let (place, index) = self.randomPlace(parent, moving: nil, inserted)
            let title = "t\(self.random.below(50))"
            let id = ObjectID(self.nextID + Int64(inserted.count))
            let mutation = Mutation.insert(
                entity: EntityNumber(1),
                values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))],
                placements: [
                    Placement(relationship: PropertyNumber(5), owner: reference(parent, inserted), place: place)
                ]
            )
            guard let index else { return (mutation, .indexOutOfRange) }
            self.outline.insert(id, .init(title: .string(title)), under: parent, at: index)
            inserted.append(id)
            return (mutation, nil)
        case 4..<6:
            let id = self.anyItem()
            let title = AttributeValue.string("u\(self.random.below(6))")
            let done = AttributeValue.boolean(self.random.oneIn(2))
            self.note(id, 0, title, session)
            self.note(id, 2, done, session)
            self.outline.items[id]!.title = title
            self.outline.items[id]!.done = done
            return (
                .update(
                    reference(id, inserted),
                    values: [
                        PropertyAssignment(PropertyNumber(1), .value(title)),
                        PropertyAssignment(PropertyNumber(3), .value(done)),
                    ]
                ), nil
            )
        case 6..<9:
            let id = self.anyItem()
            let parent = self.anyItem()
            let (place, index) = self.randomPlace(parent, moving: id, inserted)
            let mutation = Mutation.move(
                reference(id, inserted),
                Placement(relationship: PropertyNumber(5), owner: reference(parent, inserted), place: place)
            )
            if id == ObjectID(1) { return (mutation, .rootObject) }
            if self.outline.isInside(parent, id) { return (mutation, .cycle) }
            guard let index else { return (mutation, .indexOutOfRange) }
            let item = self.outline.items[id]!
            self.outline.detach(id)
            self.outline.items[id] = item
            self.outline.insert(id, item, under: parent, at: index)
            return (mutation, nil)
        default:
            let id = self.anyItem()
            if id == ObjectID(1) { return (.delete(.object(id)), .rootObject) }
            // Deleting near the root too often would keep the outline small.
            if self.outline.items.count > 30 || self.random.oneIn(3) {
                self.outline.delete(id)
                return (.delete(reference(id, inserted)), nil)
            }
            let missing = ObjectID(1_000_000)
            return (.delete(.object(missing)), .notFound)
        }
    }

    private func note(_ id: ObjectID, _ slot: Int, _ value: AttributeValue, _ session: Identifier128) {
        self.written.insert(Written(session: session, id: id, slot: slot, value: value))
        if self.outline.items[id]!.values[slot] != value { self.lastWriter[id, default: [:]][slot] = session }
    }

    /// A place among a parent's children, and the index it means when `moving` is taken out; `nil` when it is out of range.
    private func randomPlace(_ parent: ObjectID, moving: ObjectID?, _ inserted: [ObjectID]) -> (Place, Int?) {
        func reference(_ id: ObjectID) -> ObjectReference {
            inserted.firstIndex(of: id).map { .inserted($0 + 1) } ?? .object(id)
        }
        let siblings = self.outline.items[parent]!.children.filter { $0 != moving }
        switch self.random.below(6) {
        case 0: return (.first, 0)
        case 1, 2: return (.last, siblings.count)
        case 3:
            let index = self.random.below(siblings.count + 2)
            return (.at(index), index <= siblings.count ? index : nil)
        default:
            guard let index = siblings.indices.randomElement(using: &self.random) else { return (.last, 0) }
            let sibling = reference(siblings[index])
            return self.random.oneIn(2) ? (.before(sibling), index) : (.after(sibling), index + 1)
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
            // undo then redo (or redo then undo) alone is the identity on the state.
            guard receipt.isChanged, self.random.oneIn(2) else { return }
            let after = self.outline
            for request in [
                isUndo ? EngineRequest.redo(key: nil) : .undo(key: nil), isUndo ? .undo(key: nil) : .redo(key: nil),
            ] {
                let (again, input) = client.request(request)
                try self.perform([input])
                guard case .receipt = client.replies[again] else {
                    Issue.record(
                        "\(self.what): taken back at once, refused: \(String(describing: client.replies[again]))"
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

    /// No value last written by another session has changed. What has changed is from now on nobody's: the value that came
    /// back may be anyone's.
    private func checkOthersValues(_ before: NaiveOutline, _ session: Identifier128) {
        for (id, writers) in self.lastWriter {
            guard let old = before.items[id]?.values, let new = self.outline.items[id]?.values else { continue }
            for (slot, writer) in writers where old[slot] != new[slot] {
                // Conflicts compare values: what another has set to the very value that the session had set is no conflict.
                let own = Written(session: session, id: id, slot: slot, value: old[slot])
                #expect(
                    writer == session || self.written.contains(own),
                    "\(self.what): undo changed another session's value of \(id)"
                )
                self.lastWriter[id]![slot] = nil
            }
        }
    }

    /// Takes the outline from the store, where what an undo does is not predicted.
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
        // An undo gives values back that others may have set before: it is the last writer of nothing.
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
        // Others go on meanwhile.
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
            if case .snapshot(_, let bodies) = reply {
                return try bodies.flatMap { body in
                    try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                        try reader.rows(valueCount: 5)
                    }
                }
            }
            // An owner that is gone has no rows.
            if case .failure(let error) = reply, error.code == .notFound { return [] }
        }
        Issue.record("\(self.what): no answer to a fetch")
        return []
    }

    private func check() throws {
        for (parent, item) in self.outline.items {
            let rows = try self.fetch(parent)
            #expect(rows.map(\.id) == item.children, "\(self.what): the children of \(parent)")
            for row in rows {
                #expect(self.outline.items[row.id]?.values == row.values, "\(self.what): the values of \(row.id)")
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
                #expect(state.sections[0].rows == projected, "\(self.what): the subscription to \(parent)")
                #expect(state.revision >= client.acknowledged, "\(self.what): an answer overtook its diff")
            }
        }
    }
}

extension EngineRequest {
    fileprivate var isUndo: Bool {
        if case .undo = self { true } else { false }
    }
}
