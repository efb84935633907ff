import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Checks a run piece by piece and summarises it.
actor ChaosChecker {
    private let world: ChaosWorld
    private let list: ObjectID
    private var checker = HistoryChecker()
    private(set) var summary = ChaosSummary()
    /// The last revision of each piece.
    private var ends: [Revision] = [Revision(0)]

    init(_ run: ChaosRun) {
        self.world = run.world
        self.list = run.ledger.list
    }

    /// Checks a piece and throws its violations. `piece` has no audit yet.
    func check(_ piece: History, to last: Revision) async throws {
        var piece = piece
        piece.audit = try await self.world.nodes[0].server.audit(after: self.checker.last, through: last)
        let violations = self.checker.check(piece)
        self.summary.add(piece)
        self.ends.append(self.checker.last)
        print("chaos: piece \(self.ends.count - 1): \(ChaosSummary(piece)), \(violations.count) violations")
        guard violations.isEmpty else { throw ChaosFailure(violations: violations) }
    }

    /// Reads and checks again all pieces that the journal still holds, and returns their number.
    func reread() async throws -> Int {
        var count = 0
        for (base, last) in zip(self.ends, self.ends.dropFirst()) {
            let parts: [ChangeSetPart]
            do {
                parts = try await self.world.nodes[0].server.audit(after: base, through: last)
            } catch let error as NestError where error.code == .revisionDropped {
                continue
            }
            let violations = self.checker.violations(rereading: parts, after: base, through: last)
            guard violations.isEmpty else { throw ChaosFailure(violations: violations) }
            count += 1
        }
        return count
    }
}

extension ChaosChecker {
    /// Compares what all nodes hold at the end with each other, table by table, and with the checked history.
    func checkStores() async throws {
        let last = self.checker.last
        var answers: [[Fetched]] = []
        for node in self.world.nodes { answers.append(try await node.server.answers(about: self.list, at: last)) }
        if self.world.postgres != nil {
            // The nodes' own comparison must agree.
            let verified = try await CommandLineUser(self.world.nodes[0].server).run("cluster", "verify")
            guard verified.status == 0 else { throw ProcessFailure("the nodes differ: \(verified.report)") }
        }
        let paths = self.world.nodes.map(\.server.storePath)
        let tables =
            self.world.postgres == nil ? [try StoreDump.tables(paths[0])] : try await StoreDump.atOnePosition(paths)
        let stores = zip(tables, answers).enumerated().map { index, store in
            FinalStore(node: "node \(index)", tables: store.0, answers: store.1)
        }
        let violations = self.checker.violations(ofFinal: stores)
        guard violations.isEmpty else { throw ChaosFailure(violations: violations) }
        print("chaos: \(stores.count) stores at revision \(last) hold what the history led to")
    }
}

/// Violations of the server's guarantees.
struct ChaosFailure: Error, CustomStringConvertible {
    var violations: [Violation]

    var description: String {
        "\(self.violations.count) violations: \(self.violations.prefix(10).map { "\($0)" }.joined(separator: "; "))"
    }
}

extension ServerProcess {
    /// Returns all changes after `base` up to `last`, read by a new client.
    func audit(after base: Revision, through last: Revision) async throws -> [ChangeSetPart] {
        guard base < last else { return [] }
        return try await NestClient.withClient(self.configuration()) { client in
            guard let store = await client.server?.historyID else { throw ProcessFailure("not connected") }
            return try await client.withChanges(since: ResumePoint(historyID: store, revision: base)) { changes in
                var parts: [ChangeSetPart] = []
                for try await event in changes {
                    guard case .changes(let part) = event else { continue }
                    parts.append(part)
                    if part.revision >= last, !part.hasMore { break }
                }
                return parts
            }
        }
    }
    /// Returns the results of all kinds of queries, at this revision at least.
    func answers(about list: ObjectID, at revision: Revision) async throws -> [Fetched] {
        try await NestClient.withClient(self.configuration()) { client in
            var answers: [Fetched] = []
            for kind in WatchedQuery.Kind.allCases {
                let query = WatchedQuery(kind, of: list)
                let state = try await waitFor("revision \(revision)") {
                    try? await client.fetch(query.request, atLeast: revision)
                }
                answers.append(Fetched(client: "at the end", query: query, atLeast: revision, state: state))
            }
            return answers
        }
    }
}
