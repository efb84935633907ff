import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// Whether an object is in a token's scope is a look-up, and reading a scope delays no other connection.
@Suite struct ScopeTests {
    private static let root = ObjectID(2)
    private static let never = ObjectID(1 << 40)

    /// Returns a world with connection 1, which has no token scope, and object 2, to which tests confine connection 2.
    private static func world(
        rowsPerTurn: Int = Limits.scopeRowsPerTurnMax,
        hasFaultyDisk: Bool = false
    ) throws -> ScopeWorld {
        let world = try ScopeWorld(rowsPerTurn: rowsPerTurn, hasFaultyDisk: hasFaultyDisk)
        world.connect(1, session: 1)
        world.write(1, EngineFixture.insert("scope"))
        return world
    }

    @Test func theCostOfAReadDoesNotDependOnDepth() throws {
        let world = try Self.world()
        let inside = try world.chain(2_000, under: Self.root)
        let outside = try world.chain(2_000, under: EngineFixture.root)
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        func get(_ id: ObjectID) -> (steps: Int, answer: String) {
            let (number, input) = world.request(2, .object(id))
            return (world.steps([input]), world.answers[number] ?? "none")
        }
        _ = (get(inside[1]), get(outside[1]))
        let shallow = get(inside[1])
        let deep = get(inside[1_998])
        #expect(shallow.steps == deep.steps && deep.answer.contains("import"))
        let never = get(Self.never)
        let refused = [outside[0], outside[1_998], outside[1_999], EngineFixture.root].map { get($0) }
        for (steps, answer) in refused {
            #expect(steps == never.steps && answer.hasPrefix("\(ErrorCode.notFound)"), "\(steps): \(answer)")
        }
        #expect(never.steps < 30)
    }

    @Test func theCostOfAWriteDoesNotDependOnDepth() throws {
        let world = try Self.world()
        let inside = try world.chain(2_000, under: Self.root)
        let outside = try world.chain(2_000, under: EngineFixture.root)
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        func edit(_ id: ObjectID) -> (steps: Int, answer: String) {
            let (number, input) = world.request(
                2,
                .transaction(WriteTransaction(mutations: [EngineFixture.edit(id, "x")]))
            )
            return (world.steps([input]), world.answers[number] ?? "none")
        }
        _ = edit(inside[0])
        let (shallow, deep) = (edit(inside[1]), edit(inside[1_998]))
        #expect(abs(shallow.steps - deep.steps) < 100 && deep.answer.contains("Receipt"), "\(deep)")
        #expect(edit(outside[1_998]).steps == edit(Self.never).steps)
    }

    /// Without the stored members, 128 pipelined requests of one guest for objects 100,000 levels deep stopped all
    /// commits for 8 s. 20,000 levels are enough to detect this.
    @Test func pipelinedRequestsForDeepObjectsAreCheap() throws {
        let world = try Self.world()
        let chain = try world.chain(20_000, under: Self.root)
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        world.finish()
        let requests = (0..<128).map { _ in world.request(2, .object(chain[19_999])) }
        #expect(world.steps(requests.map(\.input)) < 128 * 200)
        for (id, _) in requests { #expect(world.answers[id]?.contains("import") ?? false) }
    }

    @Test func aLargeScopeIsReadInTurnsAndItsRequestsWait() throws {
        let world = try Self.world(rowsPerTurn: 20)
        let chain = try world.chain(300, under: Self.root)
        world.perform([(1, try world.imported([Int](repeating: 0, count: 300), under: chain[299]))])
        let last = ObjectID(world.lastID)
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        let asked = world.request(2, .object(last))
        let edited = world.request(2, .transaction(WriteTransaction(mutations: [EngineFixture.edit(last, "waited")])))
        let other = world.request(
            1,
            .transaction(WriteTransaction(mutations: [EngineFixture.edit(chain[0], "at once")]))
        )
        world.perform([asked.input, edited.input, other.input])
        #expect(world.answers[other.id]?.contains("Receipt") ?? false)
        #expect(world.answers[asked.id] == nil && world.answers[edited.id] == nil && world.engine.hasBacklog)
        #expect(world.statistic("requests_waiting") == 2)
        var turns = 0
        while world.engine.hasBacklog {
            turns += 1
            #expect(world.steps([]) < 1_000)
        }
        #expect(turns > 20)
        #expect(world.answers[edited.id]?.contains("Receipt") ?? false)
        // Reads see earlier writes of their batch.
        #expect(world.answers[asked.id]?.contains("waited") ?? false)
        #expect(world.statistic("requests_waiting") == 0)
    }

    /// Renumbering may move siblings to positions that the read has already passed.
    @Test func renumberingDoesNotHideObjectsFromAScopeRead() throws {
        for seed in 0..<150 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let world = try Self.world(rowsPerTurn: 4 + random.below(20))
            var count = 20
            world.perform([(1, try world.imported([Int](repeating: 0, count: count), under: Self.root))])
            /// Returns inserts beside one object, until the gap is used up.
            func inserts() -> [(UInt64, EngineRequest)] {
                let beside = ObjectReference.object(ObjectID(Int64(3 + random.below(count))))
                return (0..<(5 + random.below(30))).map { _ in
                    count += 1
                    let place: Place = random.oneIn(2) ? .before(beside) : .after(beside)
                    let insert = EngineFixture.insert("x", under: Self.root, place)
                    return (1, .transaction(WriteTransaction(mutations: [insert])))
                }
            }
            for _ in 0..<(1 + random.below(3)) { world.perform(inserts()) }
            world.connect(2, session: 2, ScopeWorld.scope(Self.root))
            world.perform(inserts())
            #expect(world.statistic("token_scope_objects") == count, "seed \(seed)")
        }
    }

    /// An undo restores objects in any order, because ids do not show which object is above which after moves.
    @Test func objectsThatAnUndoRestoresAreInTheScopeInAnyOrder() throws {
        let world = try ScopeWorld(streamedFrom: 2)
        world.connect(1, session: 1)
        world.write(1, EngineFixture.insert("scope"))
        let chain = try world.chain(3, under: Self.root)
        // The last object becomes the parent of the others.
        world.write(1, EngineFixture.move(chain[2], under: Self.root, .last))
        world.write(1, EngineFixture.move(chain[0], under: chain[2], .last))
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        world.write(1, .delete(.object(chain[2])))
        #expect(world.perform([(2, .object(chain[0]))])[0].hasPrefix("\(ErrorCode.notFound)"))
        #expect(world.perform([(1, .undo(key: nil, UndoOptions()))])[0].contains("Receipt"))
        for id in chain { #expect(world.perform([(2, .object(id))])[0].contains("import"), "\(id)") }
        #expect(world.statistic("token_scope_objects") == 3)
    }

    /// If an import inserts the root of a scope, only the objects below that root are in the scope.
    @Test func aScopeMayHaveARootFromAnImport() throws {
        let world = try Self.world()
        world.connect(2, session: 2, ScopeWorld.scope(ObjectID(4)))
        let chain = try world.chain(4, under: Self.root)
        #expect(chain[1] == ObjectID(4))
        world.finish()
        let answers = chain.map { world.perform([(2, .object($0))])[0].contains("import") }
        #expect(answers == [false, true, true, true])
        #expect(world.statistic("token_scope_objects") == 2)
    }

    @Test func requestsOfAClosedConnectionAreDropped() throws {
        let world = try Self.world(rowsPerTurn: 20)
        _ = try world.chain(300, under: Self.root)
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        world.connect(3, session: 3, ScopeWorld.scope(Self.root))
        let (gone, stays) = (world.request(2, .object(Self.root)), world.request(3, .object(Self.root)))
        world.perform([gone.input, stays.input])
        world.perform([.disconnected(ConnectionID(2))])
        #expect(world.statistic("requests_waiting") == 1)
        world.finish()
        #expect(world.answers[gone.id] == nil && world.answers[stays.id]?.contains("scope") ?? false)
        world.perform([.disconnected(ConnectionID(3))])
    }

    @Test func connectionsOfAScopeShareItsMembers() throws {
        let world = try Self.world()
        _ = try world.chain(1_000, under: Self.root)
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        world.connect(3, session: 3, ScopeWorld.scope(Self.root))
        #expect(world.statistic("token_scopes") == 1 && world.statistic("token_scope_objects") == 1_000)
        #expect(try #require(world.statistic("token_scope_bytes")) < 8_000)
        world.perform([.disconnected(ConnectionID(2)), .disconnected(ConnectionID(3))])
        #expect(world.statistic("token_scopes") == 1)
        world.perform([.tick], seconds: 30)
        #expect(world.statistic("token_scopes") == 1)
        // The scope changes while it has no connections, and is used again.
        world.write(1, EngineFixture.insert("more", under: Self.root))
        world.connect(4, session: 2, ScopeWorld.scope(Self.root))
        world.perform([.tick], seconds: 61)
        #expect(world.statistic("token_scope_objects") == 1_001)
        world.perform([.disconnected(ConnectionID(4))])
        world.perform([.tick], seconds: 61)
        #expect(world.statistic("token_scopes") == 0)
    }

    /// Requests of one batch share a transaction and see the changes of the earlier ones.
    @Test func scopeChecksSeeEarlierWritesOfTheBatch() throws {
        let world = try Self.world()
        world.connect(2, session: 2, ScopeWorld.scope(Self.root))
        world.write(1, EngineFixture.insert("in", under: Self.root), EngineFixture.insert("out"))
        let (inside, outside) = (ObjectID(3), ObjectID(4))
        func transaction(_ mutation: Mutation) -> EngineRequest {
            .transaction(WriteTransaction(mutations: [mutation]))
        }
        let answers = world.perform([
            (2, transaction(EngineFixture.edit(inside, "a"))), (2, transaction(EngineFixture.edit(outside, "b"))),
            (1, transaction(EngineFixture.move(inside, .last))),
            (1, transaction(EngineFixture.move(outside, under: Self.root, .last))),
            (2, transaction(EngineFixture.edit(inside, "c"))), (2, transaction(EngineFixture.edit(outside, "d"))),
            (2, transaction(EngineFixture.insert("new", under: inside))),
            (2, transaction(EngineFixture.insert("new", under: outside))),
        ])
        let isDone = answers.map { $0.contains("Receipt") }
        #expect(isDone == [true, false, true, true, false, true, false, true], "\(answers)")
    }

    /// If the commit of a batch fails, the scope is unchanged.
    @Test func aRollbackRestoresTheScope() throws {
        var failures = 0
        for number in 1...12 {
            let world = try Self.world(hasFaultyDisk: true)
            let disk = try #require(world.disk)
            world.connect(2, session: 2, ScopeWorld.scope(Self.root))
            world.write(1, EngineFixture.insert("in", under: Self.root), EngineFixture.insert("out"))
            let ids = [Self.root, ObjectID(3), ObjectID(4), ObjectID(5)]
            let before = world.perform(ids.map { (2, .object($0)) })
            disk.set(.init([.write], number: number, .full, isLasting: true))
            let moves = [
                EngineFixture.move(ids[1], .last), EngineFixture.move(ids[2], under: Self.root, .last),
                EngineFixture.insert(String(repeating: "x", count: 9_000), under: Self.root),
            ]
            let answers = world.perform(moves.map { (1, .transaction(WriteTransaction(mutations: [$0]))) })
            let hits = disk.hits
            disk.set(nil)
            guard hits > 0, world.engine.failure == nil, answers.allSatisfy({ $0.contains("\(ErrorCode.diskFull)") })
            else { continue }
            failures += 1
            #expect(world.perform(ids.map { (2, .object($0)) }) == before, "write \(number)")
        }
        #expect(failures > 0)
    }
}
