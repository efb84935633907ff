import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// The history of a session among the transactions of other sessions.
@Suite struct HistoryPageTests {
    private let fixture: EngineFixture
    private let clients: [SimulatedClient]

    init() throws {
        self.fixture = try EngineFixture()
        self.clients = try (1...3).map { [fixture] in try fixture.connect(session: $0) }
    }

    private func page(_ client: SimulatedClient, before: Revision, limit: Int, onlyMine: Bool) throws -> [HistoryEntry]
    {
        let request = EngineRequest.history(before: before, limit: limit, onlyMine: onlyMine)
        guard let entries = try self.fixture.ask(client, request).entries else {
            throw NestError(.internalError, "no history")
        }
        return entries
    }

    /// Returns all revisions of a history, and the number of its pages.
    private func all(_ client: SimulatedClient, limit: Int, onlyMine: Bool) throws -> ([Revision], pageCount: Int) {
        var revisions: [Revision] = []
        var pageCount = 0
        while true {
            let page = try self.page(client, before: revisions.last ?? Revision(0), limit: limit, onlyMine: onlyMine)
            guard !page.isEmpty else { return (revisions, pageCount) }
            #expect(page.count <= limit)
            revisions += page.map(\.revision)
            pageCount += 1
        }
    }

    private func inserts(_ client: SimulatedClient, _ count: Int) -> [EngineInput] {
        (0..<count).map { number in
            client.request(.transaction(WriteTransaction(mutations: [EngineFixture.insert("\(number)")]))).input
        }
    }

    private func expectSound(_ random: inout SeededRandom, _ what: String) throws {
        let head = self.fixture.store.head.rawValue
        let oldest = self.fixture.store.oldestBase.rawValue
        let everything = try self.all(self.clients[0], limit: 1 + random.below(9), onlyMine: false).0
        #expect(everything.map(\.rawValue) == (oldest..<head).reversed().map { $0 + 1 }, "\(what)")
        for client in self.clients {
            let whole = try self.page(client, before: Revision(0), limit: 1_000, onlyMine: false)
            let mine = whole.filter(\.isMine).map(\.revision)
            #expect(try self.all(client, limit: 1 + random.below(9), onlyMine: true).0 == mine, "\(what)")
            let before = Revision(UInt64(random.below(Int(head) + 3)))
            let limit = 1 + random.below(5)
            let expected = mine.filter { before == Revision(0) || $0 < before }.prefix(limit)
            let page = try self.page(client, before: before, limit: limit, onlyMine: true)
            #expect(page.map(\.revision) == Array(expected), "\(what), before \(before)")
        }
    }

    @Test func pagesOfASessionAreASubsetOfTheHistory() throws {
        for seed in 0..<6 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            for round in 0..<12 {
                let inputs = (0..<random.below(12)).flatMap { _ in
                    let client = self.clients[random.below(3)]
                    return random.oneIn(5)
                        ? [client.request(.undo(key: nil)).input] : self.inserts(client, 1 + random.below(3))
                }
                try self.fixture.perform(inputs)
                if random.oneIn(6) {
                    // The engine learns of dropped revisions only if it drops them itself or restarts.
                    let store = self.fixture.store
                    _ = try store.access { try store.trimJournal(now: self.fixture.now, revisionsMax: 20) }
                    try self.restart()
                } else if random.oneIn(6) {
                    try self.restart()
                }
                try self.expectSound(&random, "seed \(seed), round \(round)")
            }
        }
    }

    private func restart() throws {
        try self.fixture.restart()
        for client in self.clients { try self.fixture.perform([client.connect(as: self.fixture.newConnection())]) }
    }

    /// With one own entry among 511 others in each commit, a page ends early and the next one continues.
    @Test func aPageEndsAfterManySearchedTransactions() throws {
        let commitCount = 2 + Limits.historyHeadersMax / Limits.requestsPerCommitMax
        for _ in 0..<commitCount {
            let others = self.inserts(self.clients[1], Limits.requestsPerCommitMax - 1)
            try self.fixture.perform(others + self.inserts(self.clients[0], 1))
        }
        #expect(self.fixture.store.head.rawValue == UInt64(commitCount * Limits.requestsPerCommitMax))
        let first = try self.page(self.clients[0], before: Revision(0), limit: 1_000, onlyMine: true)
        #expect(!first.isEmpty && first.count < commitCount)
        let (mine, pageCount) = try self.all(self.clients[0], limit: 1_000, onlyMine: true)
        #expect(mine.count == commitCount && pageCount == 2)
        #expect(try self.page(self.clients[2], before: Revision(0), limit: 1_000, onlyMine: true).isEmpty)
    }
}
