import ChaosProxy
import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Outlines and groups of an optimistic client, against a real server behind a proxy that holds back what it sends.
    struct OptimisticOutlineTests {
        fileprivate typealias Lines = NIOLockedValueBox<[String]>

        fileprivate struct World {
            let client: NestClient
            let optimistic: OptimisticClient
            let outline: OptimisticOutline
            let item: NamedEntity
            let proxy: ChaosProxy
            /// The rows of the newest state, indented, with `+` for folded ones.
            let lines: Lines
            /// Those of all states.
            let all = NIOLockedValueBox<[[String]]>([])

            func shows(_ expected: [String]) async throws {
                try await waitUntil("\(expected), not \(self.lines.withLockedValue { $0 })") {
                    self.lines.withLockedValue { $0 } == expected
                }
            }

            func holdBack() async throws { await self.proxy.follow(.fixed(try Faults("stall to-client"))) }
            func letThrough() async { await self.proxy.follow(.fixed(.none)) }

            func insert(_ title: String, under parent: ObjectID, at place: Place = .last) throws -> ObjectID {
                let context = ObjectContext(self.client)
                let object = try context.insert(self.item, ["title": title], under: parent, at: place)
                try self.optimistic.save(context)
                return try #require(context.objectID(of: object))
            }
        }

        private static func text(_ state: OptimisticState) -> [String] {
            guard let outline = OutlineState(state.snapshot), let title = outline.projection.firstIndex(of: .init(1))
            else { return ["no outline"] }
            return outline.rows.map { row in
                let text: String = if case .string(let text) = row.values[title] { text } else { "?" }
                return String(repeating: " ", count: row.depth) + (row.hasChildren && !row.isExpanded ? "+" : "") + text
            }
        }

        private func withWorld(_ body: @Sendable (World) async throws -> Void) async throws {
            try await withServer { port, _ in
                let proxy = try await ChaosProxy.start(to: .init(port: port))
                try await NestClient.withClient(Fixtures.configuration(await proxy.port)) { client in
                    let optimistic = try await client.optimistic()
                    _ = try await client.transaction(.insert("a", "b", "c"))
                    var request = ObjectFetchRequest.rootChildren
                    request.outline = FetchOutline(.all)
                    let (item, lines) = (try await client.entity("Item"), Lines([]))
                    try await optimistic.withOutline(request) { outline in
                        let world = World(
                            client: client,
                            optimistic: optimistic,
                            outline: outline,
                            item: item,
                            proxy: proxy,
                            lines: lines
                        )
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask {
                                for try await state in outline.states {
                                    world.all.withLockedValue { $0.append(Self.text(state)) }
                                    lines.withLockedValue { $0 = Self.text(state) }
                                }
                            }
                            try await world.shows(["a", "b", "c"])
                            try await body(world)
                            group.cancelAll()
                            while (try? await group.next()) != nil {}
                        }
                    }
                }
                await proxy.stop()
            }
        }

        private static func move(_ id: ObjectID, under owner: ObjectID) -> WriteTransaction {
            let placement = Placement(relationship: PropertyNumber(5), owner: .object(owner), place: .last)
            return WriteTransaction(mutations: [.move(.object(id), placement)])
        }

        @Test func subTreesAreInsertedMovedAndDeletedAtOnce() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                let d = try world.insert("d", under: ObjectID(1), at: .first)
                let e = try world.insert("e", under: d)
                _ = try world.insert("f", under: e)
                try await world.shows(["d", " e", "  f", "a", "b", "c"])
                let g = try world.insert("g", under: ObjectID(1))
                try world.optimistic.write(Self.move(e, under: g))
                try await world.shows(["d", "a", "b", "c", "g", " e", "  f"])
                await world.letThrough()
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                try await world.shows(["d", "a", "b", "c", "g", " e", "  f"])

                // The server's fold states count for what comes later.
                try await world.outline.setExpanded(g, false)
                try await world.shows(["d", "a", "b", "c", "+g"])
                try await world.holdBack()
                _ = try world.insert("h", under: g)
                try world.optimistic.write(WriteTransaction(mutations: [.delete(.object(d))]))
                try await world.shows(["a", "b", "c", "+g"])
                await world.letThrough()
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                try await world.outline.expand(.all)
                try await world.shows(["a", "b", "c", "g", " e", "  f", " h"])
            }
        }

        @Test func aRowWithoutChildrenHasTheFoldStateThatItIsToHave() async throws {
            try await self.withWorld { world in
                let (a, b) = (try await world.id(of: "a"), try await world.id(of: "b"))
                try await world.holdBack()
                _ = try world.insert("x", under: a)
                try await world.shows(["a", " x", "b", "c"])
                async let folded: Void = world.outline.setExpanded(a, false)
                try await world.shows(["+a", "b", "c"])
                async let unfolded: Void = world.outline.setExpanded([ExpandedState(a, isExpanded: true)])
                try await world.shows(["a", " x", "b", "c"])
                async let both: Void = world.outline.setExpanded(
                    [ExpandedState(a, isExpanded: false), ExpandedState(b, isExpanded: false)]
                )
                _ = try world.insert("y", under: b)
                try await world.shows(["+a", "+b", "c"])
                await world.letThrough()
                _ = try await (folded, unfolded, both)
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                try await world.shows(["+a", "+b", "c"])
                try await world.outline.expand(.all)
                try await world.shows(["a", " x", "b", " y", "c"])
            }
        }

        /// The server has the rows below an unfolded row before it has the fold state.
        @Test func rowsBelowARowThatIsUnfoldedStay() async throws {
            try await self.withWorld { world in
                let (b, c) = (try await world.id(of: "b"), try await world.id(of: "c"))
                try await world.outline.setExpanded(b, false)
                try await world.holdBack()
                _ = try world.insert("z", under: c)
                // The first fold state is on its way: the second one is sent when it has its answer.
                async let folded: Void = world.outline.setExpanded(c, false)
                try await world.shows(["a", "b", "+c"])
                _ = try world.insert("y", under: b)
                async let unfolded: Void = world.outline.setExpanded(b, true)
                try await world.shows(["a", "b", " y", "+c"])
                let before = world.all.withLockedValue { $0.count }
                await world.letThrough()
                _ = try await (folded, unfolded)
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                try await world.optimistic.undo()
                try await world.shows(["a", "b", "+c"])
                let states = Set(world.all.withLockedValue { $0[before...] })
                #expect(states == [["a", "b", " y", "+c"], ["a", "b", "+c"]])
            }
        }

        @Test func aGroupIsShownStepByStepAndWrittenAtOnce() async throws {
            try await self.withWorld { world in
                let write = try await world.optimistic.group("Pack") { group in
                    let context = ObjectContext(world.client)
                    let box = try context.insert(world.item, ["title": "box"], under: ObjectID(1), at: .first)
                    _ = try context.insert(world.item, ["title": "cup"], under: box)
                    try group.save(context)
                    try await world.shows(["box", " cup", "a", "b", "c"])
                    // It cannot be undone before its end.
                    await #expect(throws: NestError.self) { try await world.optimistic.undo() }
                    // Writes after its begin wait for it.
                    _ = try world.insert("later", under: ObjectID(1))
                    let id = try #require(context.objectID(of: box))
                    try group.write(Self.move(try await world.id(of: "a"), under: id))
                    try await world.shows(["box", " cup", " a", "b", "c", "later"])
                    #expect(await world.optimistic.pending.map(\.state) == [.open, .queued])
                }
                _ = try await #require(write).receipt()
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                let history = try await world.client.history()
                #expect(history.prefix(2).map(\.name).contains("Pack"))
                // One undo entry.
                try await world.optimistic.undo()
                try await world.optimistic.undo()
                try await world.shows(["a", "b", "c"])
            }
        }

        @Test func aGroupThatFailsLeavesNothing() async throws {
            struct Stop: Error {}
            try await self.withWorld { world in
                await #expect(throws: Stop.self) {
                    try await world.optimistic.group { group in
                        let context = ObjectContext(world.client)
                        try context.insert(world.item, ["title": "d"], under: ObjectID(1))
                        try group.save(context)
                        try await world.shows(["a", "b", "c", "d"])
                        throw Stop()
                    }
                }
                try await world.shows(["a", "b", "c"])
                let nothing = try await world.optimistic.group { _ in }
                #expect(nothing == nil)
                _ = try world.insert("e", under: ObjectID(1))
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                #expect(try await world.client.fetch(.rootChildren).total == 4)
            }
        }
    }
}

extension SocketTests.OptimisticOutlineTests.World {
    fileprivate func id(of title: String) async throws -> ObjectID {
        let rows = try await self.client.fetch(.rootChildren).sections[0].rows
        return try #require(rows.first { $0.values.contains(.string(title)) }?.id)
    }
}
