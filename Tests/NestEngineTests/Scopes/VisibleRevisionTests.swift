import NestEngine
import NestModel
import NestStore
import NestTestSupport
import Testing
import NestProtocol

/// The revision that a confined client sees of an object depends only on changes that the client can see. The keeper of
/// a node is outside the scope.
@Suite struct VisibleRevisionTests {
    private let model: ManagedObjectModel
    private let fixture: EngineFixture
    private let all: ScopedClient
    private let guest: ScopedClient
    private let top: ObjectID
    private let root: ObjectID
    private let child: ObjectID
    private let keepers: [ObjectID]

    init() throws {
        self.model = try ModelDraft.orchard.compile()
        self.fixture = try EngineFixture(model: self.model, isVolatile: true)
        self.all = try ScopedClient(self.fixture, session: 1, .everything)
        func insert(_ client: ScopedClient, _ mutation: Mutation) throws -> ObjectID {
            try #require(try client.write([mutation]).firstInserted)
        }
        let model = self.model
        func person(_ name: String) -> Mutation {
            let value = PropertyAssignment(model.number("Person", "name"), .value(.string(name)))
            return .insert(entity: model.number("Person"), values: [value], placements: [])
        }
        self.keepers = [try insert(self.all, person("a")), try insert(self.all, person("b"))]
        self.top = try insert(self.all, Self.node(model, "top", under: nil))
        self.root = try insert(self.all, Self.node(model, "root", under: self.top))
        self.child = try insert(self.all, Self.node(model, "child", under: self.root))
        let grant = AccessConfinement(
            root: self.root,
            entity: model.number("Node"),
            relationship: model.number("Node", "children")
        )
        self.guest = try ScopedClient(self.fixture, session: 2, .subtree(grant))
    }

    private static func node(_ model: ManagedObjectModel, _ title: String, under owner: ObjectID?) -> Mutation {
        var values = [PropertyAssignment(model.number("Node", "title"), .value(.string(title)))]
        if let owner {
            values.append(PropertyAssignment(model.number("Node", "parent"), .reference(.object(owner))))
        }
        return .insert(entity: model.number("Node"), values: values, placements: [])
    }

    private func keep(_ id: ObjectID, _ keeper: ObjectID) -> Mutation {
        let value = PropertyAssignment(self.model.number("Node", "keeper"), .reference(.object(keeper)))
        return .update(.object(id), values: [value])
    }

    private func note(_ id: ObjectID, _ text: String) -> Mutation {
        .update(
            .object(id),
            values: [PropertyAssignment(self.model.number("Node", "note"), .value(.string(text)))]
        )
    }

    private func move(_ id: ObjectID, under owner: ObjectID, _ place: Place = .last) -> Mutation {
        .move(
            .object(id),
            Placement(relationship: self.model.number("Node", "parent"), owner: .object(owner), place: place)
        )
    }

    private func revision(_ id: ObjectID) throws -> Revision {
        guard case .object(let body) = try self.guest.ask(.object(id)) else {
            throw NestError(.internalError, "no object")
        }
        return try body.decoded().revision
    }

    private func transaction(_ id: ObjectID, since revision: Revision) -> EngineRequest {
        .transaction(
            WriteTransaction(
                preconditions: [Precondition(object: id, revision: revision)],
                mutations: [self.note(self.child, "by \(self.fixture.engine.head)")]
            )
        )
    }

    @Test func changesOfAHiddenRelationshipDoNotChangeTheRevision() throws {
        let (before, rootBefore) = (try self.revision(self.child), try self.revision(self.root))
        for keeper in self.keepers {
            try self.all.write([self.keep(self.child, keeper), self.keep(self.root, keeper)])
        }
        #expect(try self.revision(self.child) == before && before == Revision(5))
        #expect(try self.revision(self.root) == rootBefore && rootBefore == Revision(4))
        #expect(try self.guest.ask(self.transaction(self.child, since: before)).receipt?.isChanged == true)
        #expect(try self.revision(self.child) == self.fixture.engine.head)
        let refusal = try #require(try self.guest.ask(self.transaction(self.child, since: before)).error)
        #expect(refusal.code == .conflict)
    }

    /// The position of the scope's root is outside the scope; the positions of objects below it are inside.
    @Test func theRootsPositionIsHidden() throws {
        let before = try self.revision(self.root)
        let other = try #require(try self.all.write([Self.node(self.model, "other", under: nil)]).firstInserted)
        try self.all.write([self.move(self.root, under: other)])
        #expect(try self.revision(self.root) == before)
        let second = try #require(try self.all.write([Self.node(self.model, "second", under: self.root)]).firstInserted)
        try self.all.write([self.keep(second, self.keepers[0])])
        try self.all.write([self.move(second, under: self.root, .first)])
        let moved = self.fixture.engine.head
        try self.all.write([self.keep(second, self.keepers[1])])
        #expect(try self.revision(second) == moved)
    }

    /// Both requests are in one batch: the journal does not contain the hidden change yet when the precondition is
    /// checked.
    @Test func preconditionsIgnoreHiddenChangesOfTheSameBatch() throws {
        let before = try self.revision(self.child)
        let keep = EngineRequest.transaction(WriteTransaction(mutations: [self.keep(self.child, self.keepers[0])]))
        let inputs = [self.all.input(keep), self.guest.input(self.transaction(self.child, since: before))]
        #expect(self.guest.take(try self.fixture.perform(inputs)).first?.receipt?.isChanged == true)
        let visible = EngineRequest.transaction(WriteTransaction(mutations: [self.note(self.child, "seen")]))
        let base = try self.revision(self.child)
        let more = [self.all.input(visible), self.guest.input(self.transaction(self.child, since: base))]
        #expect(self.guest.take(try self.fixture.perform(more)).first?.error?.code == .conflict)
    }

    /// A refusal names the visible revision, not that of a hidden change.
    @Test func aConflictNamesTheVisibleRevision() throws {
        try self.all.write([self.note(self.child, "seen")])
        let seen = self.fixture.engine.head
        for keeper in self.keepers { try self.all.write([self.keep(self.child, keeper)]) }
        let refusal = try #require(try self.guest.ask(self.transaction(self.child, since: Revision(5))).error)
        #expect(refusal.message.contains("at revision \(seen),"), "\(refusal.message)")
    }

    /// The journal stores large change sets in blocks.
    @Test func hiddenChangesOfManyObjectsDoNotChangeTheRevision() throws {
        let ids = try self.all.write((0..<5_000).map { Self.node(self.model, "\($0)", under: self.root) }).insertedIDs
        let inserted = self.fixture.engine.head
        try self.all.write(ids.map { self.keep($0, self.keepers[0]) })
        for id in [ids[0], ids[2_500], ids[4_999]] { #expect(try self.revision(id) == inserted) }
    }

    /// The search for the last visible change is limited. Beyond the limit the answer has the current revision, and
    /// later preconditions with that revision compare the row.
    @Test func theSearchForTheVisibleRevisionIsLimited() throws {
        let before = try self.revision(self.root)
        for count in 0...Limits.changesSearchedMax {
            try self.all.write([self.keep(self.child, self.keepers[count % 2])])
        }
        let reported = try self.revision(self.child)
        #expect(reported == self.fixture.engine.head)
        #expect(try self.revision(self.root) == before)
        try self.all.write([self.note(self.top, "elsewhere")])
        #expect(try self.guest.ask(self.transaction(self.child, since: reported)).receipt?.isChanged == true)
    }

    /// The searches of one batch are limited together. The remaining revisions are found by later requests.
    @Test func theSearchesOfABatchAreLimited() throws {
        let ids = try self.all.write((0..<300).map { Self.node(self.model, "\($0)", under: self.root) }).insertedIDs
        let inserted = self.fixture.engine.head
        try self.all.write(ids.map { self.keep($0, self.keepers[0]) })
        let head = self.fixture.engine.head
        var found: [Int] = []
        for _ in 0..<3 {
            let replies = self.guest.take(try self.fixture.perform(ids.map { self.guest.input(.object($0)) }))
            let revisions = try replies.compactMap {
                if case .object(let body) = $0 { try body.decoded().revision } else { nil }
            }
            #expect(revisions.allSatisfy { $0 == inserted || $0 == head } && revisions.count == ids.count)
            found.append(revisions.count { $0 == inserted })
        }
        #expect(found[0] > 0 && found[0] < found[1] && found[2] == ids.count, "\(found)")
    }

    /// A later search begins at the result of an earlier one.
    @Test func foundRevisionsAreNotSearchedAgain() throws {
        let before = try self.revision(self.child)
        for count in 0..<(3 * Limits.changesSearchedMax) {
            try self.all.write([self.keep(self.child, self.keepers[count % 2])])
            if count % 32 == 0 { #expect(try self.revision(self.child) == before) }
        }
    }

    /// Revisions older than the journal are reported as the beginning of the journal, with or without hidden changes.
    @Test func revisionsBeforeTheJournalAreItsBeginning() throws {
        let second = try #require(try self.all.write([Self.node(self.model, "second", under: self.root)]).firstInserted)
        for keeper in self.keepers { try self.all.write([self.keep(self.child, keeper)]) }
        let store = self.fixture.store
        let base = try #require(try store.access { try store.trimJournal(now: 0, revisionsMax: 1) })
        for id in [self.child, second, self.root] { #expect(try self.revision(id) == base) }
        #expect(try self.guest.ask(self.transaction(second, since: base)).receipt?.isChanged == true)
    }

    /// Makes random changes. The test records for each object the revision of the last visible change.
    @Test(arguments: 1...6) func randomVisibleChangesChangeTheRevision(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var shown: [ObjectID: Revision] = [self.root: Revision(4), self.child: Revision(5)]
        for step in 0..<300 {
            let ids = shown.keys.sorted()
            let id = ids.randomElement(using: &random)!
            var changed: [ObjectID] = []
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                try self.all.write([self.keep(id, self.keepers[step % 2])])
            case 5:
                try self.all.write([self.note(id, "\(step)")])
                changed = [id]
            case 6:
                let receipt = try self.all.write([Self.node(self.model, "\(step)", under: id)])
                changed = receipt.insertedIDs
            case 7 where id != self.root:
                try self.all.write([self.move(id, under: self.root, .first)])
                // A move of the first object to the first position changes nothing.
                if try self.revision(id) == self.fixture.engine.head { changed = [id] }
            case 8:
                let other = ids.randomElement(using: &random)!
                try self.all.write([self.keep(id, self.keepers[step % 2]), self.note(other, "\(step)")])
                changed = [other]
            default:
                #expect(try self.revision(id) == shown[id], "seed \(seed) step \(step)")
            }
            for id in changed { shown[id] = self.fixture.engine.head }
        }
        for (id, revision) in shown { #expect(try self.revision(id) == revision, "seed \(seed) object \(id)") }
    }
}
