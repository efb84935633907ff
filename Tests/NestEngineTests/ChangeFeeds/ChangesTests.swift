import NestEngine
import NestModel
import NestStore
import Testing
import NestProtocol

@Suite struct ChangesTests {
    private func following(
        _ fixture: EngineFixture,
        session: UInt64 = 100,
        since: Revision? = nil,
        entities: [EntityNumber] = []
    ) throws -> ChangeFollower {
        let point = since.map { ResumePoint(historyID: fixture.store.historyID, revision: $0) }
        let follower = ChangeFollower(session: session, entities: entities, since: point)
        try self.perform(fixture, follower.connect(as: fixture.newConnection()), [follower])
        return follower
    }

    @discardableResult
    private func perform(
        _ fixture: EngineFixture,
        _ inputs: [EngineInput],
        _ followers: [ChangeFollower]
    ) throws -> [EngineEffect] {
        let effects = try fixture.perform(inputs)
        for follower in followers {
            for effect in effects { try follower.take(effect, "changes") }
        }
        return effects
    }

    private func write(
        _ fixture: EngineFixture,
        _ writer: SimulatedClient,
        _ mutations: [Mutation],
        _ followers: [ChangeFollower]
    ) throws {
        try self.perform(
            fixture,
            [writer.request(.transaction(WriteTransaction(mutations: mutations))).input],
            followers
        )
    }

    private func drain(_ fixture: EngineFixture, _ follower: ChangeFollower) throws -> Int {
        var pages = 0
        while !follower.isUpToDate {
            try self.perform(fixture, [follower.drain()], [follower])
            pages += 1
        }
        return pages
    }

    private static func updated(_ id: Int64, _ properties: UInt16...) -> ChangedObject {
        ChangedObject(
            kind: .updated,
            entity: EngineFixture.item,
            id: ObjectID(id),
            properties: properties.map { PropertyNumber($0) }
        )
    }

    @Test func changesArePushedOnceAndBeforeTheReceipt() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        try fixture.write(writer, [EngineFixture.insert("before")])
        let follower = try self.following(fixture)
        try self.write(fixture, writer, [EngineFixture.insert("a"), EngineFixture.edit(ObjectID(2), "b")], [follower])
        try self.write(fixture, writer, [EngineFixture.move(ObjectID(3), .first)], [follower])
        let (id, input) = writer.request(.undo(key: nil))
        let effects = try self.perform(fixture, [input], [follower])
        let receipt = try #require(effects.firstIndex { if case .reply(_, id, _) = $0 { true } else { false } })
        let push = try #require(effects.firstIndex { if case .push = $0 { true } else { false } })
        #expect(push < receipt)
        let inserted = ChangedObject(kind: .inserted, entity: EngineFixture.item, id: ObjectID(3))
        #expect(follower.objects[Revision(1)] == nil)
        #expect(follower.objects[Revision(2)] == [ObjectID(2): Self.updated(2, 1), ObjectID(3): inserted])
        // Only its position among its siblings has changed.
        #expect(follower.objects[Revision(3)] == [ObjectID(3): Self.updated(3, 5)])
        #expect(follower.objects[Revision(4)] == [ObjectID(3): Self.updated(3, 5)])
        #expect(follower.position?.revision == Revision(4))
    }

    /// The engine reads the journal page by page, and the next page only after the connection has drained. A long
    /// journal or a blocked client thus costs no more than a page.
    @Test func theJournalIsSentPageByPage() throws {
        let fixture = try EngineFixture(changePageBytes: 400)
        let writer = try fixture.connect(session: 1)
        for number in 0..<60 { try fixture.write(writer, [EngineFixture.insert("item \(number)")]) }
        let follower = try self.following(fixture, since: Revision(0))
        let first = follower.objects.count
        #expect(first > 0 && first < 10 && follower.awaitsDrain)
        for number in 0..<20 { try self.write(fixture, writer, [EngineFixture.insert("late \(number)")], [follower]) }
        #expect(follower.objects.count == first)
        #expect(try self.drain(fixture, follower) > 8)
        #expect(follower.objects.keys.sorted() == (1...80).map { Revision($0) })
        #expect(follower.position?.revision == fixture.store.head)
    }

    @Test func aBlockedConnectionReceivesNoChangesUntilItDrains() throws {
        let fixture = try EngineFixture(changePageBytes: 400)
        let writer = try fixture.connect(session: 1)
        let follower = try self.following(fixture)
        try self.perform(fixture, [follower.block()], [follower])
        for number in 0..<30 { try self.write(fixture, writer, [EngineFixture.insert("item \(number)")], [follower]) }
        #expect(follower.objects.isEmpty)
        // The connection blocks again before it has received everything.
        try self.perform(fixture, [follower.drain()], [follower])
        #expect(follower.awaitsDrain)
        try self.perform(fixture, [follower.block()], [follower])
        try self.write(fixture, writer, [EngineFixture.insert("last")], [follower])
        _ = try self.drain(fixture, follower)
        #expect(follower.objects.count == 31 && follower.position?.revision == Revision(31))
    }

    /// A batch reads at most `changePagesPerBatchMax` pages; the remaining followers wait for a later batch. Followers
    /// at the same cursor share a page.
    @Test func pagesReadPerBatchAreLimited() throws {
        let fixture = try EngineFixture(changePageBytes: 400)
        let writer = try fixture.connect(session: 1)
        for number in 0..<40 { try fixture.write(writer, [EngineFixture.insert("item \(number)")]) }
        let point = { (number: Int) in
            ResumePoint(historyID: fixture.store.historyID, revision: Revision(UInt64(number)))
        }
        let followers = (0..<12).map { ChangeFollower(session: UInt64(200 + $0), since: point($0 / 2)) }
        try self.perform(fixture, followers.flatMap { $0.connect(as: fixture.newConnection()) }, followers)
        #expect(try self.pagesRead(fixture, writer) == Limits.changePagesPerBatchMax)
        #expect(followers.allSatisfy { $0.awaitsDrain })
        #expect(followers.count { $0.objects.isEmpty } == 4)
        while case let late = followers.filter({ !$0.isUpToDate }), !late.isEmpty {
            let before = try self.pagesRead(fixture, writer)
            try self.perform(fixture, late.map { $0.drain() }, followers)
            #expect(try self.pagesRead(fixture, writer) - before <= Limits.changePagesPerBatchMax)
        }
        for (index, follower) in followers.enumerated() { #expect(follower.objects.count == 40 - index / 2) }
    }

    private func pagesRead(_ fixture: EngineFixture, _ client: SimulatedClient) throws -> Int {
        guard case .statistics(let values) = try fixture.ask(client, .statistics) else { return -1 }
        return Int(values.first { $0.name == "change_pages_read" }?.value ?? 0)
    }

    /// Leaves the last two revisions in the journal.
    private func trimToTwo(_ fixture: EngineFixture) throws {
        let store = fixture.store
        _ = try store.access { try store.trimJournal(now: fixture.now, revisionsMax: 2) }
    }

    @Test func subscriptionsToUnavailableChangesAreRefused() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        for number in 0..<5 { try fixture.write(writer, [EngineFixture.insert("item \(number)")]) }
        try self.trimToTwo(fixture)
        #expect(fixture.store.oldestBase == Revision(3))
        let other = Identifier128(high: 8, low: 8)
        let cases: [(ResumePoint, [EntityNumber], Int, ErrorCode)] = [
            (ResumePoint(historyID: fixture.store.historyID, revision: Revision(2)), [], 0, .revisionDropped),
            (ResumePoint(historyID: other, revision: Revision(4)), [], 0, .conflict),
            (ResumePoint(historyID: fixture.store.historyID, revision: Revision(6)), [], 0, .revisionNotReached),
            (ResumePoint(historyID: fixture.store.historyID, revision: Revision(5)), [], 1, .revisionNotReached),
            (
                ResumePoint(historyID: fixture.store.historyID, revision: Revision(5)), [EntityNumber(9)], 0,
                .unknownEntity
            ),
        ]
        for (since, entities, place, code) in cases {
            let request = EngineRequest.subscribeChanges(since: since, place: place, entities: entities)
            let error = try #require(try fixture.ask(writer, request).error)
            #expect(error.code == code, "\(error)")
            if code == .revisionDropped { #expect(error.message.hasSuffix("oldest revision to resume from is 3")) }
        }
        // The oldest revision from which a client can resume.
        #expect(try self.following(fixture, since: Revision(3)).objects.count == 2)
    }

    /// The journal drops revisions that a client has not received. Its subscription ends with an error, and it receives
    /// no part of them.
    @Test func aFollowerBehindTheJournalIsEndedWithAnError() throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        let follower = try self.following(fixture)
        try self.perform(fixture, [follower.block()], [follower])
        for number in 0..<5 { try self.write(fixture, writer, [EngineFixture.insert("item \(number)")], [follower]) }
        try self.trimToTwo(fixture)
        try self.perform(fixture, [follower.drain()], [follower])
        #expect(follower.ended == .revisionDropped && follower.objects.isEmpty)
        // The subscription no longer exists.
        try self.write(fixture, writer, [EngineFixture.insert("after")], [follower])
        #expect(follower.objects.isEmpty)
    }

    @Test func subscriptionsPerConnectionAreLimited() throws {
        let fixture = try EngineFixture()
        let client = try fixture.connect(session: 1)
        let request = EngineRequest.subscribeChanges(since: nil, place: 0, entities: [])
        var views: [UInt32] = []
        for _ in 0..<Limits.subscriptionsPerConnectionMax {
            let (id, input) = client.request(request)
            let effects = fixture.engine.perform([input], now: fixture.now)
            for case .reply(_, id, .subscribed(let view, _, _, _)) in effects { views.append(view) }
        }
        #expect(Set(views).count == Limits.subscriptionsPerConnectionMax)
        #expect(try fixture.ask(client, request).error?.code == .limitExceeded)
        for view in views {
            guard case .done = try fixture.ask(client, .unsubscribe(view: view)) else {
                Issue.record("not done")
                return
            }
        }
        #expect(try fixture.ask(client, .unsubscribe(view: views[0])).error?.code == .notFound)
        try fixture.write(client, [EngineFixture.insert("a")])
    }

    /// A transaction larger than a page is sent in parts that each fit in a frame. A client that disconnects between
    /// two parts resumes there.
    @Test(arguments: [true, false]) func aLargeTransactionIsSentInParts(isLeaving: Bool) throws {
        let fixture = try EngineFixture()
        let writer = try fixture.connect(session: 1)
        let follower = try self.following(fixture)
        let titles = (0..<9_000).map { String(repeating: "x", count: 100) + "\($0)" }
        let root = try fixture.write(writer, [EngineFixture.insert("top")]).insertedIDs[0]
        try self.perform(fixture, [.tick], [follower])
        try self.perform(fixture, [try fixture.imported(titles, under: root, by: writer)], [follower])
        #expect(follower.awaitsDrain && follower.parts < 10)
        while !follower.isUpToDate {
            try self.perform(fixture, [follower.drain()], [follower])
            guard isLeaving, !follower.isUpToDate else { continue }
            try self.perform(
                fixture,
                [.disconnected(follower.connection)] + follower.connect(as: fixture.newConnection()),
                [follower]
            )
        }
        #expect(follower.parts > 3 && (follower.resumedInside > 0) == isLeaving)
        let inserted = try #require(follower.objects[fixture.store.head])
        #expect(inserted.count == 9_000 && inserted.values.allSatisfy { $0.kind == .inserted })
    }

    /// A pair of a many-to-many relationship is not an object. If it changes, both objects that it joins have changed.
    @Test func changedPairsAreReportedAsChangesOfBothObjects() throws {
        let model = try ModelDraft.club.compile()
        let fixture = try EngineFixture(model: model)
        let writer = try fixture.connect(session: 1)
        func insert(_ entity: String) -> Mutation {
            .insert(entity: model.number(entity), values: [], placements: [])
        }
        let ids = try fixture.write(writer, [insert("Person"), insert("Person"), insert("Group")]).insertedIDs
        let follower = try self.following(fixture)
        let persons = try self.following(fixture, session: 101, entities: [model.number("Party")])
        let (members, friends) = (model.number("Group", "members"), model.number("Person", "friends"))
        try self.write(
            fixture,
            writer,
            [
                .setRelated(.object(ids[2]), members, [.object(ids[0]), .object(ids[1])]),
                .relate(.object(ids[0]), friends, .object(ids[1]), .last),
            ],
            [follower, persons]
        )
        // Only the order of the group's members changes.
        try self.write(
            fixture,
            writer,
            [.relate(.object(ids[2]), members, .object(ids[1]), .first)],
            [follower, persons]
        )
        func updated(_ id: ObjectID, _ entity: String, _ properties: String...) -> ChangedObject {
            ChangedObject(
                kind: .updated,
                entity: model.number(entity),
                id: id,
                properties: properties.map { model.number(entity, $0) }.sorted()
            )
        }
        let both = [
            ids[0]: updated(ids[0], "Person", "groups", "friends"),
            ids[1]: updated(ids[1], "Person", "groups", "friends"),
        ]
        #expect(persons.objects == [Revision(2): both])
        #expect(follower.objects[Revision(2)] == both.merging([ids[2]: updated(ids[2], "Group", "members")]) { $1 })
        #expect(follower.objects[Revision(3)] == [ids[2]: updated(ids[2], "Group", "members")])
    }
}
