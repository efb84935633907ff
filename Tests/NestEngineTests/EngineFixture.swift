import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol
import NestSchema

/// An engine on a store of its own, with clients that check what they receive.
final class EngineFixture {
    private let directory = TemporaryDirectory()
    private let model: ManagedObjectModel
    private(set) var engine: Engine!
    private(set) var store: Store
    private(set) var clients: [SimulatedClient] = []
    private var nextConnection: UInt64 = 1
    var now: Int64 = 1_000_000

    static let item = EntityNumber(1)
    static let title = PropertyNumber(1)
    static let parent = PropertyNumber(5)
    static let root = ObjectID(1)

    private let limits: EngineLimits
    /// Whether background reads wait for the test. Otherwise they run at once.
    var holdsReads = false
    var reads: [BackgroundRead] = []

    /// `isVolatile`: whether the store is in memory, for tests that do not restart the engine. `preparedObjectsMin`: as
    /// the limit; writes usually run as one piece, so that they are answered in the turn in which they arrive.
    init(
        model: ManagedObjectModel = .nestedList,
        isVolatile: Bool = false,
        changePageBytes: Int = Limits.changePageBytes,
        backgroundReadRowsMin: Int = Limits.backgroundReadRowsMin,
        differenceRowsMin: Int = Limits.differenceRowsMin,
        windowWorkMax: Int = Limits.windowWorkMax,
        admissionWorkMax: Int = Limits.admissionWorkMax,
        liveResultBytesMax: Int = Limits.liveResultBytesMax,
        rowLogBytesMax: Int = Limits.rowLogBytesMax,
        turnStepsMax: Int = Limits.turnStepsMax,
        preparedObjectsMin: Int = .max,
        inlineBytesMax: Int = 64 << 10,
        streamedFrom: Int = 4_096,
        evaluationNanosecondsMax: Int = Limits.evaluationNanosecondsMax,
        answerBytesUnreadMax: Int = Limits.answerBytesUnreadMax,
        outlineRowsMax: Int = Limits.outlineRowsMax,
        dependencyChangesMax: Int = Limits.dependencyChangesMax,
        aggregatedRowsPerTurnMax: Int = Limits.aggregatedRowsPerTurnMax,
        aggregateBytesMax: Int = Limits.aggregateBytesMax
    ) throws {
        self.model = model
        self.limits = EngineLimits(
            differenceRowsMin: differenceRowsMin,
            dependencyChangesMax: dependencyChangesMax,
            windowWorkMax: windowWorkMax,
            admissionWorkMax: admissionWorkMax,
            backgroundReadRowsMin: backgroundReadRowsMin,
            changePageBytes: changePageBytes,
            liveResultBytesMax: liveResultBytesMax,
            turnStepsMax: turnStepsMax,
            preparedObjectsMin: preparedObjectsMin,
            rowLogBytesMax: rowLogBytesMax,
            evaluationNanosecondsMax: evaluationNanosecondsMax,
            answerBytesUnreadMax: answerBytesUnreadMax,
            outlineRowsMax: outlineRowsMax,
            aggregatedRowsPerTurnMax: aggregatedRowsPerTurnMax,
            aggregateBytesMax: aggregateBytesMax
        )
        let location = Store.Configuration.Location.file(self.directory.path + "/nest.sqlite")
        var configuration = Store.Configuration(location: isVolatile ? .memory : location, model: self.model)
        configuration.inlineBytesMax = inlineBytesMax
        configuration.streamedFrom = streamedFrom
        self.store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 2))
        self.engine = try self.makeEngine()
    }

    var path: String { self.directory.path }

    /// The committed content of the store.
    func file() throws -> StoredFile { try StoredFile(self.path + "/nest.sqlite") }

    func newConnection() -> ConnectionID {
        defer { self.nextConnection += 1 }
        return ConnectionID(self.nextConnection)
    }

    func connect(
        session: UInt64,
        scope: AuthorisationScope = .everything,
        user: UserLabel? = nil,
        followsAuthors: Bool = false,
        namesOwnRequests: Bool = false
    ) throws -> SimulatedClient {
        let client = SimulatedClient(session: Identifier128(high: 7, low: session), connection: ConnectionID(0))
        client.scope = scope
        client.user = user
        client.followsAuthors = followsAuthors
        client.namesOwnRequests = namesOwnRequests
        self.clients.append(client)
        try self.perform([client.connect(as: self.newConnection())])
        return client
    }

    @discardableResult
    func perform(_ inputs: [EngineInput]) throws -> [EngineEffect] {
        self.now += 1_000
        let effects = self.engine.perform(inputs, now: self.now)
        for client in self.clients {
            for effect in effects { try client.take(effect, "fixture") }
        }
        for case .read(let read) in effects { self.reads.append(read) }
        guard !self.holdsReads, !self.reads.isEmpty else { return effects }
        let read = self.reads.removeFirst()
        return effects + (try self.perform([.read(read.id, read.run(self.store.reader))]))
    }

    /// Whether a restart keeps a model that was applied.
    var keepsAppliedModel = false

    func restart() throws {
        try self.engine.close()
        let location = Store.Configuration.Location.file(self.directory.path + "/nest.sqlite")
        var configuration = Store.Configuration(location: location, model: self.model)
        configuration.keepsAppliedModel = self.keepsAppliedModel
        self.store = try Store(configuration, newHistoryID: Identifier128(high: 3, low: 4))
        self.reads = []
        self.engine = try self.makeEngine()
    }

    private func makeEngine() throws -> Engine {
        try Engine(store: self.store, limits: self.limits)
    }

    /// Performs a client's transaction, which is committed alone.
    @discardableResult
    func write(_ client: SimulatedClient, _ mutations: [Mutation]) throws -> Receipt {
        let (id, input) = client.request(.transaction(WriteTransaction(mutations: mutations)))
        try self.perform([input])
        guard case .receipt(let receipt) = client.replies[id] else {
            throw try #require(client.replies[id]?.error)
        }
        return receipt
    }

    func ask(_ client: SimulatedClient, _ request: EngineRequest) throws -> EngineReply {
        let (id, input) = client.request(request)
        try self.perform([input])
        return try #require(client.replies[id])
    }

    func children(_ owner: ObjectID = EngineFixture.root) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        let layout = try #require(self.store.layout[Self.item])
        try self.store.access { try self.store.forEach(layout.toMany[0], of: owner) { id, _ in ids.append(id) } }
        return ids
    }

    /// Returns an import of items that are siblings.
    func imported(_ titles: [String], under owner: ObjectID, by client: SimulatedClient) throws -> EngineInput {
        try self.imported(titles.map { (0, $0) }, under: owner, by: client)
    }

    func imported(_ rows: [(depth: Int, title: String)], under owner: ObjectID, by client: SimulatedClient) throws
        -> EngineInput
    {
        client.request(try Self.importing(rows, under: owner, directory: self.directory.path)).input
    }

    /// `directory`: where the rows are spooled.
    static func importing(
        _ rows: [(depth: Int, title: String)],
        under owner: ObjectID = EngineFixture.root,
        key: Identifier128? = nil,
        directory: String
    ) throws -> EngineRequest {
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        var chunks = try SpooledChunks(directory: directory)
        for row in rows {
            writer.append(SubtreeRow(depth: row.depth, id: nil, values: [.string(row.title)]))
            if writer.isFull { try chunks.append(writer.take()) }
        }
        if writer.byteCount > 0 { try chunks.append(writer.take()) }
        let staged = StagedSubtree(
            request: SubtreeImport(
                key: key,
                entity: Self.item,
                placement: Placement(relationship: Self.parent, owner: .object(owner), place: .last),
                properties: [Self.title]
            ),
            chunks: chunks,
            rowCount: rows.count,
            checksum: 0
        )
        return .importSubtree(staged)
    }

    static func insert(_ title: String, under owner: ObjectID = EngineFixture.root, _ place: Place = .last) -> Mutation
    {
        .insert(
            entity: Self.item,
            values: [PropertyAssignment(Self.title, .value(.string(title)))],
            placements: [Placement(relationship: Self.parent, owner: .object(owner), place: place)]
        )
    }

    static func edit(_ id: ObjectID, _ title: String) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(Self.title, .value(.string(title)))])
    }

    static func move(_ id: ObjectID, under owner: ObjectID = EngineFixture.root, _ place: Place) -> Mutation {
        .move(.object(id), Placement(relationship: Self.parent, owner: .object(owner), place: place))
    }
}

extension EngineReply {
    var error: NestError? {
        if case .failure(let error) = self { error } else { nil }
    }

    var isDone: Bool { if case .done = self { true } else { false } }

    /// Returns the message that answers a query.
    func message<Answer: Message>(_ type: Answer.Type) -> Answer? {
        if case .answer(let message, _) = self { message as? Answer } else { nil }
    }

    var preview: UndoPreview? { self.message(UndoPreviewMessage.self)?.preview }
    var entries: [HistoryEntry]? { self.message(History.self)?.entries }
    var explanation: Explanation? { self.message(ExplanationMessage.self)?.explanation }

    var receipt: Receipt? {
        if case .receipt(let receipt) = self { receipt } else { nil }
    }
}

extension EngineRequest {
    static func history(before: Revision, limit: Int, onlyMine: Bool, object: ObjectID? = nil) -> EngineRequest {
        .query(GetHistory(before: before, limit: limit, onlyMine: onlyMine, object: object))
    }

    static func explain(_ request: ObjectFetchRequest) -> EngineRequest { .query(Explain(request)) }

    static func previewUndo(_ target: UndoTarget, _ options: UndoOptions) -> EngineRequest {
        .query(PreviewUndo(target, options: options))
    }

    static var tokens: EngineRequest { .query(ListTokens()) }
}
