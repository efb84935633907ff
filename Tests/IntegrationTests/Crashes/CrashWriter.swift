import NestClient
import NestModel
import NestTestSupport
import NestSchema

/// Writes batches under one item until it is stopped, and records the expected contents of the store.
///
/// A *steady* writer relies on its client to reconnect and to retry unanswered requests. Other writers close their
/// client when the server dies and retry the open batch themselves, on a new connection with the same key.
actor CrashWriter {
    let name: String
    let isSteady: Bool
    private let configuration: ClientConfiguration
    private let list: ObjectID
    private let progress: ProgressCounter
    private var random: SeededRandom
    private var client: NestClient
    private var isStopping = false
    private var batchNumber = 0
    /// The titles of all acknowledged objects.
    private(set) var titles: [ObjectID: String] = [:]
    /// The number of batches that were acknowledged by a replayed reply.
    private(set) var replayedCount = 0
    private var open: WriteTransaction?

    init(
        _ name: String,
        seed: UInt64,
        isSteady: Bool,
        list: ObjectID,
        _ server: ServerProcess,
        _ progress: ProgressCounter
    ) async {
        self.name = name
        self.isSteady = isSteady
        self.list = list
        self.progress = progress
        self.random = SeededRandom(seed: seed)
        let session = Identifier128.random(using: &self.random)
        self.configuration = await server.configuration(session: session)
        self.client = NestClient(self.configuration)
    }

    /// Writes until `stop` is called, or until the connection is closed while a batch is unanswered.
    func run() async throws {
        while self.open != nil || !self.isStopping {
            let transaction = self.open ?? self.nextBatch()
            self.open = transaction
            do throws(NestError) {
                self.acknowledge(transaction, try await self.client.transaction(transaction))
                await self.progress.add(1)
            } catch {
                guard error.code == .outcomeUnknown || error.code == .closed else { throw error }
                return
            }
        }
        await self.client.close()
    }

    /// Closes the connection to the killed server, unless the writer is steady.
    func giveUpConnection() async {
        if !self.isSteady { await self.client.close() }
    }

    func reconnect() {
        if !self.isSteady { self.client = NestClient(self.configuration) }
    }

    /// Ends the writer after the open batch is answered.
    func stop() { self.isStopping = true }

    func begin() {
        self.isStopping = false
        self.client = NestClient(self.configuration)
    }

    /// Returns one insert, three inserts, or a new title for an existing object.
    private func nextBatch() -> WriteTransaction {
        self.batchNumber += 1
        let key = Identifier128.random(using: &self.random)
        let known = self.titles.keys.sorted()
        if !known.isEmpty, self.random.oneIn(4) {
            let id = known[self.random.below(known.count)]
            return WriteTransaction(key: key, mutations: [Item.rename(id, "\(self.titles[id] ?? "")'")])
        }
        let count = self.random.oneIn(2) ? 1 : 3
        let mutations = (1...count).map { number in
            Item.insert("\(self.name).\(self.batchNumber) \(number)/\(count)", under: self.list, self.place(known))
        }
        return WriteTransaction(key: key, mutations: mutations)
    }

    private func place(_ known: [ObjectID]) -> Place {
        switch self.random.below(4) {
        case 0: .first
        case 1 where !known.isEmpty: .after(.object(known[self.random.below(known.count)]))
        default: .last
        }
    }

    private func acknowledge(_ transaction: WriteTransaction, _ receipt: Receipt) {
        self.open = nil
        if receipt.isReplayed { self.replayedCount += 1 }
        var ids = receipt.insertedIDs.makeIterator()
        for mutation in transaction.mutations {
            switch mutation {
            case .insert(_, let values, _):
                guard let id = ids.next(), self.titles[id] == nil else {
                    preconditionFailure("every insert has its id")
                }
                self.titles[id] = Self.title(in: values)
            case .update(let object, let values): self.titles[ObjectID(object.rawValue)] = Self.title(in: values)
            case .move, .delete, .relate, .unrelate, .setRelated, .findOrCreate, .insertAs:
                preconditionFailure("not written here")
            }
        }
    }

    private static func title(in values: [PropertyAssignment]) -> String? {
        guard case .value(.string(let title))? = values.first?.value else { return nil }
        return title
    }
}
