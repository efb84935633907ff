import Foundation
import NestModel
import NestProtocol

/// The output of `--print-limits`: the table of `Limits.all`, as text or as JSON.
extension Nestd {
    /// Returns one line for each limit: its name, its value, the effect of exceeding it, and its description.
    static func limitsText() -> String {
        let name = Limits.all.map(\.name.count).max() ?? 0
        let value = Limits.all.map { String($0.value).count }.max() ?? 0
        return Limits.all.map { limit in
            let number = String(limit.value)
            return limit.name + String(repeating: " ", count: name - limit.name.count + 2)
                + String(repeating: " ", count: value - number.count) + number + "  "
                + limit.beyond.rawValue + String(repeating: " ", count: 9 - limit.beyond.rawValue.count) + limit.what
        }.joined(separator: "\n")
    }

    /// Returns one JSON object a line.
    static func limitsJSON() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try Limits.all.map { limit in
            let line = LimitLine(
                beyond: limit.beyond.rawValue,
                limit: limit.name,
                value: limit.value,
                what: limit.what
            )
            return String(decoding: try encoder.encode(line), as: UTF8.self)
        }.joined(separator: "\n")
    }
}

private struct LimitLine: Encodable {
    let beyond: String
    let limit: String
    let value: Int64
    let what: String
}
