import NestProtocol
import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing

/// An engine with connections of different scopes. Tests compare its answers as texts.
final class ScopeWorld {
    let directory: TemporaryDirectory
    /// The faulty disk, if the world has one.
    let disk: FaultyDisk?
    let store: Store
    let engine: Engine
    private var requestID: UInt32 = 0
    private var now: Int64 = 1_000_000
    private(set) var answers: [UInt32: String] = [:]
    /// The highest id that an answer has named.
    private(set) var lastID: Int64 = 1

    /// `rowsPerTurn`: if 0, the engine stores no scopes and walks up the tree for each request.
    init(rowsPerTurn: Int = Limits.scopeRowsPerTurnMax, streamedFrom: Int = 4_096, hasFaultyDisk: Bool = false)
        throws
    {
        self.directory = TemporaryDirectory(inMemory: true)
        self.disk = hasFaultyDisk ? FaultyDisk(watching: self.directory.path, isRecording: false) : nil
        var configuration = Store.Configuration(
            location: .file(self.directory.path + "/nest.sqlite"),
            model: .nestedList
        )
        configuration.streamedFrom = streamedFrom
        // Small gaps, so that siblings are renumbered often.
        configuration.orderStep = 4
        self.store = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        self.engine = try Engine(store: self.store, limits: EngineLimits(scopeRowsPerTurnMax: rowsPerTurn))
    }

    static func scope(_ root: ObjectID) -> AuthorisationScope {
        .subtree(AccessConfinement(root: root, entity: EngineFixture.item, relationship: PropertyNumber(6)))
    }

    func connect(_ connection: UInt64, session: UInt64, _ scope: AuthorisationScope = .everything) {
        let session = Identifier128(high: 9, low: session)
        self.perform([.connected(ConnectionID(connection), session: session, scope: scope)])
    }

    func request(_ connection: UInt64, _ request: EngineRequest) -> (id: UInt32, input: EngineInput) {
        self.requestID += 1
        return (self.requestID, .request(ConnectionID(connection), requestID: self.requestID, request))
    }

    func perform(_ inputs: [EngineInput], seconds: Int64 = 0) {
        self.now += 1_000 + seconds * 1_000_000
        for case .reply(_, let id, let reply) in self.engine.perform(inputs, now: self.now) {
            self.answers[id] = self.text(reply)
        }
    }

    /// Gives the engine turns until it needs no more.
    func finish() {
        while self.engine.hasBacklog { self.perform([]) }
    }

    /// Performs requests as one batch and gives the engine the turns that it needs. Returns their answers.
    @discardableResult
    func perform(_ requests: [(connection: UInt64, request: EngineRequest)]) -> [String] {
        let made = requests.map { self.request($0.connection, $0.request) }
        self.perform(made.map(\.input))
        self.finish()
        return made.map { self.answers[$0.id] ?? "none" }
    }

    @discardableResult
    func write(_ connection: UInt64, _ mutations: Mutation...) -> String {
        self.perform([(connection, .transaction(WriteTransaction(mutations: mutations)))])[0]
    }

    private func text(_ reply: EngineReply) -> String {
        switch reply {
        case .receipt(let receipt):
            for run in receipt.results { self.lastID = max(self.lastID, run.first.rawValue + Int64(run.count) - 1) }
            return "\(receipt)"
        case .failure(let error): return "\(error.code): \(error.message)"
        case .object(let body): return (try? body.decoded()).map { "\($0)" } ?? "\(body)"
        default: return "\(reply)"
        }
    }

    /// Returns an import of items with the given depths.
    func imported(_ depths: [Int], under owner: ObjectID) throws -> EngineRequest {
        var writer = SubtreeChunkWriter(valueCount: 1, hasIDs: false)
        var chunks = try SpooledChunks(directory: self.directory.path)
        for depth in depths {
            writer.append(SubtreeRow(depth: depth, id: nil, values: [.string("import")]))
            if writer.isFull { try chunks.append(writer.take()) }
        }
        if writer.byteCount > 0 { try chunks.append(writer.take()) }
        let request = SubtreeImport(
            entity: EngineFixture.item,
            placement: Placement(relationship: EngineFixture.parent, owner: .object(owner), place: .last),
            properties: [EngineFixture.title]
        )
        return .importSubtree(StagedSubtree(request: request, chunks: chunks, rowCount: depths.count, checksum: 0))
    }

    /// Imports a chain of `count` items below an object. Returns their ids, from the top.
    func chain(_ count: Int, under owner: ObjectID, by connection: UInt64 = 1) throws -> [ObjectID] {
        let before = self.lastID
        let answers = self.perform([(connection, try self.imported(Array(0..<count), under: owner))])
        #expect(self.lastID == before + Int64(count), "\(answers)")
        return (before + 1...before + Int64(count)).map { ObjectID($0) }
    }

    func statistic(_ name: String) -> Int? {
        let (id, input) = self.request(1, .statistics)
        var value: Int?
        for case .reply(_, id, .statistics(let all)) in self.engine.perform([input], now: self.now) {
            value = all.first { $0.name == name }.map { Int($0.value) }
        }
        return value
    }

    /// Performs a batch. Returns its cost in steps of SQLite's virtual machine.
    func steps(_ inputs: [EngineInput]) -> Int {
        let before = self.store.statementSteps
        self.perform(inputs)
        return self.store.statementSteps - before
    }
}
