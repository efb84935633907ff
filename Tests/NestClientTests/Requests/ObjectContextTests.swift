import NestClient
import NestModel
import NestServerTestSupport
import NestProtocol
import Testing

extension SocketTests {
    struct ObjectContextTests {
        private static let item = EntityNumber(1)
        private static let title = PropertyNumber(1)
        private static let note = PropertyNumber(2)
        private static let done = PropertyNumber(3)
        private static let parent = PropertyNumber(5)
        private static let children = PropertyNumber(6)
        private static let root = ObjectReference.object(ObjectID(1))

        private static func titled(_ title: String) -> [PropertyAssignment] {
            [PropertyAssignment(Self.title, .value(.string(title)))]
        }

        private static func under(_ owner: ObjectReference, _ place: Place = .last) -> [Placement] {
            [Placement(relationship: Self.parent, owner: owner, place: place)]
        }

        private static func withContext(
            _ body: (ObjectContext, NestClient) async throws -> Void
        ) async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    try await body(ObjectContext(client), client)
                }
            }
        }

        private static func ids(_ client: NestClient) async throws -> [ObjectID] {
            try await client.fetch(.rootChildren).sections[0].rows.map(\.id)
        }

        // MARK: Against a server

        @Test func aSaveIsOneTransactionWithReferences() async throws {
            try await Self.withContext { context, client in
                let there = try await client.transaction(.insert("there")).insertedIDs[0]
                let revision = try await client.fetch(.rootChildren).revision
                #expect(!context.hasChanges)
                let list = context.insert(Self.item, Self.titled("list"), at: Self.under(Self.root))
                let second = context.insert(Self.item, Self.titled("second"), at: Self.under(list))
                let first = context.insert(Self.item, Self.titled("first"), at: Self.under(list, .before(second)))
                let found = context.findOrCreate(Self.item, matching: Self.titled("there"))
                let made = context.findOrCreate(Self.item, matching: Self.titled("made"), at: Self.under(found))
                context.set(first, Self.done, to: .value(.boolean(true)))
                context.relate(list, Self.children, to: made, at: .first)
                #expect(context.hasChanges && context.objectID(of: list) == nil && context.isFound(found) == nil)

                let receipt = try #require(try await context.save(name: "make a list"))
                #expect(receipt.revision == revision.next)
                #expect(!context.hasChanges && context.mutations.isEmpty)
                #expect(context.objectID(of: found) == there && context.isFound(found) == true)
                #expect(context.isFound(made) == false)
                let listID = try #require(context.objectID(of: list))
                #expect(try await Self.ids(client) == [there, listID])
                let inside = ObjectFetchRequest(
                    entity: Self.item,
                    source: FetchSource(object: listID, relationship: Self.children),
                    projection: [Self.title, Self.done]
                )
                let rows = try await client.fetch(inside).sections[0].rows
                #expect(rows.map(\.id) == [made, first, second].map { context.objectID(of: $0) })
                #expect(rows.map(\.values[1]) == [.boolean(false), .boolean(true), .boolean(false)])
                #expect(try await client.history(limit: 1).first?.name == "make a list")

                // References stay valid in later saves.
                context.delete(second)
                let third = context.insert(Self.item, Self.titled("third"), at: Self.under(list, .after(first)))
                try await context.save()
                let titles = try await client.fetch(inside).sections[0].rows.map(\.values[0])
                #expect(titles == [.string("made"), .string("first"), .string("third")])
                #expect(context.objectID(of: third) != nil && context.objectID(of: second) != nil)
                #expect(try await context.save() == nil, "there is nothing to save")
                context.set(.object(listID), Self.note, to: .value(.string("by its id")))
                context.discardChanges(of: list)
                #expect(!context.hasChanges)
                // One save is one undo entry.
                _ = try await client.undo()
                #expect(try await client.fetch(inside).sections[0].rows.count == 3)
            }
        }

        @Test func aRefusedSaveCanBeCorrectedAndRetried() async throws {
            try await Self.withContext { context, client in
                let revision = try await client.fetch(.rootChildren).revision
                let untitled = context.insert(Self.item, at: Self.under(Self.root))
                let wrong = [
                    PropertyAssignment(Self.title, .value(.integer(7))),
                    PropertyAssignment(Self.done, .value(.string("yes"))),
                ]
                let mistyped = context.insert(Self.item, wrong, at: Self.under(Self.root))
                let before = context.mutations
                do throws(NestError) {
                    try await context.save()
                    Issue.record("the save succeeded")
                } catch {
                    #expect(error.code == .validationFailed)
                    #expect(
                        Set(error.faults.map(\.reason)) == [.required, .type] && error.faults.count == 3,
                        "\(error)"
                    )
                }
                #expect(context.mutations == before && context.objectID(of: untitled) == nil)
                #expect(try await client.fetch(.rootChildren).revision == revision)

                context.set(untitled, Self.title, to: .value(.string("a")))
                context.set(mistyped, Self.title, to: .value(.string("b")))
                context.set(mistyped, Self.done, to: .value(.boolean(true)))
                let receipt = try #require(try await context.save())
                #expect(receipt.revision == revision.next && !context.hasChanges)
                let rows = try await client.fetch(.rootChildren).sections[0].rows
                #expect(rows.map(\.values) == [[.string("a")], [.string("b")]])
                #expect(rows.map(\.id) == [context.objectID(of: untitled), context.objectID(of: mistyped)])
            }
        }

        @Test func rollbackDiscardsPendingChanges() async throws {
            try await Self.withContext { context, client in
                let gone = context.insert(Self.item, Self.titled("gone"), at: Self.under(Self.root))
                context.require(ObjectID(999), unchangedSince: Revision(0))
                context.rollback()
                #expect(!context.hasChanges)
                // A reference to the discarded object cannot be saved, and never refers to another object of the next
                // save.
                let kept = context.insert(Self.item, Self.titled("kept"), at: Self.under(Self.root))
                let lost = context.insert(Self.item, Self.titled("lost"), at: Self.under(gone))
                do throws(NestError) {
                    try await context.save()
                    Issue.record("the save succeeded")
                } catch {
                    #expect(error.code == .invalid)
                }
                context.discardChanges(of: lost)
                try await context.save()
                #expect(try await Self.ids(client) == [context.objectID(of: kept)])
            }
        }

        @Test func pendingObjectsOfAnotherContextAreRefused() async throws {
            try await Self.withContext { context, client in
                let foreign = ObjectContext(client).insert(Self.item)
                context.insert(Self.item, Self.titled("a"), at: Self.under(Self.root))
                context.set(foreign, Self.title, to: .value(.string("b")))
                do throws(NestError) {
                    try await context.save()
                    Issue.record("the save succeeded")
                } catch {
                    #expect(error.code == .invalid)
                }
            }
        }

        @Test func aConflictKeepsThePendingChanges() async throws {
            try await Self.withContext { context, client in
                let receipt = try await client.transaction(.insert("a"))
                let id = receipt.insertedIDs[0]
                context.set(.object(id), Self.title, to: .value(.string("mine")))
                context.require(id, unchangedSince: receipt.revision)
                let theirs = WriteTransaction(mutations: [.update(.object(id), values: Self.titled("theirs"))])
                let later = try await client.transaction(theirs).revision
                do throws(NestError) {
                    try await context.save()
                    Issue.record("the save succeeded")
                } catch {
                    #expect(error.code == .conflict && context.hasChanges)
                }
                context.require(id, unchangedSince: later)
                try await context.save()
                #expect(try await client.fetch(.rootChildren).sections[0].rows[0].values == [.string("mine")])
                // The precondition applied to that save only.
                context.set(.object(id), Self.title, to: .value(.string("again")))
                try await context.save()
            }
        }

        /// A save with a used key returns the stored reply.
        @Test func aSaveKeepsItsIdempotencyKey() async throws {
            try await Self.withContext { context, client in
                let key = Identifier128(high: 5, low: 6)
                let receipt = try await client.transaction(.insert("a", key: key))
                let object = context.insert(Self.item, Self.titled("a"), at: Self.under(Self.root))
                let again = try #require(try await context.save(key: key))
                #expect(again.isReplayed && context.objectID(of: object) == receipt.insertedIDs[0])
                #expect(try await Self.ids(client) == receipt.insertedIDs)
            }
        }

        // MARK: Recorded mutations

        @Test func updatingAnAttributeTwiceKeepsTheLastValue() {
            let context = ObjectContext(NestClient())
            let object = context.insert(Self.item, Self.titled("a"))
            context.set(object, Self.title, to: .value(.string("b")))
            context.set(.object(ObjectID(7)), Self.title, to: .value(.string("c")))
            context.set(.object(ObjectID(7)), Self.note, to: .value(.string("d")))
            context.set(.object(ObjectID(7)), Self.note, to: .value(.null))
            #expect(
                context.mutations == [
                    .insert(entity: Self.item, values: Self.titled("b"), placements: []),
                    .update(
                        .object(ObjectID(7)),
                        values: Self.titled("c") + [PropertyAssignment(Self.note, .value(.null))]
                    ),
                ]
            )
            // Relationship changes keep their order. Changes after a search are not merged with those before it.
            context.rollback()
            let (a, b) = (ObjectReference.object(ObjectID(8)), ObjectReference.object(ObjectID(9)))
            context.set(a, Self.parent, to: .reference(b))
            context.move(a, to: Self.under(Self.root)[0])
            context.set(a, Self.parent, to: .value(.null))
            context.set(b, Self.title, to: .value(.string("x")))
            context.findOrCreate(Self.item, matching: Self.titled("x"))
            context.set(b, Self.title, to: .value(.string("y")))
            #expect(context.mutations.count == 6)
        }

        /// References of every kind of mutation are numbered within the sent transaction.
        @Test func referencesAreNumberedForTheTransaction() async throws {
            let (a, b) = (ObjectReference.inserted(1), ObjectReference.inserted(2))
            let byReference = [PropertyAssignment(Self.parent, .reference(a))]
            let expected: [Mutation] = [
                .insert(entity: Self.item, values: [], placements: []),
                .findOrCreate(entity: Self.item, match: byReference, values: byReference, placements: Self.under(a)),
                .insert(entity: Self.item, values: byReference, placements: Self.under(a, .before(b))),
                .move(b, Self.under(a, .after(.inserted(3)))[0]),
                .relate(a, Self.children, b, .after(.inserted(3))),
                .unrelate(a, Self.children, b),
                .setRelated(a, Self.children, [b, .object(ObjectID(9))]),
                .update(b, values: [PropertyAssignment(Self.parent, .reference(.inserted(3)))]),
                .delete(a),
            ]
            try await FakeServer.run { server in
                try await server.welcome()
                // The previous save numbers its references separately.
                let before = try await server.expect(TransactionMessage.self)
                let one = Receipt(
                    revision: Revision(1),
                    isChanged: true,
                    results: [.init(first: ObjectID(40), count: 1)]
                )
                try await server.send(ReceiptMessage(one), id: before.id)
                let (id, message) = try await server.expect(TransactionMessage.self)
                #expect(message.transaction.mutations == expected + [.delete(.object(ObjectID(40)))])
                let three = Receipt(
                    revision: Revision(2),
                    isChanged: true,
                    results: [
                        .init(first: ObjectID(50), count: 1), .init(first: ObjectID(2), count: 1, isFound: true),
                        .init(first: ObjectID(51), count: 1),
                    ]
                )
                try await server.send(ReceiptMessage(three), id: id)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let context = ObjectContext(client)
                    let old = context.insert(Self.item)
                    try await context.save()
                    let a = context.insert(Self.item)
                    let byReference = [PropertyAssignment(Self.parent, .reference(a))]
                    let b = context.findOrCreate(Self.item, matching: byReference, byReference, at: Self.under(a))
                    let c = context.insert(Self.item, byReference, at: Self.under(a, .before(b)))
                    context.move(b, to: Self.under(a, .after(c))[0])
                    context.relate(a, Self.children, to: b, at: .after(c))
                    context.unrelate(a, Self.children, from: b)
                    context.setRelated(a, Self.children, to: [b, .object(ObjectID(9))])
                    context.set(b, Self.parent, to: .reference(c))
                    context.delete(a)
                    context.delete(old)
                    try await context.save()
                    #expect([old, a, b, c].map { context.objectID(of: $0)?.rawValue } == [40, 50, 2, 51])
                    #expect([a, b, c].map { context.isFound($0) } == [false, true, false])
                }
            }
        }

        // MARK: Saves in progress

        /// After an unknown outcome the next save repeats the same transaction; later changes follow in another.
        @Test func aSaveWithUnknownOutcomeIsRetriedWithItsKey() async throws {
            try await FakeServer.run { server in
                try await server.welcome()
                let (first, sent) = try await server.expect(TransactionMessage.self)
                #expect(sent.transaction.name == "one" && sent.transaction.mutations.count == 1)
                try await server.send(ErrorMessage(NestError(.timedOut, "it may have been carried out")), id: first)
                // BUSY means that the retry was not executed; the first attempt may have been.
                let (second, again) = try await server.expect(TransactionMessage.self)
                #expect(again == sent)
                try await server.send(ErrorMessage(NestError(.busy, "not now")), id: second)
                let (third, last) = try await server.expect(TransactionMessage.self)
                #expect(last == sent)
                try await server.send(ReceiptMessage(Self.receipt(1, ObjectID(2))), id: third)
                let (fourth, added) = try await server.expect(TransactionMessage.self)
                #expect(added.transaction.key != sent.transaction.key && added.transaction.name == "two")
                let change = PropertyAssignment(Self.title, .value(.string("b")))
                #expect(added.transaction.mutations == [.update(.object(ObjectID(2)), values: [change])])
                try await server.send(ReceiptMessage(Receipt(revision: Revision(2), isChanged: true)), id: fourth)
                await server.untilClosed()
            } client: { port in
                try await NestClient.withClient(Fixtures.configuration(port)) { client in
                    let context = ObjectContext(client)
                    let object = context.insert(Self.item, Self.titled("a"))
                    await Self.expect(.timedOut) { () async throws(NestError) in try await context.save(name: "one") }
                    // The first value may already be stored.
                    context.set(object, Self.title, to: .value(.string("b")))
                    #expect(context.mutations.count == 2)
                    await Self.expect(.busy) { () async throws(NestError) in try await context.save(name: "two") }
                    let receipt = try await context.save(name: "two")
                    #expect(receipt?.revision == Revision(2))
                    #expect(context.objectID(of: object) == ObjectID(2) && !context.hasChanges)
                }
            }
        }

        /// Changes made during a save are not part of it and can be rolled back; the running save cannot.
        @MainActor @Test func aContextMayBeChangedDuringASave() async throws {
            let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
            let (answers, answer) = AsyncStream.makeStream(of: Void.self)
            try await FakeServer.run { server in
                try await server.welcome()
                let id = try await server.expect(TransactionMessage.self).id
                arrived.yield()
                for await _ in answers { break }
                try await server.send(ReceiptMessage(Self.receipt(1, ObjectID(2))), id: id)
                await server.untilClosed()
            } client: { port in
                try await Self.changeWhileSaving(port, arrivals, answer)
            }
        }

        @MainActor private static func changeWhileSaving(
            _ port: Int,
            _ arrivals: AsyncStream<Void>,
            _ answer: AsyncStream<Void>.Continuation
        ) async throws {
            try await NestClient.withClient(Fixtures.configuration(port)) { client in
                let context = ObjectContext(client)
                let object = context.insert(Self.item, Self.titled("a"))
                let saving = Task { try await context.save() }
                for await _ in arrivals { break }
                context.set(object, Self.title, to: .value(.string("b")))
                await Self.expect(.busy) { () async throws(NestError) in try await context.save() }
                context.rollback()
                #expect(context.mutations.count == 1, "the running save keeps its mutation")
                context.set(object, Self.title, to: .value(.string("c")))
                answer.yield()
                _ = try await saving.value
                #expect(context.objectID(of: object) == ObjectID(2))
                #expect(context.mutations == [.update(object, values: Self.titled("c"))])
            }
        }

        private static func receipt(_ revision: UInt64, _ id: ObjectID) -> Receipt {
            Receipt(revision: Revision(revision), isChanged: true, results: [.init(first: id, count: 1)])
        }

        private static func expect(_ code: ErrorCode, _ body: () async throws(NestError) -> Receipt?) async {
            do throws(NestError) {
                _ = try await body()
                Issue.record("the save succeeded")
            } catch {
                #expect(error.code == code)
            }
        }
    }
}
