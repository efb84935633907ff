import ChaosProxy
import NIOConcurrencyHelpers
import NestClient
import NestModel
import NestServerTestSupport
import NestTestSupport
import Testing

extension SocketTests {
    /// Writes that are shown before they are confirmed, against a real server in this process, through a proxy that
    /// holds back what the server sends.
    struct OptimisticAgainstServerTests {
        /// The states that a list has shown.
        private final class Shown: Sendable {
            private let states = NIOLockedValueBox<[OptimisticState]>([])

            func add(_ state: OptimisticState) { self.states.withLockedValue { $0.append(state) } }

            var all: [OptimisticState] { self.states.withLockedValue { $0 } }
            var last: OptimisticState? { self.all.last }

            /// The titles of the newest state.
            var titles: [String] { self.last?.titles ?? [] }
        }

        private struct World {
            let client: NestClient
            let optimistic: OptimisticClient
            let item: NamedEntity
            let proxy: ChaosProxy
            let shown: Shown

            func insert(_ title: String, at place: Place = .last) throws -> (write: PendingWrite, id: ObjectID) {
                let context = ObjectContext(self.client)
                let object = try context.insert(self.item, ["title": title], under: ObjectID(1), at: place)
                let write = try self.optimistic.save(context, name: "insert \(title)")
                return (write, try #require(context.objectID(of: object)))
            }

            func set(_ id: ObjectID, _ title: String) throws -> PendingWrite {
                try self.optimistic.write(
                    WriteTransaction(
                        mutations: [
                            .update(
                                .object(id),
                                values: [PropertyAssignment(PropertyNumber(1), .value(.string(title)))]
                            )
                        ]
                    )
                )
            }

            func holdBack() async throws { await self.proxy.follow(.fixed(try Faults("stall to-client"))) }
            /// Ends the connection, and lets no other one begin.
            func cutOff() async throws {
                await self.proxy.follow(.fixed(try Faults("refuse")))
                await self.proxy.resetAll()
            }
            func letThrough() async { await self.proxy.follow(.fixed(.none)) }

            func shows(_ titles: [String]) async throws {
                try await waitUntil("\(titles), not \(self.shown.titles)") { self.shown.titles == titles }
            }
        }

        private func withWorld(_ body: @Sendable (World) async throws -> Void) async throws {
            try await withServer { port, _ in
                let proxy = try await ChaosProxy.start(to: .init(port: port))
                try await NestClient.withClient(Fixtures.configuration(await proxy.port)) { client in
                    let (optimistic, shown) = (try await client.optimistic(), Shown())
                    let world = World(
                        client: client,
                        optimistic: optimistic,
                        item: try await client.entity("Item"),
                        proxy: proxy,
                        shown: shown
                    )
                    _ = try await client.transaction(.insert("a", "b", "c"))
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            try await optimistic.withResults(.rootChildren) { states in
                                for try await state in states { shown.add(state) }
                            }
                        }
                        try await world.shows(["a", "b", "c"])
                        try await body(world)
                        group.cancelAll()
                        while (try? await group.next()) != nil {}
                    }
                }
                await proxy.stop()
            }
        }

        @Test func aWriteIsShownAtOnceAndItsConfirmationChangesNoRow() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                let (write, id) = try world.insert("d")
                try await world.shows(["a", "b", "c", "d"])
                #expect(world.shown.last?.pending == [id])
                #expect(write.state == .queued || write.state == .sent)
                // Placed before one that is pending itself.
                let (second, _) = try world.insert("e", at: .before(.object(id)))
                try await world.shows(["a", "b", "c", "e", "d"])
                await world.letThrough()
                _ = try await write.receipt()
                _ = try await second.receipt()
                try await waitUntil("nothing to be pending") { world.shown.last?.pending == [] }
                for state in world.shown.all {
                    #expect(Set(state.titles).count == state.titles.count, "\(state.titles)")
                }
                // From the first to the last there is no step back.
                let counts = world.shown.all.map(\.titles.count)
                #expect(counts == counts.sorted(), "\(counts)")
                #expect(write.state == .settled && second.state == .settled)
                let fetched = try await world.client.fetch(.rootChildren, atLeast: .newest)
                #expect(world.shown.last?.snapshot.sections == fetched.sections)
            }
        }

        @Test func whatTheServerRefusesIsTakenBack() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                let rows = try #require(world.shown.last).snapshot.sections[0].rows
                let required = WriteTransaction(
                    mutations: [.update(.object(rows[0].id), values: [.init(PropertyNumber(1), .value(.null))])]
                )
                let refused = try world.optimistic.write(required)
                let kept = try world.set(rows[1].id, "B")
                try await waitUntil("both to be shown") {
                    world.shown.last?.snapshot.sections[0].rows.prefix(2).map { $0.values[0] } == [.null, .string("B")]
                }
                await world.letThrough()
                await #expect { _ = try await refused.receipt() } throws: { error in
                    (error as? NestError)?.code == .validationFailed
                }
                #expect(refused.state == .refused && refused.transaction.mutations == required.mutations)
                _ = try await kept.receipt()
                try await world.shows(["a", "B", "c"])
            }
        }

        @Test func aCorrectedWriteComesBeforeThoseThatWereNotSent() async throws {
            try await self.withWorld { world in
                let a = try #require(world.shown.last).snapshot.sections[0].rows[0].id
                let wrong = WriteTransaction(
                    mutations: [.update(.object(a), values: [.init(PropertyNumber(1), .value(.null))])]
                )
                let refused = try world.optimistic.write(wrong)
                await #expect(throws: NestError.self) { _ = try await refused.receipt() }
                try await world.cutOff()
                try await waitUntil("the loss to be noticed") { world.shown.last?.isCurrent == false }
                let later = try world.set(a, "later")
                try await world.shows(["later", "b", "c"])
                let corrected = try world.optimistic.write(
                    WriteTransaction(
                        mutations: [.update(.object(a), values: [.init(PropertyNumber(1), .value(.string("right")))])]
                    ),
                    insteadOf: refused
                )
                let group = try await world.optimistic.group("corrected too", insteadOf: refused) { group in
                    let context = ObjectContext(world.client)
                    try context.insert(world.item, ["title": "d"], under: ObjectID(1))
                    try group.save(context)
                }
                try await world.shows(["later", "b", "c", "d"])
                let inPlace = try #require(group)
                let order = await world.optimistic.pending
                #expect(order.map(ObjectIdentifier.init) == [corrected, inPlace, later].map(ObjectIdentifier.init))
                #expect { try world.optimistic.write(wrong, insteadOf: later) } throws: { error in
                    (error as? NestError)?.code == .invalid
                }
                await world.letThrough()
                let revisions = try await [corrected.receipt(), inPlace.receipt(), later.receipt()].map(\.revision)
                #expect(revisions == revisions.sorted())
                try await waitUntil("nothing to be pending") { world.shown.last?.pending == [] }
                #expect(world.shown.titles == ["later", "b", "c", "d"])
            }
        }

        @Test func writesAreCarriedOutOnceThoughTheirAnswersAreLost() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                var writes: [PendingWrite] = []
                for number in 0..<40 { writes.append(try world.insert("\(number)").write) }
                let all = ["a", "b", "c"] + (0..<40).map(String.init)
                try await world.shows(all)
                // The server has had time to carry out some of them.
                try await waitUntil("writes to be sent") { writes.contains { $0.state == .sent } }
                await world.proxy.resetAll()
                await world.letThrough()
                for write in writes { _ = try await write.receipt() }
                try await waitUntil("nothing to be pending") { world.shown.last?.pending == [] }
                #expect(world.shown.titles == all)
                #expect(try await world.client.fetch(.rootChildren, atLeast: .newest).titles == all)
                #expect(await world.optimistic.pending.isEmpty)
            }
        }

        @Test func aWriteWithoutAConnectionIsSentAfterTheListsAre() async throws {
            try await self.withWorld { world in
                try await world.cutOff()
                try await waitUntil("the loss to be noticed") { world.shown.last?.isCurrent == false }
                let (write, _) = try world.insert("d")
                try await world.shows(["a", "b", "c", "d"])
                #expect(write.state == .queued)
                #expect(world.shown.last?.queued == world.shown.last?.pending)
                #expect(world.shown.last?.queued.count == 1)
                await world.letThrough()
                _ = try await write.receipt()
                try await waitUntil("nothing to be pending") {
                    world.shown.last?.pending == [] && world.shown.last?.isCurrent == true
                }
                #expect(world.shown.last?.queued == [])
                // The list goes on.
                _ = try await world.client.transaction(.insert("e"))
                try await world.shows(["a", "b", "c", "d", "e"])
            }
        }

        @Test func aClosedClientGivesItsWritesBack() async throws {
            try await self.withWorld { world in
                try await world.cutOff()
                try await waitUntil("the loss to be noticed") { world.shown.last?.isCurrent == false }
                let (write, _) = try world.insert("d")
                try await world.shows(["a", "b", "c", "d"])
                let waiting = Task { try await write.receipt() }
                await world.client.close()
                await #expect { _ = try await waiting.value } throws: { ($0 as? NestError)?.code == .closed }
                #expect(write.state == .parked)
                let late = try world.set(ObjectID(1), "late")
                await #expect { _ = try await late.receipt() } throws: { ($0 as? NestError)?.code == .closed }
            }
        }

        @Test func aWriteThatWasNotSentIsWithdrawnByUndo() async throws {
            try await self.withWorld { world in
                try await world.cutOff()
                try await waitUntil("the loss to be noticed") { world.shown.last?.isCurrent == false }
                let (write, _) = try world.insert("d")
                try await world.shows(["a", "b", "c", "d"])
                #expect(try await world.optimistic.undo() == nil)
                try await world.shows(["a", "b", "c"])
                #expect(write.state == .withdrawn)
                await world.letThrough()
                #expect(try await world.client.fetch(.rootChildren, atLeast: .newest).titles == ["a", "b", "c"])
            }
        }

        @Test func redoMakesAWithdrawnWriteAnew() async throws {
            try await self.withWorld { world in
                _ = try await world.insert("d").write.receipt()
                try await world.cutOff()
                try await waitUntil("the loss to be noticed") { world.shown.last?.isCurrent == false }
                let (_, id) = try world.insert("e")
                try await world.shows(["a", "b", "c", "d", "e"])
                #expect(try await world.optimistic.undo() == nil)
                try await world.shows(["a", "b", "c", "d"])
                #expect(try await world.optimistic.redo() == nil)
                try await world.shows(["a", "b", "c", "d", "e"])
                #expect(try await world.optimistic.undo() == nil)
                await world.letThrough()
                // The server undoes what was written before, and does that again first.
                #expect(try await world.optimistic.undo()?.isChanged == true)
                try await world.shows(["a", "b", "c"])
                #expect(try await world.optimistic.redo()?.isChanged == true)
                try await world.shows(["a", "b", "c", "d"])
                #expect(try await world.optimistic.redo() == nil)
                try await world.shows(["a", "b", "c", "d", "e"])
                for write in await world.optimistic.pending { _ = try await write.receipt() }
                let fresh = try await world.client.fetch(.rootChildren, atLeast: .newest)
                #expect(fresh.titles == ["a", "b", "c", "d", "e"])
                #expect(fresh.sections.flatMap(\.rows).map(\.id).contains(id))
                // Something new was written: nothing is left to do again.
                _ = try await world.insert("f").write.receipt()
                await #expect { try await world.optimistic.redo() } throws: {
                    ($0 as? NestError)?.code == .nothingToRedo
                }
            }
        }

        @Test func undoTakesBackAPendingWriteAtOnce() async throws {
            try await self.withWorld { world in
                let (first, _) = try world.insert("d")
                _ = try await first.receipt()
                try await world.shows(["a", "b", "c", "d"])
                try await world.holdBack()
                _ = try world.insert("e")
                try await world.shows(["a", "b", "c", "d", "e"])
                async let undone = world.optimistic.undo()
                try await world.shows(["a", "b", "c", "d"])
                await world.letThrough()
                _ = try await undone
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                #expect(try await world.client.fetch(.rootChildren, atLeast: .newest).titles == ["a", "b", "c", "d"])
                // It was never shown again.
                let shown = world.shown.all.map { $0.titles.contains("e") }
                let last = try #require(shown.lastIndex(of: true))
                #expect(shown[try #require(shown.firstIndex(of: true))...last].allSatisfy { $0 })
                try await world.shows(["a", "b", "c", "d"])
            }
        }

        /// Undos and writes reach the server in the order in which the program made them.
        @Test func undosAndWritesKeepTheirOrder() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                _ = try world.insert("d")
                _ = try world.insert("e")
                try await world.shows(["a", "b", "c", "d", "e"])
                // Both are on their way, so that the server must undo them.
                try await waitUntil("both to be sent") {
                    await world.optimistic.pending.map(\.state) == [.sent, .sent]
                }
                async let second = world.optimistic.undo()
                try await world.shows(["a", "b", "c", "d"])
                async let first = world.optimistic.undo()
                try await world.shows(["a", "b", "c"])
                let later = try world.insert("f").write
                try await world.shows(["a", "b", "c", "f"])
                await world.letThrough()
                #expect(try await second?.isChanged == true)
                #expect(try await first?.isChanged == true)
                _ = try await later.receipt()
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                try await world.shows(["a", "b", "c", "f"])
                #expect(try await world.client.fetch(.rootChildren, atLeast: .newest).titles == ["a", "b", "c", "f"])
                // The undo stack is as the program sees it.
                #expect(try await world.optimistic.undo()?.isChanged == true)
                try await world.shows(["a", "b", "c"])
                #expect(try await world.optimistic.redo()?.isChanged == true)
                try await world.shows(["a", "b", "c", "f"])
            }
        }

        @Test func anUndoThatWaitsIsDoneAfterALostConnection() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                _ = try world.insert("d")
                try await waitUntil("it to be sent") { await world.optimistic.pending.map(\.state) == [.sent] }
                try await world.shows(["a", "b", "c", "d"])
                async let undone = world.optimistic.undo()
                try await world.shows(["a", "b", "c"])
                _ = try world.insert("e")
                try await world.shows(["a", "b", "c", "e"])
                await world.proxy.resetAll()
                await world.letThrough()
                #expect(try await undone?.isChanged == true)
                try await waitUntil("nothing to be pending") { await world.optimistic.pending.isEmpty }
                #expect(try await world.client.fetch(.rootChildren, atLeast: .newest).titles == ["a", "b", "c", "e"])
                try await world.shows(["a", "b", "c", "e"])
            }
        }

        @Test func aClosedClientEndsItsUndos() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                _ = try world.insert("d")
                try await waitUntil("it to be sent") { await world.optimistic.pending.map(\.state) == [.sent] }
                try await world.shows(["a", "b", "c", "d"])
                let waiting = Task { try await world.optimistic.undo() }
                try await world.shows(["a", "b", "c"])
                await world.client.close()
                await #expect(throws: NestError.self) { _ = try await waiting.value }
                await #expect { try await world.optimistic.undo() } throws: { ($0 as? NestError)?.code == .closed }
            }
        }

        @Test func aRefusalNamesTheRefusedWriteThatItComesFrom() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                let id = try world.optimistic.newID()
                // Without a title.
                let parent = Placement(relationship: PropertyNumber(5), owner: .object(ObjectID(1)), place: .last)
                let insert = Mutation.insertAs(id, entity: EntityNumber(1), values: [], placements: [parent])
                let first = try world.optimistic.write(WriteTransaction(mutations: [insert]))
                let second = try world.set(id, "d")
                let third = try world.set(ObjectID(1_000_000), "e")
                await world.letThrough()
                for write in [first, second, third] {
                    await #expect(throws: NestError.self) { _ = try await write.receipt() }
                }
                #expect(first.cause == nil && second.cause === first && third.cause == nil)
                #expect([first, second, third].allSatisfy { $0.state == .refused })
                try await world.shows(["a", "b", "c"])
            }
        }

        @Test func aListShowsOtherRowsWithThePendingWrites() async throws {
            try await self.withWorld { world in
                var request = ObjectFetchRequest.rootChildren
                request.window = .range(offset: 0, limit: 2)
                let states = Shown()
                try await world.optimistic.withResults(request) { results in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { for try await state in results { states.add(state) } }
                        try await waitUntil("the first rows") { states.titles == ["a", "b"] }
                        try await world.holdBack()
                        let (write, _) = try world.insert("d")
                        try await world.shows(["a", "b", "c", "d"])
                        async let isChanged = results.setWindow(.range(offset: 2, limit: 5))
                        await world.letThrough()
                        #expect(try await isChanged)
                        _ = try await write.receipt()
                        try await waitUntil("the last rows, not \(states.titles)") { states.titles == ["c", "d"] }
                        group.cancelAll()
                        while (try? await group.next()) != nil {}
                    }
                }
            }
        }

        @Test func columnsThatOnlyTheOverlayNeedsAreNotShown() async throws {
            try await self.withWorld { world in
                var request = ObjectFetchRequest.rootChildren
                request.projection = [PropertyNumber(1)]
                request.sort = [OrderingTerm(PropertyNumber(2), isAscending: false), OrderingTerm(PropertyNumber(1))]
                let states = Shown()
                try await world.optimistic.withResults(request) { results in
                    for try await state in results {
                        states.add(state)
                        break
                    }
                    let id = try #require(states.last).snapshot.sections[0].rows[2].id
                    try world.optimistic.write(
                        WriteTransaction(
                            mutations: [
                                .update(.object(id), values: [.init(PropertyNumber(2), .value(.string("note")))])
                            ]
                        )
                    )
                    for try await state in results {
                        states.add(state)
                        if state.titles == ["c", "a", "b"] { break }
                    }
                    #expect(states.all.allSatisfy { $0.snapshot.projection == [PropertyNumber(1)] })
                    #expect(states.last?.snapshot.sections[0].rows.allSatisfy { $0.values.count == 1 } == true)
                }
            }
        }

        @Test func withoutIDsInStockAnInsertIsRefused() async throws {
            try await self.withWorld { world in
                try await world.holdBack()
                await #expect {
                    for number in 0..<1_000 { _ = try world.insert("\(number)") }
                } throws: { ($0 as? NestError)?.code == .connectionLost }
                await world.letThrough()
            }
        }
    }
}

extension OptimisticState {
    fileprivate var titles: [String] { self.snapshot.titles }
}

extension SectionedSnapshot {
    fileprivate var titles: [String] {
        self.sections.flatMap { $0.rows.map { if case .string(let text)? = $0.values.first { text } else { "" } } }
    }
}
