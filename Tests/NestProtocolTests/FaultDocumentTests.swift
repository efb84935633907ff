import Foundation
import NestTestSupport
import Testing

/// Every test that `docs/guarantees.md` names exists.
@Suite struct FaultDocumentTests {
    @Test func testsNamedInTheTableExist() throws {
        let named = Set(
            try Repository.sources(under: "Tests").flatMap { source in
                source.text.matches(of: /(?:func|struct|class) (\w+)/).map { String($0.1) }
            }
        )
        let table = try MarkdownDocument(try Repository.text("docs/guarantees.md")).table(
            "id",
            "fault",
            "what nest does",
            "test"
        )
        #expect(table.rows.count == 108)
        #expect(Set(table.rows.map { $0[0] }).count == table.rows.count)
        for row in table.rows {
            #expect(row.count == 4 && row.allSatisfy { !$0.isEmpty }, "\(row[0])")
            guard let shown = row.last, !shown.hasPrefix("not covered") else { continue }
            let names = shown.components(separatedBy: ", ").flatMap { $0.components(separatedBy: "; ") }
            #expect(names.contains(where: named.contains), "\(row[0]) names no test: \(shown)")
            for name in names where !name.contains(" ") { #expect(named.contains(name), "\(row[0]): \(name)") }
        }
    }
}
