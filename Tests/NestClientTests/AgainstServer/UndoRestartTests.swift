import NestClient
import NestModel
import NestServerTestSupport
import NestServer
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// Undo stacks survive a restart of the server.
    struct UndoRestartTests {
        /// The stacks, names, blocked entries and grouping of entries are the same before and after a restart. Two
        /// sessions write at random: groups with several connections, undo coalescing, undo with any policy, reverts.
        ///
        /// To replay a failure, put its seed in the range.
        @Test func theUndoStateIsTheSameAfterARestart() async throws {
            for seed in 0..<12 as Range<UInt64> {
                let directory = TemporaryDirectory(inMemory: true)
                var writer = UndoWriter(seed: seed)
                var held: UndoWriter.Held?
                for round in 0..<4 {
                    held = try await withServer({ $0.store.location = .file("\(directory.path)/nest.sqlite") }) {
                        port,
                        _ in
                        if let held {
                            let now = try await writer.held(port)
                            #expect(now == held, "seed \(seed), round \(round)")
                        }
                        return try await writer.run(port, steps: 40)
                    }
                }
            }
        }
    }
}

/// Two connections of one session and one of another session, which write at random, one at a time.
private struct UndoWriter {
    /// The state that must be the same after a restart.
    struct Held: Equatable {
        var states: [UndoState]
        var history: [[HistoryEntry]]
    }

    private var random: SeededRandom
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        self.random = SeededRandom(seed: seed)
    }

    private static func configuration(_ port: Int, _ session: UInt64) -> ClientConfiguration {
        var configuration = Fixtures.configuration(port)
        configuration.session = .secret(Identifier128(high: 5, low: session))
        return configuration
    }

    /// Returns the current state.
    func held(_ port: Int) async throws -> Held {
        var held = Held(states: [], history: [])
        for session in 1...2 as ClosedRange<UInt64> {
            try await NestClient.withClient(Self.configuration(port, session)) { client in
                var state = try await client.undoState()
                state.group = nil
                let history = try await client.history(limit: 1_000)
                self.check(state, history)
                held.states.append(state)
                held.history.append(history)
            }
        }
        return held
    }

    /// Checks that an entry's transaction count equals the number of its transactions in the history.
    private func check(_ state: UndoState, _ history: [HistoryEntry]) {
        for entry in [state.undo, state.redo] {
            guard let entry, let newest = history.first(where: { $0.revision == entry.revision }) else { continue }
            let first = newest.entry ?? newest.revision
            let count = history.count { ($0.entry ?? $0.revision) == first }
            #expect(count == entry.transactionCount, "seed \(self.seed): \(entry)")
        }
    }

    mutating func run(_ port: Int, steps: Int) async throws -> Held {
        let clients = [1, 1, 2].map { NestClient(Self.configuration(port, $0)) }
        for step in 0..<steps {
            self.check(try await clients[0].undoState(), try await clients[0].history(limit: 1_000))
            do {
                try await self.step(clients[self.random.below(3)], clients, step)
            } catch let error as NestError {
                let isRefusal = error.code.rawValue >> 8 == 0x04 || error.code == .invalid
                #expect(isRefusal, "seed \(self.seed), step \(step): \(error)")
            }
        }
        for client in clients { await client.close() }
        return try await self.held(port)
    }

    private mutating func step(_ client: NestClient, _ clients: [NestClient], _ step: Int) async throws {
        switch self.random.below(10) {
        case 0, 1:
            let policy: UndoOptions.Policy = [.keep, .force, .strict][self.random.below(3)]
            _ = try await client.undo(options: UndoOptions(policy: policy, rehomes: true))
        case 2: _ = try await client.redo()
        case 3:
            let head = try await client.history(limit: 1, onlyMine: false).first?.revision.rawValue ?? 0
            _ = try await client.revert(Revision(1 + UInt64(self.random.below(Int(head) + 1))), ofAnyone: true)
        case 4: try await client.beginGroup(self.random.oneIn(2) ? "group \(step)" : nil)
        case 5: try await client.endGroup()
        case 6:
            // The other connection of the session, if it has a group.
            if let number = try await clients[0].undoState().group { try await clients[1].joinGroup(number) }
        case 7: _ = try await client.transaction(.insert("item \(step)"))
        default:
            let items = try await client.fetch(.rootChildren).sections.flatMap(\.rows).map(\.id)
            guard let id = items.randomElement(using: &self.random) else { return }
            let value = PropertyAssignment(PropertyNumber(1), .value(.string("edit \(self.random.below(4))")))
            let mutation: Mutation = self.random.oneIn(5) ? .delete(.object(id)) : .update(.object(id), values: [value])
            let coalescing = self.random.oneIn(2) ? Coalescing(key: "k", milliseconds: 60_000) : nil
            _ = try await client.transaction(WriteTransaction(mutations: [mutation], coalescing: coalescing))
        }
    }
}
