import Foundation
import NestStore

/// What `nestd adopt` prints about an adoption.
struct AdoptOutput {
    private let report: AdoptReport
    private let store: String
    private let isDryRun: Bool

    init(_ report: AdoptReport, store: String, isDryRun: Bool) {
        self.report = report
        self.store = store
        self.isDryRun = isDryRun
    }

    func print(asJSON: Bool) throws {
        for line in asJSON ? [try self.json] : self.lines { Swift.print(line) }
        // The refusal follows on standard error.
        fflush(nil)
    }

    /// Returns the message of a refusal, with the options that help.
    func refusal(_ command: AdoptCommand) -> String {
        let subject = self.isDryRun ? "the store would be refused" : "the store was refused; nothing was written"
        let options = (command.skipLarge ? [] : ["--skip-large"]) + (command.skipInvalid ? [] : ["--skip-invalid"])
        let advice =
            options.isEmpty
            ? "correct the objects in the app, or allow them in a copy of the model"
            : "correct the objects in the app, allow them in a copy of the model, or leave values out with "
                + options.joined(separator: " and ")
        return "\(subject): \(advice)"
    }

    private var lines: [String] {
        var lines = [self.line("version", "\(self.report.version): \(self.report.versionReason)")]
        for entity in self.report.entities {
            let ids = entity.count == 0 ? "" : ", id = Z_PK + \(entity.idOffset)"
            lines.append(self.line("objects", "\(entity.count) of \(entity.name)\(ids)"))
        }
        for links in self.report.links { lines.append(self.line("links", "\(links.count) of \(links.name)")) }
        lines += self.report.dangling.map { self.line("dangling", self.text($0)) }
        lines += self.report.leftOut.map { self.line("left out", self.text($0)) }
        lines += self.report.unreadColumns.map { self.line("unread", "the column \($0)") }
        lines += self.report.unreadTables.map { self.line("unread", "the table \($0.name) with \($0.count) rows") }
        lines += self.report.refused.map { self.line("refused", self.text($0)) }
        guard self.report.refused.isEmpty else { return lines }
        let objects = self.report.objectCount == 1 ? "1 object" : "\(self.report.objectCount) objects"
        lines.append(
            self.isDryRun ? "\(objects) would be adopted into \(self.store)" : "\(objects) adopted into \(self.store)"
        )
        return lines
    }

    private func line(_ word: String, _ text: String) -> String {
        word.padding(toLength: 10, withPad: " ", startingAt: 0) + text
    }

    private func text(_ finding: AdoptReport.Finding) -> String {
        let keys = finding.first.map(String.init).joined(separator: ", ")
        let more = finding.count > Int64(finding.first.count) ? ", …" : ""
        return "\(finding.text): \(finding.count), Z_PK \(keys)\(more)"
    }

    private var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let findings = { (list: [AdoptReport.Finding]) in
                list.map { Object.Finding(count: $0.count, first: $0.first, reason: $0.reason, what: $0.what) }
            }
            let counts = { (list: [AdoptReport.Links]) in list.map { Object.Count(count: $0.count, name: $0.name) } }
            let outcome = !self.report.refused.isEmpty ? "refused" : self.isDryRun ? "possible" : "adopted"
            let object = Object(
                dangling: findings(self.report.dangling),
                entities: self.report.entities.map {
                    Object.Entity(count: $0.count, idOffset: $0.idOffset, name: $0.name)
                },
                leftOut: findings(self.report.leftOut),
                links: counts(self.report.links),
                objects: self.report.objectCount,
                outcome: outcome,
                refused: findings(self.report.refused),
                store: self.store,
                unreadColumns: self.report.unreadColumns,
                unreadTables: counts(self.report.unreadTables),
                version: self.report.version,
                versionReason: self.report.versionReason
            )
            return String(decoding: try encoder.encode(object), as: UTF8.self)
        }
    }

    private struct Object: Encodable {
        struct Finding: Encodable {
            let count: Int64
            let first: [Int64]
            let reason: String
            let what: String
        }

        struct Entity: Encodable {
            let count: Int64
            let idOffset: Int64
            let name: String
        }

        struct Count: Encodable {
            let count: Int64
            let name: String
        }

        let dangling: [Finding]
        let entities: [Entity]
        let leftOut: [Finding]
        let links: [Count]
        let objects: Int64
        let outcome: String
        let refused: [Finding]
        let store: String
        let unreadColumns: [String]
        let unreadTables: [Count]
        let version: String
        let versionReason: String
    }
}
