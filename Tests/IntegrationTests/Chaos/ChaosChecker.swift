import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Checks a run piece by piece and summarises it.
actor ChaosChecker {
    private let server: ServerProcess
    private var checker = HistoryChecker()
    private(set) var summary = ChaosSummary()
    /// The last revision of each piece.
    private var ends: [Revision] = [Revision(0)]

    init(_ server: ServerProcess) {
        self.server = server
    }

    /// Checks a piece and throws its violations. `piece` has no audit yet.
    func check(_ piece: History, to last: Revision) async throws {
        var piece = piece
        piece.audit = try await self.server.audit(after: self.checker.last, through: last)
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
                parts = try await self.server.audit(after: base, through: last)
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
}
