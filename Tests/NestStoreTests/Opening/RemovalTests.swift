import NestModel
import NestProtocol
import NestTestSupport
import Testing
import NestSchema

@testable import NestStore

/// Opens a store with a model that has no place for something in it.
@Suite struct RemovalTests {
    private let directory = TemporaryDirectory()
    private var path: String { self.directory.path + "/nest.sqlite" }

    // MARK: Models

    /// People with pets, some of which are dogs, and tags of all of them.
    private static func full() -> ModelDraft {
        var tag = EntityDraft(
            "Tag",
            [AttributeDraft("name")],
            [RelationshipDraft("all", .many, "Thing", inverse: "tags")]
        )
        tag.uniquenessConstraints = [["name"]]
        return ModelDraft(entities: [
            EntityDraft(
                "Thing",
                isAbstract: true,
                [AttributeDraft("name"), AttributeDraft("note")],
                [RelationshipDraft("tags", .ordered, "Tag", inverse: "all")]
            ),
            EntityDraft(
                "Person",
                of: "Thing",
                [AttributeDraft("age", .integer)],
                [
                    RelationshipDraft("pets", .ordered, "Pet", inverse: "owner"),
                    RelationshipDraft("favourite", .one, "Pet", inverse: ""),
                ]
            ),
            EntityDraft(
                "Pet",
                of: "Thing",
                [AttributeDraft("kind")],
                [RelationshipDraft("owner", .one, "Person", inverse: "pets")]
            ),
            EntityDraft("Dog", of: "Pet", [AttributeDraft("tricks", .integer)]),
            tag,
        ])
    }

    private static func entity(_ name: String, _ draft: ModelDraft) -> Int {
        draft.entities.firstIndex { $0.name == name }!
    }

    private func open(
        _ draft: ModelDraft,
        _ removals: MigrationRemovals = .unused,
        history: UInt64 = 8,
        streamedFrom: Int = 4_096
    ) throws -> Store {
        try self.open(draft.compile(), removals, history: history, streamedFrom: streamedFrom)
    }

    private func open(
        _ model: ManagedObjectModel,
        _ removals: MigrationRemovals = .unused,
        history: UInt64 = 8,
        streamedFrom: Int = 4_096
    ) throws -> Store {
        var configuration = Store.Configuration(location: .file(self.path), model: model)
        configuration.removals = removals
        configuration.streamedFrom = streamedFrom
        return try Store(configuration, newHistoryID: Identifier128(high: 7, low: history))
    }

    // MARK: Work

    private func write(_ store: Store, _ mutations: [Mutation], time: Int64 = 1) throws -> [ObjectID] {
        var runs: [Receipt.Run] = []
        try self.run(store, time) { runs = try $0.perform(WriteTransaction(mutations: mutations)) }
        return runs.flatMap(\.ids)
    }

    private func run(_ store: Store, _ time: Int64, _ body: (ObjectGraph) throws -> Void) throws {
        try store.access {
            let group = try store.beginGroup(time: time, alwaysSavepoint: true)
            do {
                _ = try group.request(inSavepoint: true) { graph in
                    try body(graph)
                    try graph.validate()
                    return WriteDescription(name: "test", key: nil, requestHash: 0, sessionNumber: 1)
                }
                try group.commit()
            } catch {
                try group.rollback()
                throw error
            }
        }
    }

    private func undo(_ store: Store, _ revision: UInt64) throws {
        let entry = try #require(try store.access { try store.pastTransaction(Revision(revision)) })
        try self.run(store, 9) { try $0.revert(entry, UndoOptions(), store.layout) }
    }

    private func number(_ store: Store, _ entity: String, _ property: String) throws -> PropertyNumber {
        try #require(store.layout.model.entity(named: entity)?.propertyNumber(named: property))
    }

    private func insert(_ store: Store, _ entity: String, _ values: KeyValuePairs<String, MutationValue>) throws
        -> Mutation
    {
        let number = try #require(store.layout.model.entity(named: entity)?.number)
        let assignments = try values.map { PropertyAssignment(try self.number(store, entity, $0.key), $0.value) }
        return .insert(entity: number, values: assignments, placements: [])
    }

    private func value(_ store: Store, _ id: ObjectID, _ entity: String, _ property: String) throws -> AttributeValue {
        let graph = try StoredState(store).graph
        return graph.value(id, try self.number(store, entity, property))
    }

    private func related(_ store: Store, _ id: ObjectID, _ entity: String, _ property: String) throws -> [ObjectID] {
        try StoredState(store).graph.related(id, try self.number(store, entity, property))
    }

    /// Person 1 with the pets 3 (a dog, also the favourite) and 2; tag 4 of 1 and 3. Revisions: 1 inserts, 2 relates,
    /// 3 updates, 4 moves dog 3 to the front.
    private func populate(streamedFrom: Int = 4_096) throws {
        let store = try self.open(Self.full(), streamedFrom: streamedFrom)
        _ = try self.write(
            store,
            [
                try self.insert(store, "Person", ["name": "Ann", "age": 41]),
                try self.insert(store, "Pet", ["name": "Tom", "kind": "cat", "owner": .reference(.inserted(1))]),
                try self.insert(store, "Dog", ["name": "Rex", "tricks": 3, "owner": .reference(.inserted(1))]),
                try self.insert(store, "Tag", ["name": "home"]),
            ]
        )
        let tags = try self.number(store, "Person", "tags")
        let favourite = try self.number(store, "Person", "favourite")
        _ = try self.write(
            store,
            [
                .relate(.object(ObjectID(1)), tags, .object(ObjectID(4)), .last),
                .relate(.object(ObjectID(3)), tags, .object(ObjectID(4)), .last),
                .update(.object(ObjectID(1)), values: [PropertyAssignment(favourite, .id(ObjectID(3)))]),
            ]
        )
        let (name, age) = (try self.number(store, "Person", "name"), try self.number(store, "Person", "age"))
        _ = try self.write(
            store,
            [.update(.object(ObjectID(1)), values: [PropertyAssignment(name, "Anna"), PropertyAssignment(age, 42)])]
        )
        let pets = try self.number(store, "Person", "pets")
        _ = try self.write(store, [.relate(.object(ObjectID(1)), pets, .object(ObjectID(3)), .first)])
        try store.close()
    }

    private func losses(_ draft: ModelDraft) throws -> [String] {
        let report = try #require(try Store.migrationReport(self.path, to: draft.compile()))
        #expect(report.obstacles.isEmpty)
        do {
            try self.open(draft).close()
            Issue.record("nothing was refused")
        } catch StoreError.modelDiffers(_, let differences, let losses) {
            #expect(differences.isEmpty && losses == report.losses.map(\.text))
        }
        return report.losses.map(\.text)
    }

    /// Migrates with the loss; the store must be sound afterwards.
    private func remove(_ draft: ModelDraft) throws -> Store {
        let store = try self.open(draft, .all, history: 9)
        let report = try #require(store.migration)
        #expect(store.historyID == Identifier128(high: 7, low: report.losses.isEmpty ? 8 : 9))
        #expect(report.copyPath != nil)
        let broken = try StoredInvariants(store.layout).broken(in: store, head: store.head)
        #expect(broken.isEmpty, "\(broken)")
        #expect(try StoredState(store).graph.inverseFaults.isEmpty)
        try store.close()
        let check = try Store.check(self.path) { _ in }
        #expect(check.problems.isEmpty, "\(check.problems)")
        let again = try self.open(draft)
        #expect(again.migration == nil)
        return again
    }

    // MARK: Tests

    @Test func partsWithoutContentAreRemoved() throws {
        try self.open(Self.full()).close()
        var draft = Self.full()
        draft.entities.removeLast()
        draft.entities[0].relationships = []
        draft.entities[0].attributes.removeLast()
        let report = try #require(try Store.migrationReport(self.path, to: draft.compile()))
        #expect(
            report.removals.map(\.text) == [
                "Thing.note is gone, with 0 values", "Thing.tags is gone, with 0 links",
                "the entity Tag is gone, with 0 objects",
            ]
        )
        #expect(report.losses.isEmpty && report.copyPath == nil)
        #expect(throws: StoreError.self) { try self.open(draft, .none).close() }
        let store = try self.remove(draft)
        #expect(store.historyID == Identifier128(high: 7, low: 8), "nothing is lost: clients can resume")
        try store.close()
    }

    @Test func lostAttributesAreCountedAndTakenOutOfTheHistory() throws {
        try self.populate()
        var draft = Self.full()
        draft.entities[Self.entity("Person", draft)].attributes = []
        let full = try Self.full().compile()
        let properties = full.entities.flatMap { $0.attributes.map(\.number) + $0.relationships.map(\.number) }
        #expect(try self.losses(draft) == ["Person.age is gone, with 1 value"])
        let store = try self.remove(draft)
        #expect(try self.value(store, ObjectID(1), "Person", "name") == .string("Anna"))
        // Undo of the transaction that changed name and age restores the name.
        try self.undo(store, 3)
        #expect(try self.value(store, ObjectID(1), "Person", "name") == .string("Ann"))
        try store.close()
        // An attribute of the same name gets another number and no values.
        let again = try self.open(Self.full())
        #expect(try self.number(again, "Person", "age") > properties.max()!)
        #expect(try self.value(again, ObjectID(1), "Person", "age") == .null)
        try self.undo(again, 4)
        try again.close()
    }

    @Test func aLostEntityBelowAnotherTakesReferencesWithIt() throws {
        try self.populate()
        var draft = Self.full()
        draft.entities.remove(at: Self.entity("Dog", draft))
        #expect(try self.losses(draft) == ["the entity Dog is gone, with 1 object"])
        let store = try self.remove(draft)
        #expect(try self.related(store, ObjectID(1), "Person", "pets") == [ObjectID(2)])
        #expect(try self.related(store, ObjectID(1), "Person", "favourite").isEmpty)
        #expect(try self.related(store, ObjectID(4), "Tag", "all") == [ObjectID(1)])
        // The insertion is undone without the dog, after what was done to its objects.
        for revision in [4, 3, 2, 1] as [UInt64] { try self.undo(store, revision) }
        #expect(try StoredState(store).graph.objects.isEmpty)
        try store.close()
    }

    @Test func aRequiredReferenceToALostObjectIsAnObstacle() throws {
        var draft = Self.full()
        let person = Self.entity("Person", draft)
        draft.entities[person].relationships[1].isOptional = false
        var store = try self.open(draft)
        _ = try self.write(
            store,
            [
                try self.insert(store, "Dog", ["name": "Rex"]),
                try self.insert(store, "Person", ["name": "Ann", "favourite": .reference(.inserted(1))]),
            ]
        )
        try store.close()
        draft.entities.remove(at: Self.entity("Dog", draft))
        var report = try #require(try Store.migrationReport(self.path, to: draft.compile()))
        #expect(
            report.obstacles == ["Person.favourite is required and has no default, but 1 objects would have no value"]
        )
        #expect(throws: StoreError.self) { try self.open(draft, .all).close() }
        // The same for the least number of a to-many relationship.
        draft = Self.full()
        draft.entities[person].relationships.append(
            RelationshipDraft("team", .many, "Pet", inverse: "") { $0.minimumCount = 2 }
        )
        store = try self.open(draft)
        let team = try self.number(store, "Person", "team")
        _ = try self.write(
            store,
            [
                try self.insert(store, "Pet", ["name": "Tom"]),
                .setRelated(.object(ObjectID(2)), team, [.object(ObjectID(1)), .inserted(1)]),
            ]
        )
        try store.close()
        draft.entities.remove(at: Self.entity("Dog", draft))
        report = try #require(try Store.migrationReport(self.path, to: draft.compile()))
        #expect(report.obstacles == ["Person.team must have at least 2 objects, but 1 objects would have fewer"])
        #expect(throws: StoreError.self) { try self.open(draft, .all).close() }
    }

    @Test func lostRelationshipsAreCountedOnce() throws {
        try self.populate()
        var draft = Self.full()
        draft.entities[Self.entity("Person", draft)].relationships = []
        draft.entities[Self.entity("Pet", draft)].relationships = []
        draft.entities[0].relationships = []
        draft.entities[Self.entity("Tag", draft)].relationships = []
        #expect(
            try self.losses(draft) == [
                "Thing.tags is gone, with 2 links", "Person.pets is gone, with 2 links",
                "Person.favourite is gone, with 1 link",
            ]
        )
        let store = try self.remove(draft)
        for revision in [4, 2] as [UInt64] {
            let entry = try #require(try store.access { try store.pastTransaction(Revision(revision)) })
            #expect(try store.access { try entry.inlineCount() } == 0)
        }
        try self.undo(store, 3)
        try self.undo(store, 1)
        #expect(try StoredState(store).graph.objects.isEmpty)
        try store.close()
    }

    @Test func aLostOrderLeavesTheObjects() throws {
        try self.populate()
        var draft = Self.full()
        draft.entities[Self.entity("Person", draft)].relationships[0].isOrdered = false
        draft.entities[0].relationships[0].isOrdered = false
        #expect(
            try self.losses(draft) == [
                "Thing.tags is no longer ordered, with 2 positions",
                "Person.pets is no longer ordered, with 2 positions",
            ]
        )
        let store = try self.remove(draft)
        #expect(try self.related(store, ObjectID(1), "Person", "pets") == [ObjectID(2), ObjectID(3)])
        let moved = try #require(try store.access { try store.pastTransaction(Revision(4)) })
        #expect(try store.access { try moved.inlineCount() } == 0, "only the position had changed")
        for revision in [3, 2, 1] as [UInt64] { try self.undo(store, revision) }
        #expect(try StoredState(store).graph.objects.isEmpty)
        try store.close()
    }

    /// Bulk change sets are in blocks of the journal.
    @Test func blocksOfTheHistoryArePruned() throws {
        try self.populate(streamedFrom: 0)
        var draft = Self.full()
        draft.entities.remove(at: Self.entity("Dog", draft))
        draft.entities[Self.entity("Person", draft)].attributes = []
        let store = try self.remove(draft)
        for revision in [4, 3, 2, 1] as [UInt64] { try self.undo(store, revision) }
        #expect(try StoredState(store).graph.objects.isEmpty)
        try store.close()
    }

    @Test func anInverseCanBeAddedToAOneWayRelationship() throws {
        try self.populate()
        var draft = Self.full()
        let person = Self.entity("Person", draft)
        draft.entities[person].relationships[1].inverse = "fans"
        draft.entities[Self.entity("Pet", draft)].relationships.append(
            RelationshipDraft("fans", .many, "Person", inverse: "favourite")
        )
        var store = try self.open(draft)
        #expect(try #require(store.migration).removals.isEmpty)
        #expect(try self.related(store, ObjectID(3), "Pet", "fans") == [ObjectID(1)])
        try store.close()
        store = try self.open(Self.full())
        #expect(try self.related(store, ObjectID(1), "Person", "favourite") == [ObjectID(3)])
        try self.undo(store, 2)
        try store.close()
    }

    @Test func circlesPreventAHierarchy() throws {
        var draft = ModelDraft(entities: [
            EntityDraft("A", [AttributeDraft("name")], [RelationshipDraft("next", .one, "A", inverse: "")])
        ])
        let store = try self.open(draft)
        let next = try self.number(store, "A", "next")
        let ids = try self.write(store, try (0..<4).map { _ in try self.insert(store, "A", [:]) })
        func link(_ from: Int, _ to: Int) -> Mutation {
            .update(.object(ids[from]), values: [PropertyAssignment(next, .id(ids[to]))])
        }
        // 1 -> 2 -> 1, 3 -> 1, 4 alone.
        _ = try self.write(store, [link(0, 1), link(1, 0), link(2, 0)])
        try store.close()
        draft.entities[0].relationships = [
            RelationshipDraft("next", .one, "A", inverse: "before"),
            RelationshipDraft("before", .many, "A", inverse: "next"),
        ]
        let report = try #require(try Store.migrationReport(self.path, to: draft.compile()))
        #expect(
            report.obstacles.count == 1 && report.obstacles[0].hasPrefix("A.next becomes a hierarchy, but 3 objects")
        )
        #expect(throws: StoreError.self) { try self.open(draft, .all).close() }
    }

    @Test func tokensOfALostSubtreeAreReported() throws {
        let store = try self.open(.nestedList)
        try store.access {
            _ = try store.createToken(TokenGrant(name: "root", role: .admin), secretHash: Self.secret(1), now: 1)
            let item = store.layout.model.entities[0]
            var grant = TokenGrant(name: "guest", role: .write)
            grant.confinement = AccessConfinement(
                root: ObjectID(1),
                entity: item.number,
                relationship: item.propertyNumber(named: "children")!
            )
            _ = try store.createToken(grant, secretHash: Self.secret(2), now: 1)
        }
        try store.close()
        let other = ModelDraft(entities: [EntityDraft("A", [AttributeDraft("name")])])
        #expect(try self.losses(other) == ["the sub-tree of token 2 (guest) is gone, with 1 token"])
        let after = try self.remove(other)
        let grant = try #require(try after.access { try after.tokens() }.last?.description.grant.confinement)
        #expect(after.layout.subtree(grant) == nil)
        #expect(throws: StoreError.self) { try Confinement(grant, after.objects) }
        try after.close()
    }

    private static func secret(_ byte: UInt8) throws -> TokenSecret {
        try ByteReader.read([UInt8](repeating: byte, count: 32)) { (reader) throws(DecodingFailure) in
            try reader.tokenSecret("secret")
        }
    }

    /// nest makes the root of the nested list. It counts as an object once a client changes it.
    @Test func anUnchangedRootIsNoLoss() throws {
        let other = ModelDraft(entities: [EntityDraft("A", [AttributeDraft("name")])])
        var store = try self.open(.nestedList)
        let title = try self.number(store, "Item", "title")
        try store.close()
        #expect(try Store.migrationReport(self.path, to: other.compile())?.losses.isEmpty == true)
        store = try self.open(.nestedList)
        _ = try self.write(store, [.update(.object(ObjectID(1)), values: [PropertyAssignment(title, "mine")])])
        try store.close()
        #expect(try self.losses(other) == ["the entity Item is gone, with 1 object"])
    }
}
