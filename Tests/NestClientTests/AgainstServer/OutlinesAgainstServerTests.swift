import ChaosProxy
import NestClient
import NestHistory
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Outlines of a real server, over connections that are lost.
    struct OutlinesAgainstServerTests {
        /// A user folds, unfolds, zooms, filters, scrolls and pauses while objects come, move and go, and connections
        /// are lost. Whenever nothing is under way, the outline is that of a naive walk with the accepted fold states.
        ///
        /// The seeds run side by side, because each step may wait for the server's next progress mark.
        @Test func everyOutlineIsThatOfANaiveWalk() async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seed in Seeds.range(1..<9) { group.addTask { try await Self.run(seed) } }
                try await group.waitForAll()
            }
        }

        /// In a store that others write to, the answer to a fold may lead from an older revision. It is still no news.
        @Test func foldsAndScrollsAreAnswers() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let inserted = try await client.transaction(.insert("a", "b", "c")).insertedIDs
                    let below = ListModel.insert("below", under: inserted[0])
                    _ = try await client.transaction(WriteTransaction(mutations: [below]))
                    let request = WatchedQuery(.outline, of: inserted[0]).request
                    try await client.withOutline(request, verifyDigest: true) { outline in
                        var changes = outline.makeAsyncIterator()
                        #expect(try await changes.next()?.isAnswer == false)
                        // A change of another part of the store, which the outline does not show.
                        let other = WriteTransaction(mutations: [ListModel.rename(inserted[2], "other")])
                        _ = try await client.transaction(other)
                        try await outline.zoom(to: ListModel.root)
                        var change = try #require(try await changes.next())
                        while change.diff == nil { change = try #require(try await changes.next()) }
                        #expect(change.isAnswer && change.state.rows.count == 4)
                        try await outline.setExpanded(inserted[0], false)
                        repeat { change = try #require(try await changes.next()) } while change.diff == nil
                        #expect(change.isAnswer && change.state.rows.count == 3)
                        _ = try await client.transaction(.insert("d"))
                        repeat { change = try #require(try await changes.next()) } while change.diff == nil
                        #expect(!change.isAnswer && change.state.rows.count == 4)
                    }
                }
            }
        }

        private static func run(_ seed: UInt64) async throws {
            try await withServer { port, _ in
                let proxy = try await ChaosProxy.start(to: .init(port: port))
                var configuration = Fixtures.configuration(await proxy.port)
                configuration.reconnectPauseMax = .milliseconds(20)
                try await NestClient.withClient(Fixtures.configuration(port)) { writer in
                    try await NestClient.withClient(configuration) { client in
                        var user = OutlineUser(seed: seed, writer: writer, client: client, proxy: proxy)
                        for _ in 0..<15 { try await user.write() }
                        while user.stepsLeft > 0 { try await user.live() }
                        guard Seeds.isUsual else { return }
                        #expect(user.folds > 0 && user.edits > 0 && user.losses > 0, "seed \(seed)")
                    }
                }
                await proxy.stop()
            }
        }
    }
}

/// A user of an outline, who remembers what the server has accepted.
private struct OutlineUser {
    let seed: UInt64
    let writer: NestClient
    let client: NestClient
    let proxy: ChaosProxy
    private var random: SeededRandom
    private var wanted = WatchedQuery(.outline, of: ListModel.root)
    /// The objects that may exist.
    private var objects: [ObjectID] = []
    private var revision = Revision(0)
    private(set) var stepsLeft = Seeds.steps(16)
    private(set) var folds = 0
    private(set) var edits = 0
    private(set) var losses = 0

    init(seed: UInt64, writer: NestClient, client: NestClient, proxy: ChaosProxy) {
        (self.seed, self.writer, self.client, self.proxy) = (seed, writer, client, proxy)
        self.random = SeededRandom(seed: seed)
        self.wanted.outline.isUnfolded = seed.isMultiple(of: 2)
    }

    /// Follows an outline until the steps are done, or until the object that it is below is deleted and the connection
    /// lost.
    mutating func live() async throws {
        self.wanted.list = ListModel.root
        self.wanted.window = .range(offset: 0, limit: 30)
        do {
            // Closures of the client cannot change `self`.
            self = try await self.client.withOutline(self.wanted.request, verifyDigest: true) { [self] outline in
                var user = self
                try await user.use(outline)
                return user
            }
        } catch let error as NestError where error.code == .notFound {
            self.stepsLeft -= 4
        }
    }

    private mutating func use(_ outline: OutlineResults) async throws {
        var changes = outline.makeAsyncIterator()
        while self.stepsLeft > 0 {
            self.stepsLeft -= 1
            var isPaused = false
            for _ in 0..<1 + self.random.below(10) {
                switch self.random.below(12) {
                case 0...4: try await self.write()
                case 5...7 where !isPaused: try await self.fold(outline)
                case 8...9 where !isPaused:
                    try await self.edit(outline)
                case 10 where self.random.oneIn(2):
                    await self.proxy.resetAll()
                    self.losses += 1
                case 11 where !isPaused && self.random.oneIn(2):
                    await outline.pause()
                    isPaused = true
                default: break
                }
            }
            if isPaused { await outline.resume() }
            try await self.check(outline, &changes)
        }
    }

    // MARK: What the user does

    mutating func write() async throws {
        let any = self.objects.randomElement(using: &self.random) ?? ListModel.root
        let other = self.objects.randomElement(using: &self.random) ?? ListModel.root
        let place: Place = self.random.oneIn(2) ? .first : .last
        let mutation: Mutation
        switch self.random.below(10) {
        case 0...3:
            let title = "t\(self.random.below(90))"
            mutation = ListModel.insert(title, isDone: self.random.oneIn(3), under: any, place)
        case 4...6: mutation = ListModel.move(any, under: self.random.oneIn(3) ? ListModel.root : other, place)
        case 7: mutation = ListModel.mark(any, isDone: self.random.oneIn(2))
        case 8: mutation = ListModel.rename(any, "r\(self.random.below(90))")
        default: mutation = .delete(.object(any))
        }
        do throws(NestError) {
            let receipt =
                self.random.oneIn(8)
                ? try await self.random.oneIn(2) ? self.writer.undo() : self.writer.redo()
                : try await self.writer.transaction(WriteTransaction(mutations: [mutation]))
            self.objects += receipt.insertedIDs
            self.revision = max(self.revision, receipt.revision)
        } catch {
            // The object is deleted or would be below itself, or there is nothing to undo.
            guard error.code.retry == .never else { throw error }
        }
    }

    private mutating func fold(_ outline: OutlineResults) async throws {
        let states = (0...self.random.below(4)).map { _ in
            ExpandedState(self.objects.randomElement(using: &self.random)!, isExpanded: self.random.oneIn(2))
        }
        try await outline.setExpanded(states)
        self.wanted.outline.set(states)
        self.folds += 1
    }

    private mutating func edit(_ outline: OutlineResults) async throws {
        var query = self.wanted
        let object = self.objects.randomElement(using: &self.random)!
        switch self.random.below(5) {
        case 0: query.list = self.random.oneIn(2) ? object : ListModel.root
        case 1: query.outline.hidesDone.toggle()
        case 2:
            query.outline.isUnfolded = self.random.oneIn(2)
            query.outline.exceptions = self.random.oneIn(2) ? [object] : []
        default: break
        }
        query.window =
            self.random.oneIn(2)
            ? .around(object, before: self.random.below(5), after: self.random.below(5))
            : .range(offset: self.random.below(6), limit: 1 + self.random.below(20))
        let setsFolds =
            query.outline.isUnfolded != self.wanted.outline.isUnfolded
            || query.outline.exceptions != self.wanted.outline.exceptions
        do throws(NestError) {
            try await outline.change(
                source: query.list,
                where: query.outline.predicate,
                window: query.window,
                outline: setsFolds ? query.outline.fetch : nil
            )
            self.wanted = query
            self.edits += 1
        } catch {
            // The object in the middle is not shown, or the object above is deleted.
            guard error.code == .notFound else { throw error }
        }
    }

    // MARK: Checks

    /// Takes changes until the state is that of the last write, and compares it.
    private mutating func check(_ outline: OutlineResults, _ changes: inout OutlineResults.AsyncIterator) async throws {
        let comment: Comment = "seed \(self.seed), \(self.stepsLeft) steps left, revision \(self.revision)"
        // A write that every other one comes before.
        self.revision = try await self.writer.transaction(
            WriteTransaction(mutations: [ListModel.rename(ListModel.root, "\(self.stepsLeft)")])
        ).revision
        repeat {
            let change = try await changes.next()
            if case .reset(let reset)? = change?.event { #expect(reset.cause != .mismatch, comment) }
        } while outline.state.revision < self.revision || !self.isWanted(outline.request)
        let state = outline.snapshot
        let world = try await self.world()
        let all = self.wanted.sections(in: world)
        let window = try #require(outline.request.window, comment)
        let cut = WindowCut(window, anchor: state.window?.anchor, of: all, isSectioned: false)
        #expect(state.sections == cut.sections, comment)
        #expect(state.window == cut.position, comment)
        if window.isAround, !all[0].rows.isEmpty {
            #expect(all[0].rows.contains { $0.id == state.window?.anchor }, comment)
        }
        #expect(state.digest == outline.digest, comment)
    }

    private func isWanted(_ request: ObjectFetchRequest) -> Bool {
        guard request.source?.object == self.wanted.list, request.predicate == self.wanted.outline.predicate,
            let window = request.window, let wanted = self.wanted.window
        else { return false }
        switch (window, wanted) {
        case (.around(_, let a, let b), .around(_, let before, let after)): return a == before && b == after
        // The anchor was deleted while there was no connection.
        case (.range(_, let limit), .around(_, let before, let after)): return limit == before + 1 + after
        default: return window == wanted
        }
    }

    /// Returns what the store holds now.
    private func world() async throws -> ListWorld {
        let request = SubtreeRequest(root: ListModel.root, relationship: ListModel.children, depthLimit: nil)
        return try await self.writer.fetchSubtree(request) { subtree in
            let title = try #require(subtree.properties.firstIndex(of: ListModel.title))
            let done = try #require(subtree.properties.firstIndex(of: ListModel.done))
            var above: [ObjectID] = []
            var items: [(id: ObjectID, item: ListWorld.Item)] = []
            for try await rows in subtree {
                for row in rows {
                    let id = try #require(row.id)
                    above.removeLast(above.count - row.depth)
                    if let parent = above.last {
                        let isDone = row.values[done] == .boolean(true)
                        let item = ListWorld.Item(
                            title: row.values[title].stringValue ?? "",
                            isDone: isDone,
                            parent: parent
                        )
                        items.append((id, item))
                    }
                    above.append(id)
                }
            }
            return ListWorld(items)
        }
    }
}
