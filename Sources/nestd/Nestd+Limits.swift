import Foundation
import NestModel
import NestProtocol

/// What `--print-limits` prints: the table of `Limits.all`, for people or for programs.
extension Nestd {
    /// One line for each limit: name, value, what becomes of what goes beyond, and what it is.
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

    /// One JSON object a line.
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
