import NestClient
import NestDocuments
import NestModel

/// A search for the next row that shows a text. It reads the list in pieces, from the row where it begins to the end,
/// and then from the other end to that row.
struct RowSearch: Equatable {
    enum Direction {
        case forward
        case backward
    }

    struct Hit {
        var id: ObjectID
        var number: Int
        /// Whether the search continued at the other end of the list.
        var isWrapped: Bool
    }

    /// The number of rows that are read at once.
    static let pieceMax = 2_000

    /// The text as the user has typed it. The search ignores case.
    let text: String
    let direction: Direction
    /// The number of the first row to examine.
    let start: Int

    /// Returns the rows of the pieces to read, in their order. Each is read from its first row forward, or from its
    /// last row backward.
    func pieces(total: Int, of size: Int = Self.pieceMax) -> [(rows: Range<Int>, isWrapped: Bool)] {
        guard total > 0 else { return [] }
        let start = min(max(self.start, 0), total - 1)
        func cut(_ rows: Range<Int>, _ isWrapped: Bool) -> [(rows: Range<Int>, isWrapped: Bool)] {
            stride(from: rows.lowerBound, to: rows.upperBound, by: size).map {
                ($0..<min($0 + size, rows.upperBound), isWrapped)
            }
        }
        return switch self.direction {
        case .forward: cut(start..<total, false) + cut(0..<start, true)
        case .backward: cut(0..<start + 1, false).reversed() + cut(start + 1..<total, true).reversed()
        }
    }

    /// Returns the first of the rows, in the direction of the search, that shows the text.
    func hit(_ rows: [Row], _ cells: (Row) -> [String]) -> Int? {
        let needle = self.text.lowercased()
        func matches(_ row: Row) -> Bool { cells(row).contains { Self.contains($0.lowercased(), needle) } }
        return self.direction == .forward ? rows.firstIndex(where: matches) : rows.lastIndex(where: matches)
    }

    /// Compares characters, not bytes: `é` may be one scalar or two.
    static func contains(_ text: String, _ needle: String) -> Bool {
        if needle.utf8.allSatisfy({ $0 < 0x80 }), text.utf8.allSatisfy({ $0 < 0x80 }) {
            return Array(text.utf8).contains(Array(needle.utf8))
        }
        return Array(text).contains(Array(needle))
    }

    /// The message of a search that is running.
    static func progress(_ count: Int, of total: Int) -> String {
        let read = "\(Counted.grouped(count)) of \(Counted.text(total, "row", isGrouped: true))"
        return "searching: \(read); any key ends it"
    }

    /// Reads the list until a row matches. `read` gets the number of rows read so far and the number in all, and
    /// returns `false` to end the search.
    func run(
        _ client: NestClient,
        _ request: ObjectFetchRequest,
        total: Int,
        cells: (_ projection: [PropertyNumber]) -> (Row) -> [String],
        _ read: (_ count: Int, _ total: Int) async -> Bool
    ) async throws(NestError) -> Hit? {
        var request = request
        var count = 0
        for (rows, isWrapped) in self.pieces(total: total) {
            guard await read(count, total) else { return nil }
            request.window = .range(offset: rows.lowerBound, limit: rows.count)
            let state = try await client.fetch(request)
            let held = state.sections.flatMap(\.rows)
            if let index = self.hit(held, cells(state.projection)) {
                return Hit(id: held[index].id, number: rows.lowerBound + index, isWrapped: isWrapped)
            }
            count += rows.count
        }
        return nil
    }
}
