import NestModel
import Testing
import NestSchema

@Suite struct RelationshipTests {
    private func people() throws -> NamedStore {
        try NamedStore(
            EntityDraft(
                "Person",
                [],
                [
                    RelationshipDraft("partner", .one, "Person", inverse: "partner"),
                    RelationshipDraft("friends", .many, "Person", inverse: "friends"),
                    RelationshipDraft("teacher", .one, "Person", inverse: "pupil"),
                    RelationshipDraft("pupil", .one, "Person", inverse: "teacher"),
                    RelationshipDraft("liked", .ordered, "Person", inverse: "likedBy"),
                    RelationshipDraft("likedBy", .ordered, "Person", inverse: "liked"),
                ]
            )
        )
    }

    // MARK: One-to-one

    @Test func joiningAPartnerSeparatesItFromItsOldPartner() throws {
        let store = try self.people()
        let ids = try (0..<4).map { _ in try store.insert("Person") }
        try store.update(ids[0], ["teacher": .id(ids[1])])
        try store.update(ids[2], ["pupil": .id(ids[3])])
        #expect(try store.related(ids[1], "pupil") == [ids[0]])
        try store.update(ids[0], ["teacher": .id(ids[2])])
        #expect(try store.related(ids[2], "pupil") == [ids[0]])
        #expect(try store.related(ids[1], "pupil").isEmpty)
        #expect(try store.related(ids[3], "teacher").isEmpty)
        // An insert joins a partner too.
        let new = try store.insert("Person", ["pupil": .id(ids[0])])
        #expect(try store.related(ids[0], "teacher") == [new])
        #expect(try store.related(ids[2], "pupil").isEmpty)
    }

    /// A one-to-one relationship that is its own inverse, also between an object and itself.
    @Test func partnersAreMutual() throws {
        let store = try self.people()
        let ids = try (0..<4).map { _ in try store.insert("Person") }
        try store.update(ids[0], ["partner": .id(ids[1])])
        try store.update(ids[2], ["partner": .id(ids[3])])
        try store.update(ids[1], ["partner": .id(ids[2])])
        #expect(try ids.map { try store.related($0, "partner") } == [[], [ids[2]], [ids[1]], []])
        try store.update(ids[1], ["partner": .id(ids[1])])
        #expect(try ids.map { try store.related($0, "partner") } == [[], [ids[1]], [], []])
        try store.update(ids[0], ["partner": .id(ids[1])])
        #expect(try ids.map { try store.related($0, "partner") } == [[ids[1]], [ids[0]], [], []])
        try store.update(ids[0], ["partner": nil])
        #expect(try ids.map { try store.related($0, "partner") } == [[], [], [], []])
    }

    /// One step sets both ends of a chain to values that exclude each other: the later one applies.
    @Test func assignmentsOfOneStepApplyInOrder() throws {
        let store = try self.people()
        let ids = try (0..<2).map { _ in try store.insert("Person") }
        try store.update(ids[0], ["teacher": .id(ids[0]), "pupil": .id(ids[1])])
        #expect(try store.related(ids[0], "teacher").isEmpty)
        #expect(try store.related(ids[1], "teacher") == [ids[0]])
        let new = try store.insert("Person", ["pupil": .id(ids[1]), "teacher": .id(ids[1])])
        #expect(try store.related(new, "pupil") == [ids[1]] && store.related(new, "teacher") == [ids[1]])
    }

    // MARK: Many-to-many

    @Test func symmetricRelationshipsHoldInBothDirections() throws {
        let store = try self.people()
        let ids = try (0..<3).map { _ in try store.insert("Person") }
        try store.relate(ids[0], "friends", ids[1])
        try store.relate(ids[2], "friends", ids[0])
        try store.relate(ids[0], "friends", ids[0])
        #expect(try ids.map { try store.related($0, "friends") } == [ids, [ids[0]], [ids[0]]])
        let head = store.head
        try store.relate(ids[1], "friends", ids[0])
        #expect(store.head == head, "they are friends already")
        try store.unrelate(ids[1], "friends", ids[0])
        try store.unrelate(ids[0], "friends", ids[0])
        #expect(try ids.map { try store.related($0, "friends") } == [[ids[2]], [], [ids[0]]])
        try store.delete(ids[2])
        #expect(try store.related(ids[0], "friends").isEmpty)
    }

    /// Each side of an ordered many-to-many relationship has its own order.
    @Test func bothSidesAreOrderedIndependently() throws {
        let store = try self.people()
        let ids = try (0..<4).map { _ in try store.insert("Person") }
        for id in ids[1...] { try store.relate(ids[0], "liked", id, .first) }
        #expect(try store.related(ids[0], "liked") == [ids[3], ids[2], ids[1]])
        try store.relate(ids[3], "likedBy", ids[2], .first)
        #expect(try store.related(ids[3], "likedBy") == [ids[2], ids[0]])
        try store.relate(ids[0], "liked", ids[3], .after(.object(ids[2])))
        #expect(try store.related(ids[0], "liked") == [ids[2], ids[3], ids[1]])
        #expect(try store.related(ids[3], "likedBy") == [ids[2], ids[0]])
        try store.relate(ids[0], "liked", ids[1], .at(1))
        #expect(try store.related(ids[0], "liked") == [ids[2], ids[1], ids[3]])
        expectRefusal(.indexOutOfRange) { try store.relate(ids[0], "liked", ids[1], .at(3)) }
        expectRefusal(.indexOutOfRange) { try store.relate(ids[0], "liked", ids[0], .at(4)) }
        expectRefusal(.indexOutOfRange) { try store.relate(ids[0], "liked", ids[0], .at(-1)) }
        expectRefusal(.invalid) { try store.relate(ids[0], "liked", ids[1], .before(.object(ids[1]))) }
        expectRefusal(.invalid) { try store.relate(ids[0], "liked", ids[1], .before(.object(ids[0]))) }
        expectRefusal(.notFound) { try store.relate(ids[0], "liked", ids[1], .before(.object(ObjectID(99)))) }
        expectRefusal(.invalid) { try store.relate(ids[0], "friends", ids[1], .first) }
        expectRefusal(.unknownProperty) { try store.relate(ids[0], "partner", ids[1]) }
    }

    // MARK: Setting a whole list

    @Test func setRelatedMovesAsFewObjectsAsPossible() throws {
        let store = try self.people()
        let owner = try store.insert("Person")
        let ids = try (0..<8).map { _ in try store.insert("Person") }
        try store.set(owner, "liked", ids)
        #expect(try store.set(owner, "liked", ids) == nil)
        let rotated = Array(ids[1...]) + [ids[0]]
        let changes = try #require(try store.set(owner, "liked", rotated))
        #expect(changes.updatedCount == 1 && changes.insertedCount == 0 && changes.deletedCount == 0)
        #expect(try store.related(owner, "liked") == rotated)
        let fewer = [ids[7], ids[2], ids[3], owner]
        let fewerChanges = try #require(try store.set(owner, "liked", fewer))
        #expect(fewerChanges.updatedCount == 1 && fewerChanges.insertedCount == 1 && fewerChanges.deletedCount == 5)
        #expect(try store.related(owner, "liked") == fewer)
        expectRefusal(.invalid) { try store.set(owner, "liked", [ids[0], ids[0]]) }
        expectRefusal(.notFound) { try store.set(owner, "liked", [ObjectID(99)]) }
        try store.set(owner, "liked", [])
        #expect(try store.related(owner, "liked").isEmpty)
    }

    // MARK: Cycles

    /// A cycle is refused only in a hierarchy: a one-to-many relationship inside one table.
    @Test func cyclesAreRefusedOnlyInHierarchies() throws {
        let store = try NamedStore(
            EntityDraft(
                "Part",
                [],
                [
                    RelationshipDraft("whole", .one, "Part", inverse: "parts"),
                    RelationshipDraft("parts", .many, "Part", inverse: "whole"),
                    RelationshipDraft("next", .one, "Part", inverse: "previous"),
                    RelationshipDraft("previous", .one, "Part", inverse: "next"),
                    RelationshipDraft("fits", .many, "Part", inverse: "fitsInto"),
                    RelationshipDraft("fitsInto", .many, "Part", inverse: "fits"),
                ]
            ),
            EntityDraft("Special", of: "Part")
        )
        let (a, b) = (try store.insert("Part"), try store.insert("Special"))
        let c = try store.insert("Part", ["whole": .id(b)])
        try store.update(b, ["whole": .id(a)])
        expectRefusal(.cycle) { try store.update(a, ["whole": .id(c)]) }
        expectRefusal(.cycle) { try store.update(a, ["whole": .id(a)]) }
        expectRefusal(.cycle) { try store.relate(c, "parts", a) }
        expectRefusal(.cycle) { try store.set(c, "parts", [a]) }
        try store.update(a, ["next": .id(b)])
        try store.update(b, ["next": .id(a)])
        try store.update(c, ["next": .id(c)])
        try store.relate(a, "fits", b)
        try store.relate(b, "fits", a)
        try store.relate(c, "fits", c)
        #expect(try store.related(a, "next") == [b] && store.related(b, "next") == [a])
        // A cycle between the steps of a batch is refused too.
        expectRefusal(.cycle) {
            try store.perform(
                store.edit(.object(a), "Part", ["whole": .id(c)]),
                store.edit(.object(b), "Part", ["whole": nil])
            )
        }
    }
}
