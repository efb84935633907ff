import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Writes, fetches and watches with a series of clients. Each new client has the same session and retries, with its
/// key, a write whose outcome is unknown.
actor ChaosWriter {
    let name: String
    private let configuration: ClientConfiguration
    private let ledger: ChaosLedger
    private var random: SeededRandom
    /// Whether the writer writes only long notes.
    private let isBulky: Bool
    private var writeCount = 0
    private var open: (write: Write, key: Identifier128)?

    init(
        _ name: String,
        _ configuration: ClientConfiguration,
        _ ledger: ChaosLedger,
        isBulky: Bool,
        _ random: SeededRandom
    ) {
        self.name = name
        self.configuration = configuration
        self.ledger = ledger
        self.isBulky = isBulky
        self.random = random
    }

    func run() async throws {
        for life in 1... {
            guard await !self.ledger.isStopping || self.open != nil else { break }
            // Short timeouts leave writes with unknown outcome.
            var configuration = self.configuration
            configuration.requestTimeout = .milliseconds(self.isBulky ? 4_000 : [60, 300, 4_000][self.random.below(3)])
            let client = NestClient(configuration)
            try await client.connectAtLast()
            let (observer, ledger, name) = (ChaosReceiptObserver(), self.ledger, self.name)
            let sightings = await ledger.sightings("\(name).\(life)", of: client)
            let kinds = ChaosSubscriber.kinds.shuffled(using: &self.random).prefix(2)
            let count = 1 + self.random.below(150)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for kind in kinds {
                    let query = WatchedQuery(kind, of: ledger.list)
                    group.addTask {
                        try await ChaosSubscriber.watch(
                            query,
                            "\(name).\(life) \(kind)",
                            client,
                            ledger,
                            observer,
                            sightings: sightings
                        )
                    }
                }
                try await self.write(count, client, observer, sightings)
                await client.close()
                try await group.waitForAll()
            }
            await ledger.endSightings("\(name).\(life)")
        }
    }

    private func write(
        _ count: Int,
        _ client: NestClient,
        _ observer: ChaosReceiptObserver,
        _ sightings: ChaosSightings
    ) async throws {
        for _ in 0..<count {
            if self.open == nil {
                guard await !self.ledger.isStopping else { return }
                await self.begin()
            }
            try await self.attempt(client, observer, sightings)
            if self.random.oneIn(4) { await self.fetch(client, sightings) }
        }
    }

    private func begin() async {
        self.writeCount += 1
        let name = "\(self.name)/\(self.writeCount)"
        if !self.isBulky, self.random.oneIn(6) {
            let write = Write(name: name, mutations: [], kind: self.random.oneIn(3) ? .redo : .undo)
            self.open = (write, Identifier128.random(using: &self.random))
            return
        }
        let (ids, known) = await self.ledger.someIDs(3, seed: self.random.next())
        let mutations =
            self.isBulky && !ids.isEmpty
            ? ChaosEdits.notes(name, ids, &self.random)
            : ChaosEdits.next(name, of: self.ledger.list, ids, known: known, &self.random)
        self.open = (Write(name: name, mutations: mutations), Identifier128.random(using: &self.random))
    }

    /// Sends the open write once. A write with unknown outcome stays open, but some are abandoned.
    private func attempt(
        _ client: NestClient,
        _ observer: ChaosReceiptObserver,
        _ sightings: ChaosSightings
    ) async throws {
        guard let (begun, key) = self.open else { return }
        var write = begun
        let transaction = WriteTransaction(name: write.name, key: key, mutations: write.mutations)
        var isOpen = false
        do throws(NestError) {
            let receipt =
                switch write.kind {
                case .write: try await client.transaction(transaction)
                // Strict, because the replay cannot know which changes another policy leaves out.
                case .undo: try await client.undo(options: UndoOptions(policy: .strict), key: key)
                case .redo: try await client.redo(options: UndoOptions(policy: .strict), key: key)
                case .revert: preconditionFailure("writers undo and redo only")
                }
            write.observations += observer.observe(receipt)
            sightings.saw(receipt.revision)
            write.answers.append(.receipt(receipt))
            await self.ledger.acknowledged(write.mutations, receipt)
            // Repeat some answered writes: the stored reply must be the same.
            isOpen = self.random.oneIn(16)
        } catch {
            let isUnknown = error.code.retry == .unknownOutcome
            write.answers.append(isUnknown ? .unknown : .refused(error.code))
            isOpen = error.code.retry != .never && !self.random.oneIn(4)
        }
        self.open = isOpen ? (write, key) : nil
        if !isOpen { await self.ledger.add(write) }
    }

    /// Fetches at least at the highest acknowledged revision of all clients, or at any that is not older than what this
    /// client has seen.
    private func fetch(_ client: NestClient, _ sightings: ChaosSightings) async {
        let kinds = ChaosSubscriber.kinds
        let kind = self.random.oneIn(2) ? .outline : kinds[self.random.below(kinds.count)]
        let query = WatchedQuery(kind, of: self.ledger.list)
        let revision = self.random.oneIn(2) ? await self.ledger.revision : Revision(0)
        let question = sightings.ask()
        // A failed read is not evidence of a violation.
        guard let state = try? await client.fetch(query.request, atLeast: revision) else {
            return sightings.gaveUp(question)
        }
        await sightings.answered(question, state.revision)
        await self.ledger.add(Fetched(client: self.name, query: query, atLeast: revision, state: state))
        // The other kinds have only the rows of the first level.
        if kind == .outline { await self.ledger.saw(state.sections.flatMap { $0.rows.map(\.id) }) }
    }
}
