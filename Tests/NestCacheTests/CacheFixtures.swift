import Logging
import NestCache
import NestClient
import NestModel
import NestProtocol
import NestTestSupport

/// Views of a list of titles, and cache files in a temporary directory.
enum CacheFixtures {
    static func request(_ number: Int64) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: ObjectID(number), relationship: PropertyNumber(6)),
            projection: [PropertyNumber(1)]
        )
    }

    static func state(_ rowCount: Int, textBytes: Int = 8, revision: UInt64 = 5) -> SectionedSnapshot {
        let rows = (0..<rowCount).map { number in
            Row(id: ObjectID(Int64(number + 1)), values: [.string(String(repeating: "x", count: textBytes))])
        }
        return SectionedSnapshot(
            revision: Revision(revision),
            projection: [PropertyNumber(1)],
            sections: [ResultsSection(key: .string(""), rows: rows)]
        )
    }

    /// The view of request `number` in a state.
    static func view(_ number: Int64, _ state: SectionedSnapshot, recording: UInt64 = 1) -> CachedView {
        let frames = CachedView.frames(of: state, digest: state.digest)
        return CachedView(
            request: Self.request(number).cacheKey,
            identity: 3,
            modelHash: 77,
            historyID: Identifier128(high: 1, low: 2),
            revision: state.revision,
            digest: state.digest,
            recording: recording,
            sequence: frames.count,
            frames: frames
        )
    }

    /// Renames the first row of `state`, and returns the change of its view, which has `sequence` frames.
    static func rename(
        _ number: Int64,
        _ state: inout SectionedSnapshot,
        to title: String,
        sequence: Int,
        recording: UInt64 = 1
    ) -> CacheAppend {
        var diff = ResultsDiff(
            from: state.revision,
            to: Revision(state.revision.rawValue + 1),
            total: state.total,
            digest: state.digest
        )
        diff.updates = [.init(path: RowPosition(0, 0), values: [(PropertyNumber(1), .string(title))])]
        state.revision = diff.to
        state.sections[0].rows[0].values = [.string(title)]
        var writer = ByteWriter()
        writer.write(diff: diff)
        return CacheAppend(
            request: Self.request(number).cacheKey,
            recording: recording,
            sequence: sequence,
            base: diff.from,
            frames: [CachedFrame(type: 0x32, body: writer.bytes)],
            revision: diff.to,
            digest: diff.digest
        )
    }

    static let outline: ObjectFetchRequest = {
        var request = Self.request(1)
        request.projection += [.outlineChildren, .outlineDepth]
        request.window = .range(offset: 0, limit: 100)
        request.outline = FetchOutline()
        return request
    }()

    /// A view of an outline, all of whose rows are folded.
    static func outlineView(_ rowCount: Int) -> (view: CachedView, state: SectionedSnapshot) {
        var state = Self.state(rowCount)
        state.projection = Self.outline.projection
        state.window = WindowPosition(total: rowCount, sectionTotal: 1, start: WindowStart())
        for index in state.sections[0].rows.indices {
            state.sections[0].rows[index].values += [.integer(-1), .integer(0)]
        }
        var view = Self.view(1, state)
        view.request = Self.outline.cacheKey
        view.frames.insert(CachedFrame(Subscribe(Self.outline)), at: 0)
        view.sequence = view.frames.count
        return (view, state)
    }

    /// Folds or unfolds an object of a view, and returns the change.
    static func fold(_ object: ObjectID, isExpanded: Bool, of view: inout CachedView) -> CacheAppend {
        let states = [ExpandedState(object, isExpanded: isExpanded)]
        let append = CacheAppend(
            request: view.request,
            recording: view.recording,
            sequence: view.sequence,
            base: view.revision,
            frames: [CachedFrame(SetExpanded(view: Limits.viewIDMin, states: states))],
            revision: view.revision,
            digest: view.digest
        )
        view.frames += append.frames
        view.sequence += append.frames.count
        return append
    }

    /// Opens a file whose changes are written only by `flush` and reads.
    static func open(
        _ directory: TemporaryDirectory,
        _ name: String = "lists",
        byteCountMax: Int = 64 << 20,
        writeMilliseconds: Int = 3_600_000
    ) throws -> CacheFile {
        try CacheFile(
            path: "\(directory.path)/\(name)",
            byteCountMax: byteCountMax,
            writeMilliseconds: writeMilliseconds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// The state that a cache has of request `number`.
    static func state(_ number: Int64, in cache: CacheFile) async throws -> SectionedSnapshot? {
        try await cache.view(Self.request(number).cacheKey)?.load(as: Self.request(number)).state
    }
}
