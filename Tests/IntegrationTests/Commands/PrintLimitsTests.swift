import Foundation
import NestModel
import NestProtocol
import NestTestSupport
import Testing

extension ProcessTests {
    /// The printed table of limits.
    @Suite struct PrintLimits {
        private struct Line: Decodable {
            var limit: String
            var value: Int64
            var beyond: String
            var what: String
        }

        @Test func allLimitsArePrintedAsTextAndJSON() async throws {
            let text = try ChildProcess(Program.nestd, ["--print-limits"])
            try await text.wait(forEnd: .exit(0))
            let words = text.lines.map { $0.split(separator: " ").prefix(3).map(String.init) }
            #expect(words == Limits.all.map { [$0.name, "\($0.value)", $0.beyond.rawValue] })

            let json = try ChildProcess(Program.nestd, ["--print-limits", "--json"])
            try await json.wait(forEnd: .exit(0))
            let lines = try json.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
            #expect(lines.map(\.limit) == Limits.all.map(\.name))
            #expect(lines.map(\.value) == Limits.all.map(\.value))
            #expect(lines.map(\.beyond) == Limits.all.map(\.beyond.rawValue))
            #expect(lines.map(\.what) == Limits.all.map(\.what))

            let usage = try ChildProcess(Program.nestd, ["--json"])
            try await usage.wait(forEnd: .exit(64))
        }
    }
}
