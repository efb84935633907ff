import NestModel
import NestStore
import NestTestSupport
import Testing
import NestSchema

/// Opens a store with another version of its model.
@Suite struct MigrationTests {
    private let directory = TemporaryDirectory()
    private var path: String { self.directory.path + "/nest.sqlite" }

    // MARK: Models

    static func attribute(
        _ name: String,
        _ type: AttributeType,
        isOptional: Bool = false,
        _ change: (inout AttributeDraft) -> Void = { _ in }
    ) -> AttributeDraft {
        var attribute = AttributeDraft(name: name, type: type)
        attribute.isOptional = isOptional
        change(&attribute)
        return attribute
    }

    private static func toMany(
        _ name: String,
        _ destination: String,
        _ inverse: String,
        isOrdered: Bool = false,
        rule: DeleteRule = .cascade
    ) -> RelationshipDraft {
        var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
        relationship.isToMany = true
        relationship.isOrdered = isOrdered
        relationship.deleteRule = rule
        return relationship
    }

    /// Users with phones.
    static var first: ModelDraft {
        var user = EntityDraft(name: "User")
        user.attributes = [Self.attribute("name", .string), Self.attribute("age", .integer16, isOptional: true)]
        user.relationships = [Self.toMany("phones", "Phone", "user")]
        var phone = EntityDraft(name: "Phone")
        phone.attributes = [Self.attribute("number", .string), Self.attribute("cost", .float, isOptional: true)]
        phone.relationships = [RelationshipDraft(name: "user", destination: "User", inverse: "phones")]
        return ModelDraft(entities: [user, phone])
    }

    func open(_ draft: ModelDraft) throws -> Store {
        try Store(
            .init(location: .file(self.path), model: draft.compile()),
            newHistoryID: Identifier128(high: 7, low: 8)
        )
    }

    static func perform(_ store: Store, _ mutations: [Mutation]) throws -> [ObjectID] {
        var runs: [Receipt.Run] = []
        try store.access {
            let group = try store.beginGroup(time: 1, alwaysSavepoint: true)
            do {
                _ = try group.request(inSavepoint: true) { graph in
                    runs = try graph.perform(WriteTransaction(mutations: mutations))
                    return WriteDescription(name: "test", key: nil, requestHash: 0, sessionNumber: 1)
                }
                try group.commit()
            } catch {
                try group.rollback()
                throw error
            }
        }
        return runs.flatMap(\.ids)
    }

    static func insert(_ store: Store, _ entity: String, _ values: [String: AttributeValue]) -> Mutation {
        let entity = store.layout.model.entity(named: entity)!
        let assignments = values.map { PropertyAssignment(entity.propertyNumber(named: $0.key)!, .value($0.value)) }
        return .insert(entity: entity.number, values: assignments, placements: [])
    }

    static func value(_ store: Store, _ id: ObjectID, _ property: String) throws -> AttributeValue {
        let detail = try #require(try store.access { try store.detail(id) })
        let number = try #require(store.layout.model.entity(detail.entity)?.propertyNumber(named: property))
        return try #require(detail.values.first { $0.property == number }).value
    }

    /// Two users, two phones of the first.
    func populate() throws -> [ObjectID] {
        let store = try self.open(Self.first)
        let users = try Self.perform(
            store,
            [
                Self.insert(store, "User", ["name": .string("Ann"), "age": .integer(41)]),
                Self.insert(store, "User", ["name": .string("Bea")]),
            ]
        )
        let phones = try Self.perform(
            store,
            [
                Self.insert(store, "Phone", ["number": .string("1"), "user": .reference(users[0])]),
                Self.insert(
                    store,
                    "Phone",
                    ["number": .string("2"), "user": .reference(users[0]), "cost": .double(0.5)]
                ),
            ]
        )
        try store.close()
        return users + phones
    }

    // MARK: Successful migrations

    @Test func additionsAndWiderTypesAreMigrated() throws {
        let ids = try self.populate()
        var draft = Self.first
        draft.entities[0].attributes[1].type = .integer
        draft.entities[0].attributes += [
            Self.attribute("note", .string, isOptional: true),
            Self.attribute("level", .integer32) { $0.defaultValue = .integer(3) },
            Self.attribute("createdAt", .date) { $0.defaultsToNow = true },
        ]
        draft.entities[0].relationships[0].isOrdered = true
        draft.entities[0].relationships.append(Self.toMany("tags", "Tag", "users", isOrdered: true, rule: .nullify))
        draft.entities[0].indexes = [["name"]]
        draft.entities[1].attributes[1].type = .double
        draft.entities[1].uniquenessConstraints = [["number"]]
        var tag = EntityDraft(name: "Tag")
        tag.attributes = [Self.attribute("title", .string)]
        tag.relationships = [Self.toMany("users", "User", "tags", rule: .nullify)]
        var friend = EntityDraft(name: "Friend")
        friend.parent = "User"
        friend.attributes = [Self.attribute("since", .date, isOptional: true)]
        // The file may list entities in another order.
        draft.entities = [tag, friend] + draft.entities.reversed()

        let store = try self.open(draft)
        #expect(try #require(store.migration).differences.count >= 9)
        #expect(try Self.value(store, ids[0], "name") == .string("Ann"))
        #expect(try Self.value(store, ids[0], "age") == .integer(41))
        #expect(try Self.value(store, ids[0], "note") == .null)
        #expect(try Self.value(store, ids[0], "level") == .integer(3))
        #expect(try Self.value(store, ids[0], "createdAt") != .null)
        #expect(try Self.value(store, ids[3], "cost") == .double(0.5))
        #expect(try Self.value(store, ids[3], "user") == .reference(ids[0]))
        // The new order is the order of the ids, and objects can be placed in it.
        let user = try #require(store.layout.model.entity(named: "User"))
        let phones = try #require(user.propertyNumber(named: "phones"))
        _ = try Self.perform(store, [.relate(.object(ids[0]), phones, .object(ids[3]), .first)])
        let toMany = try #require(store.layout[user.number]?.toMany(phones))
        var order: [ObjectID] = []
        try store.access { try store.forEach(toMany, of: ids[0]) { id, _ in order.append(id) } }
        #expect(order == [ids[3], ids[2]])
        // New entities and relationships work.
        let tags = try #require(user.propertyNumber(named: "tags"))
        let made = try Self.perform(
            store,
            [
                Self.insert(store, "Tag", ["title": .string("home")]),
                .relate(.object(ids[0]), tags, .inserted(1), .last),
                Self.insert(store, "Friend", ["name": .string("Cleo"), "since": .date(5)]),
            ]
        )
        #expect(try Self.value(store, made[1], "name") == .string("Cleo"))
        expectRefusal(.notUnique) {
            _ = try Self.perform(store, [Self.insert(store, "Phone", ["number": .string("1")])])
        }
        try store.close()
        // The second time there is nothing to migrate.
        let again = try self.open(draft)
        #expect(again.migration == nil)
        try again.close()
    }

    @Test func renamingsKeepNumbersAndValues() throws {
        let ids = try self.populate()
        var draft = Self.first
        draft.entities[0].name = "Person"
        draft.entities[0].renamedFrom = "User"
        draft.entities[0].attributes[0].name = "fullName"
        draft.entities[0].attributes[0].renamedFrom = "name"
        draft.entities[0].relationships[0].name = "lines"
        draft.entities[0].relationships[0].renamedFrom = "phones"
        draft.entities[1].relationships[0] = RelationshipDraft(name: "user", destination: "Person", inverse: "lines")
        draft.entities[0].relationships[0].inverse = "user"
        let store = try self.open(draft)
        #expect(try #require(store.migration).differences.count == 3)
        #expect(try Self.value(store, ids[0], "fullName") == .string("Ann"))
        #expect(try Self.value(store, ids[2], "user") == .reference(ids[0]))
        try store.close()
        // The renaming may stay in the file.
        let again = try self.open(draft)
        #expect(again.migration == nil)
        try again.close()
    }

    @Test func propertyNamesCanBeSwapped() throws {
        let ids = try self.populate()
        var draft = Self.first
        draft.entities[1].attributes.append(Self.attribute("label", .string, isOptional: true))
        var store = try self.open(draft)
        _ = try Self.perform(
            store,
            [
                .update(
                    .object(ids[2]),
                    values: [
                        PropertyAssignment(
                            store.layout.model.entity(named: "Phone")!.propertyNumber(named: "label")!,
                            .value(.string("mobile"))
                        )
                    ]
                )
            ]
        )
        try store.close()
        draft.entities[1].attributes[0].name = "label"
        draft.entities[1].attributes[0].renamedFrom = "number"
        draft.entities[1].attributes[2].name = "number"
        draft.entities[1].attributes[2].renamedFrom = "label"
        draft.entities[1].attributes[0].isOptional = true
        store = try self.open(draft)
        #expect(try Self.value(store, ids[2], "label") == .string("1"))
        #expect(try Self.value(store, ids[2], "number") == .string("mobile"))
        try store.close()
    }

    @Test func undoWorksAcrossAMigration() throws {
        let ids = try self.populate()
        var store = try self.open(Self.first)
        _ = try Self.perform(store, [.delete(.object(ids[0]))])
        let deletion = store.head
        try store.close()
        var draft = Self.first
        draft.entities[0].attributes.append(Self.attribute("level", .integer) { $0.defaultValue = .integer(9) })
        draft.entities[1].relationships[0].isOptional = true
        store = try self.open(draft)
        try store.access {
            let entry = try #require(try store.pastTransaction(deletion))
            let group = try store.beginGroup(time: 2, alwaysSavepoint: true)
            _ = try group.request(inSavepoint: true) { graph in
                try graph.revert(entry, UndoOptions(policy: .strict), store.layout)
                return WriteDescription(name: "undo", key: nil, requestHash: 0, sessionNumber: 1)
            }
            try group.commit()
        }
        #expect(try Self.value(store, ids[0], "name") == .string("Ann"))
        #expect(try Self.value(store, ids[0], "level") == .integer(9))
        #expect(try Self.value(store, ids[2], "user") == .reference(ids[0]))
        try store.close()
    }

    @Test func migrationKeepsACopyOfTheOldStore() throws {
        let ids = try self.populate()
        var draft = Self.first
        draft.entities[0].attributes.append(Self.attribute("note", .string, isOptional: true))
        let store = try self.open(draft)
        let copyPath = try #require(store.migration?.copyPath)
        #expect(copyPath.hasSuffix("nest.sqlite.before-migration-2"))
        let copy = try Store(
            .init(location: .file(copyPath), model: Self.first.compile()),
            newHistoryID: Identifier128(high: 9, low: 9)
        )
        #expect(copy.migration == nil)
        #expect(copy.historyID == Identifier128(high: 9, low: 9), "two stores do not share the names of their states")
        #expect(copy.head == store.head)
        #expect(try Self.value(copy, ids[0], "name") == .string("Ann"))
        try copy.close()
        try store.close()
    }

    /// Reverts one revision.
    private static func revert(_ store: Store, _ revision: Revision) throws {
        try store.access {
            let entry = try #require(try store.pastTransaction(revision))
            let group = try store.beginGroup(time: 2, alwaysSavepoint: true)
            do {
                _ = try group.request(inSavepoint: true) { graph in
                    try graph.revert(entry, UndoOptions(policy: .strict), store.layout)
                    try graph.validate()
                    return WriteDescription(name: "undo", key: nil, requestHash: 0, sessionNumber: 1)
                }
                try group.commit()
            } catch {
                try group.rollback()
                throw error
            }
        }
    }

    @Test func undoWorksAcrossAMigrationThatAddsAnOrder() throws {
        let ids = try self.populate()
        var store = try self.open(Self.first)
        let insertion = store.head
        let phone = store.layout.model.entity(named: "Phone")!
        let user = try #require(phone.propertyNumber(named: "user"))
        _ = try Self.perform(
            store,
            [.update(.object(ids[3]), values: [PropertyAssignment(user, .value(.reference(ids[1])))])]
        )
        let moved = store.head
        _ = try Self.perform(store, [.delete(.object(ids[2]))])
        let deletion = store.head
        _ = try Self.perform(store, [.delete(.object(ids[1]))])
        let cascade = store.head
        try store.close()
        var draft = Self.first
        draft.entities[0].relationships[0].isOrdered = true
        store = try self.open(draft)
        for revision in [cascade, deletion, moved] { try Self.revert(store, revision) }
        let table = try #require(store.layout[phone.number])
        #expect(table.placedSlots.count == 1)
        var positions: [Int64] = []
        for id in ids[2...] {
            #expect(try Self.value(store, id, "user") == .reference(ids[0]))
            let row = try #require(try store.access { try store.row(phone.number, id) })
            positions.append(row.places[0].position)
            #expect(row.places[0] != .none)
        }
        #expect(Set(positions).count == 2)
        // The insertion itself, of which only the owner is known.
        try Self.revert(store, insertion)
        #expect(try store.access { try store.detail(ids[2]) } == nil)
        try store.close()
    }

    @Test func undoFillsANewDateWithTheCurrentTime() throws {
        let ids = try self.populate()
        var store = try self.open(Self.first)
        _ = try Self.perform(store, [.delete(.object(ids[1]))])
        let deletion = store.head
        try store.close()
        var draft = Self.first
        draft.entities[0].attributes.append(Self.attribute("since", .date) { $0.defaultsToNow = true })
        store = try self.open(draft)
        try Self.revert(store, deletion)
        #expect(try Self.value(store, ids[1], "since") == .date(2))
        try store.close()
    }

    @Test func undoRestoresNoObjectOfAnAbstractEntity() throws {
        let ids = try self.populate()
        var store = try self.open(Self.first)
        _ = try Self.perform(store, ids.map { .delete(.object($0)) }.suffix(2))
        let deletion = store.head
        try store.close()
        var draft = Self.first
        draft.entities[1].isAbstract = true
        store = try self.open(draft)
        expectRefusal(.undoConflict) { try Self.revert(store, deletion) }
        #expect(try store.access { try store.detail(ids[2]) } == nil)
        try store.close()
    }

    @Test func migrationCopiesAreNotOverwritten() throws {
        _ = try self.populate()
        var draft = Self.first
        draft.entities[0].attributes.append(Self.attribute("note", .string, isOptional: true))
        var store = try self.open(draft)
        let first = try #require(store.migration?.copyPath)
        try store.close()
        // At the same revision: a refused migration leaves the copy alone, a successful one makes another copy.
        var refused = draft
        refused.entities[0].isAbstract = true
        #expect(throws: StoreError.self) { try self.open(refused).close() }
        draft.entities[0].attributes.append(Self.attribute("more", .string, isOptional: true))
        store = try self.open(draft)
        #expect(try #require(store.migration?.copyPath) == first + "-2")
        try store.close()
        let copy = try Store(
            .init(location: .file(first), model: Self.first.compile()),
            newHistoryID: Identifier128(high: 9, low: 9)
        )
        #expect(copy.migration == nil)
        try copy.close()
    }

    // MARK: Refused migrations

    private func refusal(_ draft: ModelDraft) throws -> [String] {
        var differences: [String] = []
        do {
            try self.open(draft).close()
            Issue.record("the store was opened")
        } catch let error as StoreError {
            guard case .modelDiffers(_, let found, let losses) = error else { throw error }
            differences = found + losses
        }
        // Nothing has changed.
        let store = try self.open(Self.first)
        #expect(store.migration == nil)
        #expect(try Self.value(store, ObjectID(1), "name") == .string("Ann"))
        #expect(try Self.value(store, ObjectID(3), "user") == .reference(ObjectID(1)))
        try store.close()
        return differences
    }

    @Test func refusedMigrationsListEveryLoss() throws {
        _ = try self.populate()
        var draft = Self.first
        draft.entities[0].attributes.remove(at: 1)
        draft.entities[0].attributes[0].type = .integer
        draft.entities[1].attributes[1].isOptional = false
        draft.entities[1].attributes[0].maximum = .integer(5)
        var other = EntityDraft(name: "Other")
        other.attributes = [Self.attribute("title", .string)]
        draft.entities.append(other)
        let differences = try self.refusal(draft)
        #expect(differences.count == 4, "\(differences)")
        for name in ["User.age", "User.name", "Phone.cost", "Phone.number"] {
            #expect(differences.contains { $0.hasPrefix(name) }, "\(name) in \(differences)")
        }
        var gone = Self.first
        gone.entities.removeLast()
        gone.entities[0].relationships = []
        #expect(
            try self.refusal(gone) == ["User.phones is gone, with 2 links", "the entity Phone is gone, with 2 objects"]
        )
        var turned = Self.first
        turned.entities[1].parent = "User"
        #expect(try self.refusal(turned).contains { $0.contains("parent") })
    }

    @Test func refusedMigrationsCountConflictingObjects() throws {
        _ = try self.populate()
        var draft = Self.first
        draft.entities[0].attributes.append(Self.attribute("email", .string))
        #expect(try self.refusal(draft).contains { $0.contains("User.email") && $0.contains("2 objects") })
        draft = Self.first
        draft.entities[1].uniquenessConstraints = [["user"]]
        #expect(try self.refusal(draft).contains { $0.contains("unique") && $0.contains("2 objects") })
        draft = Self.first
        draft.entities[0].isAbstract = true
        #expect(try self.refusal(draft).contains { $0.contains("abstract") })
        // The migration succeeds if the entity has no objects.
        draft = Self.first
        var tag = EntityDraft(name: "Tag")
        tag.attributes = [Self.attribute("title", .string, isOptional: true)]
        draft.entities.append(tag)
        try self.open(draft).close()
        draft.entities[2].attributes.append(Self.attribute("color", .string))
        let store = try self.open(draft)
        #expect(store.migration != nil)
        try store.close()
    }

    /// A relationship without an inverse may lead in a circle, and the check of a store knows it.
    @Test func circlesWithoutAnInverseAreNoDamage() throws {
        var node = EntityDraft(name: "Node")
        node.relationships = [RelationshipDraft(name: "next", destination: "Node", inverse: "")]
        let store = try self.open(ModelDraft(entities: [node]))
        let entity = try #require(store.layout.model.entity(named: "Node"))
        let next = try #require(entity.propertyNumber(named: "next"))
        let ids = try Self.perform(store, [Self.insert(store, "Node", [:]), Self.insert(store, "Node", [:])])
        for (id, other) in [(ids[0], ids[1]), (ids[1], ids[0])] {
            let assignment = PropertyAssignment(next, .reference(.object(other)))
            _ = try Self.perform(store, [.update(.object(id), values: [assignment])])
        }
        try store.close()
        let check = try Store.check(self.path) { _ in }
        #expect(check.problems.isEmpty, "\(check.problems)")
    }
}
