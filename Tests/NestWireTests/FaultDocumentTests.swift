import Foundation
import NestTestSupport
import Testing

/// What the table of faults says is shown by a test is: the test is there.
@Suite struct FaultDocumentTests {
    @Test func theTestsThatFaultsNameExist() throws {
        let directory = Repository.root.appending(path: "deploy")
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path()).filter {
            $0.hasPrefix("faults") && $0.hasSuffix(".md")
        }
        #expect(!files.isEmpty)
        let functions = Set(
            try Repository.sources(under: "Tests").flatMap { source in
                source.text.matches(of: /func (\w+)\(/).map { String($0.1) }
            }
        )
        for file in files {
            let table = try MarkdownDocument(try Repository.text("deploy/\(file)")).table(
                "id",
                "fault",
                "what nest does",
                "test"
            )
            #expect(Set(table.rows.map { $0[0] }).count == table.rows.count, "\(file): an id twice")
            for row in table.rows {
                #expect(row.count == 4 && row.allSatisfy { !$0.isEmpty }, "\(file): \(row[0])")
                guard let shown = row.last, !shown.hasPrefix("not covered"), !shown.hasPrefix("with authentication")
                else {
                    continue
                }
                let names = shown.components(separatedBy: ", ").flatMap { $0.components(separatedBy: "; ") }
                #expect(names.contains(where: functions.contains), "\(file): \(row[0]) names no test: \(shown)")
                for name in names where !name.contains(" ") {
                    #expect(functions.contains(name), "\(file): \(row[0]): \(name)")
                }
            }
        }
    }
}
