import NestClient
import NestModel

extension RowSearch {
    /// Reads an outline until a row matches, as `run` reads a list.
    ///
    /// It subscribes to the outline and scrolls through it: the server then walks the outline once. A fetch of each
    /// piece would walk it each time. `states`: fold states that the request lacks.
    func run(
        _ client: NestClient,
        outline request: ObjectFetchRequest,
        _ states: [ExpandedState],
        total: Int,
        cells: (_ projection: [PropertyNumber]) -> (Row) -> [String],
        _ read: (_ count: Int, _ total: Int) async -> Bool
    ) async throws -> Hit? {
        let pieces = self.pieces(total: total, of: Limits.outlineWindowRowsMax)
        guard let first = pieces.first else { return nil }
        var request = request
        request.window = Self.window(first.rows)
        return try await client.withOutline(request) { outline in
            var changes = outline.makeAsyncIterator()
            try await outline.setExpanded(states)
            var count = 0
            for (rows, isWrapped) in pieces {
                guard await read(count, total) else { return nil }
                let window = Self.window(rows)
                if count > 0 { try await outline.scroll(to: window) }
                repeat {
                    _ = try await changes.next()
                } while outline.request.window != window || outline.snapshot.revision == Revision(0)
                let snapshot = outline.snapshot
                let held = snapshot.sections.flatMap(\.rows)
                if let index = self.hit(held, cells(snapshot.projection)) {
                    return Hit(id: held[index].id, number: rows.lowerBound + index, isWrapped: isWrapped)
                }
                count += rows.count
            }
            return nil
        }
    }

    private static func window(_ rows: Range<Int>) -> FetchWindow {
        .range(offset: rows.lowerBound, limit: rows.count)
    }
}
