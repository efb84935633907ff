import NestClient
import NestHistory
import NestModel
import NestTestSupport

/// Checks a run piece by piece, and counts what was in it.
actor ChaosJudge {
    private let server: ServerProcess
    private var checker = HistoryChecker()
    private(set) var summary = ChaosSummary()
    /// The last revision of each piece.
    private var ends: [Revision] = [Revision(0)]

    init(_ server: ServerProcess) {
        self.server = server
    }

    /// `piece`: but for the audit. Throws what is wrong with it.
    func judge(_ piece: History, to last: Revision) async throws {
        var piece = piece
        piece.audit = try await self.server.audit(after: self.checker.last, through: last)
        let violations = self.checker.check(piece)
        self.summary.add(piece)
        self.ends.append(self.checker.last)
        print("chaos: piece \(self.ends.count - 1): \(ChaosSummary(piece)), \(violations.count) violations")
        guard violations.isEmpty else { throw ChaosFailure(violations: violations) }
    }

    /// Reads all pieces again that the journal still has: how many.
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

/// Promises that were not kept.
struct ChaosFailure: Error, CustomStringConvertible {
    var violations: [Violation]

    var description: String {
        "\(self.violations.count) violations: \(self.violations.prefix(10).map { "\($0)" }.joined(separator: "; "))"
    }
}

extension ServerProcess {
    /// All changes from one revision to another, as somebody reads them who saw nothing before.
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
