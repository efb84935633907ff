import Foundation
import NestEngine
import NestModel
import NestOverlay
import NestProtocol
import NestStore
import NestTestSupport

/// A copy of a store, on which the engine carries out what a client has pending. What it then finds is the perfect
/// prediction.
struct SecondStore {
    private let directory = TemporaryDirectory()
    private let store: Store
    private let engine: Engine
    private let now: Int64

    /// `path`: the file of the other store, to which nothing is written meanwhile.
    init(copyOf path: String, _ model: ManagedObjectModel, now: Int64) throws {
        let copy = self.directory.path + "/copy.sqlite"
        try Self.copy(path, to: copy)
        self.store = try Store(
            Store.Configuration(location: .file(copy), model: model),
            newHistoryID: Identifier128(high: 1, low: 1)
        )
        self.engine = try Engine(store: self.store, limits: EngineLimits())
        self.now = now
    }

    static func copy(_ path: String, to copy: String) throws {
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
    }

    /// Carries out transactions of a session, in their order, and returns all objects then; `nil` if one was refused.
    func results(of transactions: [[Mutation]], by session: Identifier128, _ what: String) throws -> NaiveResults? {
        let client = SimulatedClient(session: session, connection: ConnectionID(0))
        try self.perform(client.connect(as: ConnectionID(1)), client, what)
        for mutations in transactions {
            let (id, input) = client.request(.transaction(WriteTransaction(mutations: mutations)))
            try self.perform(input, client, what)
            guard case .receipt? = client.replies[id] else { return nil }
        }
        return try NaiveResults(self.store)
    }

    private func perform(_ input: EngineInput, _ client: SimulatedClient, _ what: String) throws {
        for effect in self.engine.perform([input], now: self.now) { try client.take(effect, what) }
    }

    func close() throws { try self.engine.close() }
}
