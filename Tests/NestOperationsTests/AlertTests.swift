import Foundation
import NestOperations
import NestTestSupport
import Testing

/// The alerts of `deploy/prometheus` use metrics that exist, and the documents say what to do about each.
@Suite struct AlertTests {
    private static let alerts = "deploy/prometheus/alerts.yml"

    @Test func everyMetricOfAnAlertExists() throws {
        let expressions = try Repository.text(Self.alerts).split(separator: "\n").filter {
            !$0.contains("- alert:") && !$0.contains("summary:") && !$0.contains("#")
        }
        let names = Set(expressions.flatMap { $0.matches(of: /\b(?:nest|process)_\w+/).map { String($0.output) } })
        #expect(names.count > 15)
        for name in names {
            let bases = ["", "_bucket", "_sum", "_count"].filter(name.hasSuffix).map { String(name.dropLast($0.count)) }
            let isKnown = bases.contains { MetricHelp.text(of: $0) != MetricHelp.unknown }
            #expect(isKnown, "\(Self.alerts) uses \(name), which no node exports")
        }
    }

    @Test func everyAlertIsExplained() throws {
        let names = try Repository.text(Self.alerts).matches(of: /- alert: (\w+)/).map { String($0.output.1) }
        #expect(names.count > 15 && Set(names).count == names.count)
        let explained = try ["docs/operations.md", "docs/cluster.md"].flatMap {
            try MarkdownDocument(try Repository.text($0)).table("alert", "look at", "what to do").rows
                .flatMap { $0[0].components(separatedBy: ", ") }
        }
        #expect(explained.sorted() == names.sorted())
    }
}
