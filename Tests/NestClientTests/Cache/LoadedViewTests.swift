import NestModel
import NestProtocol
import Testing

@testable import NestClient

/// States that are rebuilt from the frames of a cache.
@Suite struct LoadedViewTests {
    private static let rows = (1...5).map { Fixtures.row(Int64($0), "row \($0)") }

    private static func view(
        _ state: SectionedSnapshot,
        of request: ObjectFetchRequest = Fixtures.request,
        _ frames: [CachedFrame]? = nil
    ) -> CachedView {
        let frames = frames ?? CachedView.frames(of: state, digest: state.digest)
        return CachedView(
            request: request.cacheKey,
            identity: 1,
            modelHash: 1,
            historyID: Identifier128(high: 0, low: 1),
            revision: state.revision,
            digest: state.digest,
            recording: 1,
            sequence: frames.count,
            frames: frames
        )
    }

    @Test func theStateIsThatAfterAllFrames() throws {
        var state = Fixtures.state(5, Self.rows)
        var view = Self.view(state)
        // Progress between two diffs is not recorded: the second begins later than the first ends.
        for revision in [6, 20, 21] as [UInt64] {
            let from = revision == 20 ? 18 : revision - 1
            let diff = Fixtures.append(Fixtures.row(Int64(revision) + 100, "new"), to: &state, at: revision, from: from)
            view.frames.append(CachedFrame(Fixtures.body(diff)))
        }
        view.revision = Revision(30)
        view.digest = state.digest
        state.revision = Revision(30)
        #expect(try view.load(as: Fixtures.request).state == state)
        let rewritten = try view.rewritten()
        #expect(rewritten.frames.count == 3)
        #expect(try rewritten.load(as: Fixtures.request).state == state)
    }

    @Test func sectionsAndTotalsAreKept() throws {
        var request = Fixtures.request
        request.totals = [.count]
        var state = Fixtures.state(5, [])
        state.sections = ["a", "b"].map { key in
            ResultsSection(
                key: .string(key),
                rows: Self.rows.map { row in
                    Row(id: ObjectID(row.id.rawValue + (key == "a" ? 0 : 10)), values: row.values)
                },
                totals: [.integer(5)]
            )
        }
        state.totals = [.integer(10)]
        var view = Self.view(state, of: request)
        #expect(try view.load(as: request).state == state)
        let update = TotalsUpdate(
            revision: Revision(7),
            values: [.integer(11)],
            sections: [.init(index: 1, values: [.integer(6)])]
        )
        view.frames.append(CachedFrame(ResultTotalsMessage(update, isBeforeRows: false)))
        view.revision = Revision(7)
        state.revision = Revision(7)
        let isApplied = state.apply(update)
        #expect(isApplied)
        #expect(try view.load(as: request).state == state)
        #expect(try view.rewritten().load(as: request).state == state)
    }

    /// A window around an object that has left the result is around the object that took its place.
    @Test func aWindowFollowsItsAnchor() throws {
        var request = Fixtures.request
        request.window = .around(ObjectID(3), before: 2, after: 2)
        var state = Fixtures.state(5, Self.rows)
        state.window = WindowPosition(total: 50, sectionTotal: 1, start: WindowStart(), anchor: ObjectID(3))
        var view = Self.view(state, of: request)
        #expect(try view.load(as: request).request == request)
        let moved = WindowPosition(total: 49, sectionTotal: 1, start: WindowStart(), anchor: ObjectID(4))
        view.frames.append(CachedFrame(Totals(revision: Revision(5), window: moved)))
        let loaded = try view.load(as: request)
        #expect(loaded.request.window == .around(ObjectID(4), before: 2, after: 2))
        #expect(loaded.state.window == moved)
        #expect(try view.rewritten().load(as: request).request == loaded.request)
    }

    @Test func framesThatDoNotFitAreRefused() throws {
        var state = Fixtures.state(5, Self.rows)
        let first = state
        let diff = Fixtures.append(Fixtures.row(9, "new"), to: &state, at: 6, from: 5)
        var whole = Self.view(first)
        whole.frames.append(CachedFrame(Fixtures.body(diff)))
        whole.revision = state.revision
        whole.digest = state.digest
        #expect(try whole.load(as: Fixtures.request).state == state)
        // Each frame without its end, and the view without each of its frames.
        for index in whole.frames.indices {
            for count in 0..<whole.frames[index].body.count {
                var view = whole
                view.frames[index].body = Array(view.frames[index].body.prefix(count))
                #expect(throws: CacheFault.self) { try view.load(as: Fixtures.request) }
            }
            var view = whole
            view.frames.remove(at: index)
            #expect(throws: CacheFault.self) { try view.load(as: Fixtures.request) }
        }
        var view = whole
        view.digest ^= 1
        #expect(throws: CacheFault.self) { try view.load(as: Fixtures.request) }
        view = whole
        view.revision = Revision(5)
        #expect(throws: CacheFault.self) { try view.load(as: Fixtures.request) }
        view = whole
        view.frames.append(CachedFrame(type: 0xff, body: []))
        #expect(throws: CacheFault.self) { try view.load(as: Fixtures.request) }
    }

    @Test func equalRequestsHaveOneKey() {
        #expect(Fixtures.request.cacheKey == Fixtures.requestTwice.cacheKey)
        var other = Fixtures.request
        other.window = .range(offset: 0, limit: 5)
        #expect(Fixtures.request.cacheKey != other.cacheKey)
    }
}
