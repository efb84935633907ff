import Foundation
import NestModel
import NestStore

/// What `nestd migrate` prints about a migration.
struct MigrationOutput {
    enum Outcome: String, Encodable {
        /// The store has the model already.
        case unchanged
        /// A dry run found nothing against the migration.
        case possible
        case refused
        case migrated
    }

    private let outcome: Outcome
    private let report: MigrationReport

    init(_ outcome: Outcome, _ report: MigrationReport) {
        self.outcome = outcome
        self.report = report
    }

    func print(_ store: String, asJSON: Bool) throws {
        let lines = asJSON ? [try self.json(store)] : self.lines(store)
        for line in lines { Swift.print(line) }
        // The refusal follows on standard error.
        fflush(nil)
    }

    private func lines(_ store: String) -> [String] {
        guard self.outcome != .unchanged else { return ["\(store) has this model already"] }
        var lines = self.changes.map { ($0.change.rawValue, $0.text) }
        lines += self.report.removals.map { ("removed", $0.text) }
        lines += self.report.obstacles.map { ("refused", $0) }
        var text = lines.map { word, what in word.padding(toLength: 9, withPad: " ", startingAt: 0) + what }
        let count = self.report.rewrittenCount
        let objects = count == 1 ? "1 object" : "\(count) objects"
        switch self.outcome {
        case .unchanged: break
        case .refused where !self.report.obstacles.isEmpty: break
        case .refused, .possible: text.append("\(objects) would be rewritten")
        case .migrated:
            text.append("\(store) is migrated: \(objects) rewritten")
            if let copy = self.report.copyPath { text.append("the store as it was: \(copy)") }
        }
        return text
    }

    /// The differences that are neither removals nor refused.
    private var changes: [ModelDifference] {
        self.report.differences.filter { $0.removedPart == nil && $0.kind != .refused }
    }

    private func json(_ store: String) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let object = Object(
            changes: self.changes.map { Object.Change(change: $0.change.rawValue, what: $0.text) },
            copy: self.report.copyPath,
            obstacles: self.report.obstacles,
            outcome: self.outcome,
            removals: self.report.removals.map {
                Object.Removal(count: $0.count, unit: $0.unit.rawValue, what: $0.what)
            },
            rewrittenObjects: self.report.rewrittenCount,
            store: store
        )
        return String(decoding: try encoder.encode(object), as: UTF8.self)
    }

    private struct Object: Encodable {
        struct Change: Encodable {
            let change: String
            let what: String
        }

        struct Removal: Encodable {
            let count: Int64
            let unit: String
            let what: String
        }

        let changes: [Change]
        let copy: String?
        let obstacles: [String]
        let outcome: MigrationOutput.Outcome
        let removals: [Removal]
        let rewrittenObjects: Int64
        let store: String
    }
}
