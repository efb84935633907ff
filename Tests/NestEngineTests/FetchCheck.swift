import NestEngine
import NestModel
import Testing

/// A fetch, and what it should answer.
enum FetchCheck {
    /// `nil`: the object whose relationship it is of is gone.
    static func fetch(_ request: FetchRequest, _ engine: Engine, now: Int64) throws -> (SnapshotHeader, [Row])? {
        let prober = ConnectionID(UInt64.max)
        let effects = engine.perform(
            [
                .connected(prober, session: Identifier128(high: 9, low: 9), scope: .everything),
                .request(prober, requestID: 1, .fetch(request, atLeast: Revision(0))), .disconnected(prober),
            ],
            now: now
        )
        for case .reply(_, _, let reply) in effects {
            if case .snapshot(let header, let bodies) = reply {
                let rows = try bodies.flatMap { body in
                    try ByteReader.read(body) { (reader) throws(DecodingFailure) in
                        try reader.rows(valueCount: request.projection.count)
                    }
                }
                return (header, rows)
            }
            if case .failure(let error) = reply, error.code == .notFound { return nil }
        }
        Issue.record("no answer to a fetch of \(request)")
        return nil
    }

    /// `whole`: the sections of all rows.
    static func expect(
        _ found: (header: SnapshotHeader, rows: [Row])?,
        _ request: FetchRequest,
        _ whole: [Section],
        _ naive: NaiveResults,
        _ what: String
    ) {
        guard let (header, rows) = found else {
            let owner = request.source?.object
            #expect(owner != nil && naive.rows[owner!] == nil, "\(what): no rows, though its owner is there")
            return
        }
        let all = whole.enumerated().flatMap { index, section in
            section.rows.enumerated().map { (path: IndexPath(index, $0), row: $1) }
        }
        var (first, limit) = (0, all.count)
        if case .range(let offset, let most)? = request.window { (first, limit) = (min(offset, all.count), most) }
        let shown = all[first...].prefix(limit)
        #expect(rows == shown.map(\.row), "\(what): the rows")
        #expect(header.total == all.count && header.window.sectionTotal == whole.count, "\(what): the totals")
        let start =
            first < all.count
            ? all[first].path : request.section == nil ? IndexPath(0, first) : IndexPath(whole.count, 0)
        #expect(
            header.window.start == WindowStart(row: first, section: start.section, rowInSection: start.row),
            "\(what): where it begins"
        )
        var sections: [Section] = []
        for (path, row) in shown {
            if sections.last?.key != whole[path.section].key {
                sections.append(Section(key: whole[path.section].key, rows: []))
            }
            sections[sections.count - 1].rows.append(row)
        }
        if request.section == nil, sections.isEmpty { sections = [Section(key: .string(""), rows: [])] }
        #expect(header.sections(of: rows) == sections, "\(what): its sections")
        let state = SectionedSnapshot(revision: header.revision, projection: request.projection, sections: sections)
        #expect(header.digest == state.digest, "\(what): its digest")
    }
}
