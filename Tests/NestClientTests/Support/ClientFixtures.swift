import NestClient
import NestModel
import NestProtocol
import NestServerTestSupport

/// Values that the client tests share.
enum Fixtures {
    static let request = ObjectFetchRequest.rootChildren

    /// The same view, spelled differently.
    static let requestTwice = ObjectFetchRequest(
        entity: EntityNumber(1),
        source: FetchSource(object: ObjectID(1), relationship: PropertyNumber(6)),
        projection: [PropertyNumber(1), PropertyNumber(1)]
    )

    static func row(_ id: Int64, _ title: String) -> Row {
        Row(id: ObjectID(id), values: [.string(title)])
    }

    static func state(_ revision: UInt64, _ rows: [Row]) -> SectionedSnapshot {
        SectionedSnapshot(
            revision: Revision(revision),
            projection: [PropertyNumber(1)],
            sections: [ResultsSection(key: .string(""), rows: rows)]
        )
    }

    static func header(_ state: SectionedSnapshot, digest: UInt64? = nil) -> SnapshotHeader {
        SnapshotHeader(
            reason: .first,
            revision: state.revision,
            digest: digest ?? state.digest,
            total: state.total,
            sections: state.sections.map { .init(key: $0.key, rowCount: $0.rows.count) }
        )
    }

    static func rows(_ rows: [Row]) -> SnapshotRows {
        var writer = ByteWriter()
        writer.write(count: rows.count)
        for row in rows { writer.write(row: row) }
        return SnapshotRows(bytes: writer.bytes)
    }

    /// Appends a row to `state` and returns the diff.
    static func append(_ row: Row, to state: inout SectionedSnapshot, at revision: UInt64, from: UInt64) -> ResultsDiff
    {
        let path = RowPosition(0, state.total)
        state.sections[0].rows.append(row)
        state.revision = Revision(revision)
        var diff = ResultsDiff(
            from: Revision(from),
            to: Revision(revision),
            total: state.total,
            digest: state.digest
        )
        diff.insertedRows = [.init(path: path, row: row)]
        return diff
    }

    static func body(_ diff: ResultsDiff) -> DiffBody {
        var writer = ByteWriter()
        writer.write(diff: diff)
        return DiffBody(bytes: writer.bytes)
    }

    static func subscribed(
        _ view: UInt32,
        _ first: FirstState,
        reason: String = "",
        projection: [PropertyNumber] = [PropertyNumber(1)]
    ) -> Subscribed {
        Subscribed(view: view, first: first, reason: reason, projection: projection)
    }

    static let insert = WriteTransaction(mutations: [.insert(entity: EntityNumber(1), values: [], placements: [])])

    static func configuration(_ port: Int, timeout: Duration = .seconds(30)) -> ClientConfiguration {
        ClientConfiguration(port: port, clientName: "test", session: .fresh, requestTimeout: timeout)
    }
}

extension FakeServer.Connection {
    func sendSnapshot(_ state: SectionedSnapshot, id: UInt32, digest: UInt64? = nil) async throws {
        let rows = state.sections.flatMap(\.rows)
        try await self.send(
            SnapshotMessage(Fixtures.header(state, digest: digest)),
            id: id,
            flags: rows.isEmpty ? [] : .more
        )
        // Two frames, so that the client must assemble them.
        guard !rows.isEmpty else { return }
        let half = rows.count / 2
        try await self.send(Fixtures.rows(Array(rows[..<half])), id: id, flags: .more)
        try await self.send(Fixtures.rows(Array(rows[half...])), id: id)
    }

    func send(_ diff: ResultsDiff, view: UInt32) async throws {
        try await self.send(Fixtures.body(diff), id: view)
    }
}
