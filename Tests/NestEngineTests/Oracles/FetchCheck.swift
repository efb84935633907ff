import NestProtocol
import NestEngine
import NestModel
import NestStore
import Testing

/// Performs fetches and checks their answers.
enum FetchCheck {
    /// Returns the answer to a fetch, or `nil` if the owner of its relationship does not exist.
    static func fetch(
        _ request: ObjectFetchRequest,
        _ engine: Engine,
        _ reader: StoreReader,
        now: Int64
    ) throws -> (SnapshotHeader, [Row], totals: [UInt8]?)? {
        let prober = ConnectionID(UInt64.max)
        var effects = engine.perform(
            [
                .connected(prober, session: Identifier128(high: 9, low: 9), scope: .everything),
                .request(prober, requestID: 1, .fetch(request, atLeast: Revision(0))),
            ],
            now: now
        )
        for case .read(let read) in effects {
            effects += engine.perform([.read(read.id, read.run(reader))], now: now)
        }
        _ = engine.perform([.disconnected(prober)], now: now)
        for case .reply(_, _, let reply) in effects {
            // Only sometimes, because each check opens the store.
            if engine.head.rawValue % 4 == 0 {
                try StandbyCheck.expect(.fetch(request, atLeast: Revision(0)), as: reply, reader)
            }
            if case .snapshot(let header, let bodies, let totals) = reply {
                let rows = try bodies.flatMap { body in
                    try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in
                        try reader.rows(valueCount: request.projection.count)
                    }
                }
                return (header, rows, totals)
            }
            if case .failure(let error) = reply, error.code == .notFound { return nil }
        }
        Issue.record("no answer to a fetch of \(request)")
        return nil
    }

    /// Checks the answer to a fetch. `whole`: the sections of all rows, without the window.
    static func expect(
        _ found: (header: SnapshotHeader, rows: [Row], totals: [UInt8]?)?,
        _ request: ObjectFetchRequest,
        _ asked: ObjectFetchRequest,
        _ whole: [ResultsSection],
        _ naive: NaiveResults,
        _ what: String
    ) {
        guard let (header, rows, totals) = found else {
            let owner = request.source?.object
            #expect(owner != nil && naive.rows[owner!] == nil, "\(what): no rows, though the owner exists")
            return
        }
        let all = whole.flatMap(\.rows)
        let window = request.window ?? .range(offset: 0, limit: all.count)
        let shown = NaiveWindow(window, anchor: window.object, of: whole, isSectioned: request.section != nil)
        #expect(rows == shown.sections.flatMap(\.rows), "\(what): wrong rows")
        #expect(header.total == all.count && header.window == shown.position, "\(what): wrong window position")
        var state = SectionedSnapshot(
            revision: header.revision,
            projection: request.projection,
            sections: header.sections(of: rows)
        )
        if let totals {
            let message = try? ByteReader.read(totals) { (reader) throws(DecodingFailure) in
                try ResultTotalsMessage(from: &reader)
            }
            let isRight = message?.isBeforeRows == true && message?.totals.revision == state.revision
            #expect(isRight && message.map { state.apply($0.totals) } == true, "\(what): totals that do not fit")
        }
        #expect(state.sections == shown.sections, "\(what): wrong sections")
        #expect(state.totals == naive.totals(asked), "\(what): wrong totals")
        #expect(header.digest == state.digest, "\(what): wrong digest")
    }
}
