import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport
import Testing

/// Each rule of live outlines, one by one.
@Suite struct OutlineTests {
    /// a(b(c, d), e), f
    private func world() throws -> (world: OutlineWorld, ids: [ObjectID]) {
        let world = try OutlineWorld()
        let ids = try world.insert([
            ("a", under: -1), ("b", under: 0), ("c", under: 1), ("d", under: 1), ("e", under: 0), ("f", under: -1),
        ])
        return (world, ids)
    }

    @Test func rowsComeInPreorderWithDepthAndChildren() throws {
        let (world, ids) = try self.world()
        let all = try OutlineWorld.request()
        #expect(try world.subscribe(all) == nil)
        try world.check()
        #expect(world.ids(all) == [ids[0], ids[1], ids[2], ids[3], ids[4], ids[5]])
        let rows = try #require(world.client.subscriptions[all]?.state?.sections.first?.rows)
        #expect(rows.map { $0.values[2] } == [2, 2, 0, 0, 0, 0].map { .integer($0) })
        #expect(rows.map { $0.values[3] } == [0, 1, 2, 2, 1, 0].map { .integer($0) })
        let folded = try OutlineWorld.request(.none, window: .range(offset: 0, limit: 10))
        try world.subscribe(folded)
        #expect(world.ids(folded) == [ids[0], ids[5]])
        try world.check()
    }

    @Test func changesArriveAsDiffs() throws {
        let (world, ids) = try self.world()
        let all = try OutlineWorld.request()
        try world.subscribe(all)
        var diffs: [ResultsDiff] = []
        world.client.onDiff = { _, diff, _, _ in diffs.append(diff) }
        try world.write([EngineFixture.insert("new", under: ids[1], .first)])
        try world.check("inserted")
        try world.write([EngineFixture.edit(ids[3], "D")])
        try world.check("edited")
        #expect(diffs.last?.updates.count == 1 && diffs.last?.moves.isEmpty == true)
        try world.write([EngineFixture.move(ids[1], .last)])
        try world.check("moved out")
        // b with three rows below it goes behind f, or e and f go before it.
        #expect(diffs.last?.moves.count == 2)
        try world.write([.delete(.object(ids[1]))])
        try world.check("deleted")
        #expect(diffs.last?.deletedRows.map(\.reason) == [.deleted, .deleted, .deleted, .deleted])
        #expect(diffs.count == 4)
    }

    @Test func foldsAnswerWithADiffOfOneRevision() throws {
        let (world, ids) = try self.world()
        let all = try OutlineWorld.request()
        try world.subscribe(all)
        var diffs: [ResultsDiff] = []
        world.client.onDiff = { _, diff, _, _ in diffs.append(diff) }
        #expect(try world.set([(ids[0], false)], of: all)?.isDone == true)
        try world.check("folded")
        #expect(
            diffs.count == 1 && diffs[0].from == diffs[0].to
                && diffs[0].deletedRows.map(\.reason) == [
                    .unmatched, .unmatched, .unmatched, .unmatched,
                ]
        )
        // b is not shown: its state is only noted. The object 9,999 does not exist.
        #expect(try world.set([(ids[1], false), (ObjectID(9_999), true)], of: all)?.isDone == true)
        #expect(diffs.count == 1)
        #expect(try world.set([(ids[0], true)], of: all)?.isDone == true)
        try world.check("unfolded")
        #expect(world.ids(all) == [ids[0], ids[1], ids[4], ids[5]])
        // The last state of an object counts.
        try world.set([(ids[1], true), (ids[1], false), (ids[1], true)], of: all)
        try world.check("twice")
        #expect(world.ids(all).count == 6)
    }

    @Test func foldsOutsideTheWindowChangeThePositionOnly() throws {
        let (world, ids) = try self.world()
        let last = try OutlineWorld.request(window: .around(ids[5], before: 0, after: 0))
        try world.subscribe(last)
        let diffs = world.client.diffs
        try world.set([(ids[0], false)], of: last)
        try world.check()
        #expect(world.client.diffs == diffs)
        #expect(world.client.subscriptions[last]?.state?.window?.start.row == 1)
    }

    @Test func thePredicateHidesWithTheSubTree() throws {
        let (world, ids) = try self.world()
        let open = try OutlineWorld.request(predicate: "done == NO")
        try world.subscribe(open)
        func setDone(_ id: ObjectID, _ isDone: Bool) throws {
            let value = PropertyAssignment(OutlineWorld.done, .value(.boolean(isDone)))
            try world.write([.update(.object(id), values: [value])])
        }
        try setDone(ids[1], true)
        try world.check("hidden")
        #expect(world.ids(open) == [ids[0], ids[4], ids[5]])
        try setDone(ids[1], false)
        try world.check("shown again")
        let ofParents = try OutlineWorld.request(predicate: "parent.done == NO", window: .range(offset: 0, limit: 50))
        try world.subscribe(ofParents)
        try setDone(ids[1], true)
        try world.check("children of a done item hidden")
        #expect(world.ids(ofParents) == [ids[0], ids[1], ids[4], ids[5]])
        try setDone(ids[1], false)
        try world.check("and shown")
    }

    @Test func anAttributeFoldsForAll() throws {
        let (world, ids) = try self.world()
        let byDone = try OutlineWorld.request(.attribute(OutlineWorld.done), except: [ids[1]])
        try world.subscribe(byDone)
        #expect(world.ids(byDone) == [ids[0], ids[5]])
        let value = PropertyAssignment(OutlineWorld.done, .value(.boolean(true)))
        try world.write([.update(.object(ids[0]), values: [value])])
        try world.check("unfolded")
        #expect(world.ids(byDone).count == 6)
        try world.write([.update(.object(ids[1]), values: [value])])
        try world.check("the exception turns")
        #expect(world.ids(byDone) == [ids[0], ids[1], ids[4], ids[5]])
        try world.set([(ids[1], true)], of: byDone)
        try world.check("the state is the attribute's again")
    }

    @Test func columnsFollowOtherObjects() throws {
        let (world, ids) = try self.world()
        let all = try OutlineWorld.request(columns: ["parent.title", "children.@count"])
        try world.subscribe(all)
        try world.check()
        try world.write([EngineFixture.edit(ids[0], "A")])
        try world.check("renamed")
        try world.write([EngineFixture.insert("g", under: ids[5], .first)])
        try world.check("counted")
    }

    @Test func resubscribeScrollsZoomsAndFilters() throws {
        let (world, ids) = try self.world()
        let all = try OutlineWorld.request(window: .range(offset: 0, limit: 3))
        try world.subscribe(all)
        try world.set([(ids[1], false)], of: all)
        let scrolled = try OutlineWorld.request(.asBefore, window: .range(offset: 2, limit: 3))
        func isDifference(_ reply: EngineReply?) -> Bool {
            if case .subscribed(_, .difference, _, _)? = reply { true } else { false }
        }
        #expect(isDifference(try world.change(all, to: scrolled)))
        try world.check("scrolled")
        let zoomed = try OutlineWorld.request(.asBefore, of: ids[0], window: .around(ids[4], before: 5, after: 5))
        #expect(isDifference(try world.change(scrolled, to: zoomed)))
        try world.check("zoomed")
        #expect(world.ids(zoomed) == [ids[1], ids[4]])
        let filtered = try OutlineWorld.request(.all, predicate: "done == NO", window: .range(offset: 0, limit: 20))
        #expect(isDifference(try world.change(zoomed, to: filtered)))
        try world.check("filtered")
        // A list has no rows of its own to compare: a snapshot.
        let list = SimulatedClient.children(of: ids[0])
        let input = try #require(world.client.change(filtered, to: list))
        try world.perform([input])
        #expect(world.client.subscriptions[list]?.state?.sections.flatMap(\.rows).map(\.id) == [ids[1], ids[4]])
        let back = try OutlineWorld.request()
        world.folds[list] = NaiveFolds(FetchOutline())
        try world.change(list, to: back)
        try world.check("an outline again")
        // A request that is refused leaves the outline as it was.
        let wrong = try OutlineWorld.request(window: .around(ObjectID(9_999), before: 1, after: 1))
        #expect(try world.change(back, to: wrong)?.error?.code == .notFound)
        try world.write([EngineFixture.edit(ids[0], "A")])
        try world.check("unchanged")
    }

    @Test func theOutlineOfADeletedObjectIsEmpty() throws {
        let (world, ids) = try self.world()
        let below = try OutlineWorld.request(of: ids[0])
        let around = try OutlineWorld.request(of: ids[0], window: .around(ids[2], before: 1, after: 1))
        try world.subscribe(below)
        try world.subscribe(around)
        try world.write([.delete(.object(ids[0]))])
        try world.check("deleted")
        #expect(world.ids(below).isEmpty)
        let (_, undo) = world.writer.request(.undo(key: nil, UndoOptions(), expected: nil))
        try world.perform([undo])
        try world.check("restored")
        #expect(world.ids(below).count == 4)
        #expect(try world.subscribe(try OutlineWorld.request(of: ObjectID(9_999)))?.code == .notFound)
    }

    @Test func aBlockedConnectionGetsTheNetDifference() throws {
        let (world, ids) = try self.world()
        let all = try OutlineWorld.request()
        try world.subscribe(all)
        try world.perform([world.client.block()])
        let diffs = world.client.diffs
        try world.write([EngineFixture.insert("x", under: ids[1], .first)])
        try world.write([EngineFixture.move(ids[5], .first), EngineFixture.edit(ids[2], "C")])
        #expect(world.client.diffs == diffs)
        try world.perform([world.client.drain()])
        try world.check("drained")
        #expect(world.client.diffs == diffs + 1)
        // The head is above the last difference. Folded while blocked, without a commit: the difference is of one
        // revision, since PROGRESS may have raised the client's to the head.
        try world.write([EngineFixture.edit(EngineFixture.root, "not shown")])
        var spans: [Range<UInt64>] = []
        world.client.onDiff = { _, diff, _, _ in spans.append(diff.from.rawValue..<diff.to.rawValue) }
        try world.perform([world.client.block()])
        let view = try #require(world.client.subscriptions[all]?.view)
        let states = [ExpandedState(ids[0], isExpanded: false)]
        let (_, input) = world.client.request(.setExpanded(view: view, states))
        world.folds[all]?.set(states, try world.snapshot().value)
        try world.perform([input])
        try world.perform([world.client.drain()])
        try world.check("folded while blocked")
        let head = world.fixture.store.head.rawValue
        #expect(spans == [head..<head])
        // With a commit, it begins at the last difference.
        try world.perform([world.client.block()])
        try world.write([EngineFixture.edit(ids[5], "F")])
        try world.perform([world.client.drain()])
        try world.check("edited while blocked")
        #expect(spans.last == head..<head + 1)
    }

    @Test func outlinesAreCheckedAgainstTheModel() throws {
        let (world, ids) = try self.world()
        func code(_ change: (inout ObjectFetchRequest) throws -> Void) throws -> ErrorCode? {
            var request = try OutlineWorld.request()
            try change(&request)
            return try world.fixture.ask(world.client, .fetch(request, atLeast: Revision(0))).error?.code
        }
        #expect(try code { _ in } == nil)
        #expect(try code { $0.window = nil } == .invalid)
        #expect(try code { $0.window = .range(offset: 0, limit: Limits.outlineWindowRowsMax + 1) } == .invalid)
        #expect(try code { $0.window = .range(offset: 0, limit: Limits.outlineWindowRowsMax) } == nil)
        #expect(try code { $0.window = .around(ids[0], before: 500, after: 500) } == .invalid)
        #expect(try code { $0.window = .around(ids[0], before: 500, after: 499) } == nil)
        #expect(try code { $0.window = .around(ids[0], before: .max, after: .max) } == .invalid)
        #expect(try code { $0.source = nil } == .invalid)
        #expect(try code { $0.sort = [.order] } == .invalid)
        #expect(try code { $0.outline?.expansion = .asBefore } == .invalid)
        var asBefore = try OutlineWorld.request()
        asBefore.outline?.expansion = .asBefore
        #expect(try world.fixture.ask(world.client, .explain(asBefore)).error?.code == .invalid)
        let explained = try world.fixture.ask(world.client, .explain(try OutlineWorld.request())).explanation
        #expect(explained?.routing == .table && explained?.live == nil)
        #expect(try code { $0.outline?.expansion = .attribute(EngineFixture.title) } == .invalid)
        #expect(try code { $0.outline?.expansion = .attribute(PropertyNumber(99)) } == .unknownProperty)
        #expect(
            try code { $0.predicate = try OutlineWorld.request(predicate: "children.@count > 0").predicate } == .invalid
        )
        #expect(
            try code { $0.predicate = try OutlineWorld.request(predicate: "ANY children.done == YES").predicate }
                == .invalid
        )
        #expect(
            try code { $0.predicate = try OutlineWorld.request(predicate: "SELF IN SUBTREE(1)").predicate } == .invalid
        )
        #expect(try code { $0.window = .around(ObjectID(9_999), before: 1, after: 1) } == .notFound)
        #expect(try code { $0.outline = nil } == .unknownProperty)
        let list = SimulatedClient.children(of: EngineFixture.root)
        try world.perform([world.client.subscribe(list)])
        let view = try #require(world.client.subscriptions[list]?.view)
        let states = [ExpandedState(ids[0], isExpanded: true)]
        #expect(try world.fixture.ask(world.client, .setExpanded(view: view, states)).error?.code == .invalid)
        #expect(try world.fixture.ask(world.client, .setExpanded(view: 9, states)).error?.code == .notFound)
    }

    @Test func outlinesPerConnectionAreLimited() throws {
        let (world, _) = try self.world()
        for limit in 1...Limits.outlinesPerConnectionMax {
            #expect(try world.subscribe(try OutlineWorld.request(window: .range(offset: 0, limit: limit))) == nil)
        }
        let error = try world.subscribe(try OutlineWorld.request(window: .range(offset: 0, limit: 99)))
        #expect(error?.code == .limitExceeded)
        let first = try OutlineWorld.request(window: .range(offset: 0, limit: 1))
        let view = try #require(world.client.subscriptions[first]?.view)
        #expect(try world.fixture.ask(world.client, .unsubscribe(view: view)).isDone)
        world.client.subscriptions[first] = nil
        #expect(try world.subscribe(try OutlineWorld.request(window: .range(offset: 0, limit: 99))) == nil)
    }

    /// A list instead of an outline takes its place, also on a connection with all its subscriptions.
    @Test func aListTakesThePlaceOfAnOutline() throws {
        let (world, ids) = try self.world()
        let outline = try OutlineWorld.request()
        try world.subscribe(outline)
        for number in 1..<Limits.subscriptionsPerConnectionMax {
            var list = SimulatedClient.children(of: EngineFixture.root)
            list.window = .range(offset: 0, limit: number)
            try world.fixture.perform([world.client.subscribe(list)])
        }
        let list = SimulatedClient.children(of: ids[0])
        #expect(try world.fixture.ask(world.client, .subscribe(list, resume: nil, atLeast: Revision(0))).error != nil)
        world.client.subscriptions[list] = nil
        try world.perform([try #require(world.client.change(outline, to: list))])
        #expect(world.client.subscriptions[list]?.state?.sections.flatMap(\.rows).map(\.id) == [ids[1], ids[4]])
    }

    /// The number of exceptions must not tell the attribute of an object that the client does not see.
    @Test func exceptionsDoNotTellWhatIsOutOfScope() throws {
        let grant = AccessConfinement(
            root: ObjectID(2),
            entity: EngineFixture.item,
            relationship: OutlineWorld.children
        )
        let world = try OutlineWorld(scope: .subtree(grant))
        let ids = try world.insert([("a", under: -1), ("b", under: 0), ("secret", under: -1), ("open", under: -1)])
        try world.write([OutlineWorld.done(ids[2], true)])
        let full = (0..<Limits.outlineExceptionsMax).map { ObjectID(1_000_000 + Int64($0)) }
        let request = try OutlineWorld.request(.attribute(OutlineWorld.done), except: full, of: ids[0])
        #expect(try world.subscribe(request) == nil)
        // Unfolded without an exception if its attribute were read, and another exception if not.
        for id in [ids[2], ids[3]] {
            #expect(try world.set([(id, true)], of: request)?.error?.code == .limitExceeded)
            #expect(try world.set([(id, false)], of: request)?.isDone == true)
        }
        #expect(try world.set([(ids[1], true)], of: request)?.error?.code == .limitExceeded)
        #expect(try world.set([(full[0], false), (ids[1], true)], of: request)?.isDone == true)
    }

    @Test func anOutlineThatGrowsTooLargeEnds() throws {
        let world = try OutlineWorld(rowsMax: 6)
        let ids = try world.insert([
            ("a", under: -1), ("b", under: 0), ("c", under: 1), ("d", under: 1), ("e", under: 0),
        ])
        let all = try OutlineWorld.request()
        try world.subscribe(all)
        let folded = try OutlineWorld.request(except: [ids[1]], window: .range(offset: 0, limit: 5))
        try world.subscribe(folded)
        try world.write([EngineFixture.insert("f", under: ids[0])])
        try world.check("six rows")
        let view = try #require(world.client.subscriptions[all]?.view)
        try world.write([EngineFixture.insert("g", under: ids[0])])
        #expect(world.client.subscriptions[all]?.view != view, "the outline has ended")
        try world.check("the other has five rows")
        let answer = try world.set([(ids[1], true)], of: folded)
        #expect(answer?.error?.code == .limitExceeded)
        try world.check("nothing has changed")
        #expect(
            try world.subscribe(try OutlineWorld.request(window: .range(offset: 0, limit: 1)))?.code == .limitExceeded
        )
    }

    /// A confined client sees an outline as long as the object above it is in its scope.
    @Test func aTokensScopeLimitsTheOutline() throws {
        let grant = AccessConfinement(
            root: ObjectID(2),
            entity: EngineFixture.item,
            relationship: OutlineWorld.children
        )
        let world = try OutlineWorld(scope: .subtree(grant))
        let ids = try world.insert([("a", under: -1), ("b", under: 0), ("c", under: 1), ("d", under: -1)])
        #expect(ids[0] == ObjectID(2))
        let all = try OutlineWorld.request(of: ids[1])
        #expect(try world.subscribe(try OutlineWorld.request())?.code == .notFound)
        #expect(try world.subscribe(all) == nil)
        #expect(world.ids(all) == [ids[2]])
        try world.write([EngineFixture.move(ids[1], under: ids[3], .last)])
        #expect(world.ids(all).isEmpty)
        try world.write([EngineFixture.move(ids[1], under: ids[0], .last)])
        #expect(world.ids(all) == [ids[2]])
    }

    /// The rows of a bulk write are not listed one by one: the outline is read anew, here in the background.
    @Test func importsAreFollowed() throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 50)
        let ids = try world.insert([("a", under: -1), ("b", under: -1)])
        let all = try OutlineWorld.request(window: .around(ids[1], before: 10, after: 10))
        try world.subscribe(all)
        let rows = (0..<300).map { (depth: $0 % 3, title: "row \($0)") }
        try world.perform([try world.fixture.imported(rows, under: ids[0], by: world.writer)])
        try world.check("imported")
        #expect(world.client.subscriptions[all]?.state?.window?.total == 302)
        try world.set([(ids[0], false)], of: all)
        try world.check("folded")
        try world.set([(ids[0], true)], of: all)
        try world.check("unfolded in the background")
        try world.write([.delete(.object(ids[0]))])
        try world.check("deleted")
    }

    @Test func aWindowFollowsItsAnchor() throws {
        let (world, ids) = try self.world()
        let around = try OutlineWorld.request(window: .around(ids[2], before: 1, after: 1))
        try world.subscribe(around)
        func anchor() -> ObjectID? { world.client.subscriptions[around]?.state?.window?.anchor }
        try world.write([EngineFixture.move(ids[2], under: ids[4], .last)])
        try world.check("moved")
        #expect(anchor() == ids[2] && world.ids(around) == [ids[4], ids[2], ids[5]])
        try world.write([.delete(.object(ids[2]))])
        #expect(anchor() == ids[5])
        try world.write([EngineFixture.move(ids[5], .first)])
        try world.check("moved to the front")
        try world.set([(ids[0], false)], of: around)
        #expect(anchor() == ids[5])
        try world.set([(ids[0], true)], of: around)
        try world.write([.delete(.object(ids[5]))])
        #expect(anchor() == ids[0])
        try world.write([.delete(.object(ids[0]))])
        #expect(anchor() == nil)
        try world.check("empty")
        let new = try world.insert([("x", under: -1), ("y", under: -1)])
        #expect(anchor() == new[0])
        try world.check("the first that came")
    }

    /// A reader in the middle of a large outline must not find itself at its top.
    @Test func aResumeNeedsItsAnchor() throws {
        let (world, ids) = try self.world()
        let around = try OutlineWorld.request(window: .around(ids[3], before: 1, after: 1))
        try world.subscribe(around)
        func resume() throws -> NestError? {
            let input = world.client.subscribe(around, resuming: true)
            try world.perform([input])
            return world.client.subscriptions[around]?.view == nil ? world.client.refusal : nil
        }
        try world.perform([world.client.connect(as: world.fixture.newConnection())])
        #expect(try resume() == nil)
        #expect(world.ids(around) == [ids[2], ids[3], ids[4]])
        try world.perform([.disconnected(world.client.connection)])
        try world.write([.delete(.object(ids[3]))])
        let folds = world.folds[around]
        try world.perform([world.client.connect(as: world.fixture.newConnection())])
        #expect(try resume()?.code == .notFound)
        let byStart = try OutlineWorld.request(window: .range(offset: 2, limit: 3))
        world.folds[byStart] = folds
        #expect(try world.subscribe(byStart) == nil)
        #expect(world.ids(byStart) == [ids[2], ids[4], ids[5]])
        // The outline of an object that is gone is empty, also for a resume around one of its rows.
        let below = try OutlineWorld.request(of: ids[0], window: .around(ids[2], before: 1, after: 1))
        try world.subscribe(below)
        try world.write([.delete(.object(ids[0]))])
        try world.perform([world.client.connect(as: world.fixture.newConnection())])
        try world.perform([world.client.subscribe(below, resuming: true)])
        #expect(world.client.subscriptions[below]?.view != nil && world.ids(below).isEmpty)
    }

    /// Rows that are read anew keep the window at the position of an anchor that is gone.
    @Test func aWindowKeepsItsPositionWhenRowsAreReadAnew() throws {
        for examinedMax in [2_000, 10] {
            let world = try OutlineWorld(backgroundReadRowsMin: examinedMax)
            let ids = try world.insert((0..<40).map { ("\($0)", under: $0 < 20 ? -1 : 9) })
            let around = try OutlineWorld.request(window: .around(ids[25], before: 1, after: 1))
            try world.subscribe(around)
            func anchor() -> ObjectID? { world.client.subscriptions[around]?.state?.window?.anchor }
            // Its row and another are folded: the next row that is left follows, also after a background read.
            try world.set([(ids[9], false), (ids[2], true)], of: around)
            #expect(anchor() == ids[10])
            try world.set([(ids[9], true)], of: around)
            #expect(anchor() == ids[10])
            // The update of this batch reads more than it may, after it has removed the anchor.
            let many = (0..<20).map { EngineFixture.insert("\($0)", under: ids[3]) }
            try world.write([.delete(.object(ids[10]))] + many)
            #expect(anchor() == ids[11])
            try world.check("read anew")
        }
    }

    /// A read that is already of an earlier revision when it arrives gets the changes since.
    @Test func changesDuringABackgroundReadAreApplied() throws {
        let world = try OutlineWorld(backgroundReadRowsMin: 10)
        let ids = try world.insert((0..<40).map { ("t\($0)", under: $0 % 3 == 0 ? -1 : $0 - 1) })
        let all = try OutlineWorld.request(except: [ids[0]], window: .range(offset: 0, limit: 100))
        world.fixture.holdsReads = true
        func finish(after mutations: [Mutation]) throws {
            let read = world.fixture.reads.removeFirst()
            let outcome = read.run(world.fixture.store.reader)
            try world.write(mutations)
            try world.perform([.read(read.id, outcome)])
        }
        try world.subscribe(all)
        world.folds[all] = NaiveFolds(try #require(all.outline))
        try finish(after: [
            EngineFixture.insert("new", under: ids[3]), EngineFixture.move(ids[6], under: ids[4], .first),
            .delete(.object(ids[9])),
        ])
        try world.check("subscribed")
    }

    @Test func fetchAnswersAWindow() throws {
        let (world, ids) = try self.world()
        let request = try OutlineWorld.request(except: [ids[1]], window: .range(offset: 1, limit: 2))
        guard
            case .snapshot(let header, let bodies, _) = try world.fixture.ask(
                world.client,
                .fetch(request, atLeast: Revision(0))
            )
        else { throw Missing() }
        let rows = try bodies.flatMap { body in
            try ByteReader.read(body.bytes) { (reader) throws(DecodingFailure) in try reader.rows(valueCount: 4) }
        }
        #expect(rows.map(\.id) == [ids[1], ids[4]] && header.total == 4 && header.window.start.row == 1)
        #expect(rows[0].values[2] == .integer(-3))
    }

    private struct Missing: Error {}
}
