import NestModel
import NestTestSupport
import Testing

@Suite struct HiddenInverseTests {
    private func draft(_ name: String, _ relationships: [RelationshipDraft] = [], parent: String? = nil) -> EntityDraft
    {
        var entity = EntityDraft(name: name)
        if parent == nil { entity.attributes = [.named("title")] }
        entity.relationships = relationships
        entity.parent = parent
        return entity
    }

    private func oneWay(_ name: String, _ destination: String, isToMany: Bool = false, isOrdered: Bool = false)
        -> RelationshipDraft
    {
        var relationship = RelationshipDraft(name: name, destination: destination)
        relationship.isToMany = isToMany
        relationship.isOrdered = isOrdered
        return relationship
    }

    private func faults(_ entities: EntityDraft...) -> [String] {
        do {
            _ = try ModelDraft(entities: entities).compile()
            return []
        } catch {
            return error.faults
        }
    }

    @Test func everyKindOfOneWayRelationshipGetsAHiddenInverse() throws {
        var base = self.draft("Base", [self.oneWay("badge", "Song")])
        base.isAbstract = true
        let model = try ModelDraft(entities: [
            base,
            self.draft(
                "List",
                [
                    self.oneWay("cover", "Base"), self.oneWay("first", "Song"), self.oneWay("last", "Song"),
                    self.oneWay("songs", "Song", isToMany: true, isOrdered: true),
                    self.oneWay("liked", "Song", isToMany: true), self.oneWay("parent", "List"),
                ],
                parent: "Base"
            ),
            self.draft("Song"),
        ]).compile()
        #expect(model.faults.isEmpty)
        let list = try #require(model.entity(named: "List"))
        #expect(list.relationships.filter { !$0.isHiddenInverse }.count == 7)
        for relationship in list.relationships where !relationship.isHiddenInverse {
            #expect(model.isOneWay(relationship))
            let inverse = try #require(model.inverse(of: relationship))
            #expect(inverse.isToMany && !inverse.isOrdered && inverse.isOptional && inverse.deleteRule == .nullify)
            #expect(model.inverse(of: inverse) == relationship)
        }
        let song = try #require(model.entity(named: "Song"))
        #expect(
            song.relationships.map(\.name) == [
                "nest_inverse_Base_badge", "nest_inverse_List_first", "nest_inverse_List_last",
                "nest_inverse_List_songs", "nest_inverse_List_liked",
            ]
        )
        #expect(model.entity(named: "Base")?.relationships.last?.name == "nest_inverse_List_cover")
    }

    @Test func hiddenNamesDifferForDifferentRelationships() {
        let long = String(repeating: "a", count: 64)
        let pairs = [
            ("A", "b_c"), ("A_b", "c"), ("A", "b"), ("a", "bc"), (long, long), (long, "x"), ("A", long), ("A_", "b"),
        ]
        let names = pairs.map { HiddenInverse.name(of: $0.1, in: $0.0) }
        #expect(Set(names).count == pairs.count, "\(names)")
        #expect(names.allSatisfy { $0.utf8.count <= 64 && $0.hasPrefix("nest_inverse_") }, "\(names)")
        #expect(names[0] == "nest_inverse_A_b_c")
        for (entity, name) in pairs where entity != "a" {
            #expect(self.faults(self.draft(entity, [self.oneWay(name, "Other")]), self.draft("Other")).isEmpty)
        }
    }

    @Test func otherNamesOfHiddenInversesAreReserved() {
        #expect(self.faults(self.draft("A", [self.oneWay("nest_inverse_x", "A")])).count >= 1)
        var attribute = self.draft("A")
        attribute.attributes.append(.named("nest_inverse_A_b"))
        #expect(
            self.faults(attribute) == ["A.nest_inverse_A_b: names that begin with nest_ are reserved for the store"]
        )
        // The right name with another shape.
        var inverse = RelationshipDraft(name: "nest_inverse_A_b", destination: "A", inverse: "b")
        inverse.isToMany = true
        inverse.deleteRule = .cascade
        let b = RelationshipDraft(name: "b", destination: "B", inverse: "nest_inverse_A_b")
        #expect(
            self.faults(self.draft("A", [b]), self.draft("B", [inverse])) == [
                "B.nest_inverse_A_b: names that begin with nest_ are reserved for the store"
            ]
        )
    }

    @Test func aRelationshipThatNamesTheOtherIsItsInverse() throws {
        let model = try ModelDraft(entities: [
            self.draft("A", [RelationshipDraft(name: "b", destination: "B", inverse: "as")]),
            self.draft("B", [self.oneWay("as", "A", isToMany: true)]),
        ]).compile()
        #expect(model.entities.allSatisfy { $0.relationships.count == 1 })
        #expect(model.entities.allSatisfy { !model.isOneWay($0.relationships[0]) })
    }

    @Test func hiddenInversesFormNoSubtrees() throws {
        let model = try ModelDraft(entities: [self.draft("A", [self.oneWay("next", "A")])]).compile()
        let a = model.entities[0]
        #expect(a.relationships.allSatisfy { !model.hasSubtrees(of: a, by: $0) })
    }

    // MARK: Other versions of a model

    private func model(_ entities: EntityDraft...) throws -> ManagedObjectModel {
        try ModelDraft(entities: entities).compile()
    }

    @Test func anInverseKeepsItsNumberWhenItIsNamedHiddenOrNamedAgain() throws {
        let hidden = try self.model(self.draft("A", [self.oneWay("b", "B")]), self.draft("B"))
        let named = try self.model(
            self.draft("A", [.toOne("b", "B", "all")]),
            self.draft("B", [.toMany("all", "A", "b")])
        )
        let other = try self.model(
            self.draft("A", [.toOne("b", "B", "every")]),
            self.draft("B", [.toMany("every", "A", "b")])
        )
        for (stored, wanted) in [(hidden, named), (named, hidden), (named, other), (hidden, hidden)] {
            let result = wanted.renumbered(like: stored)
            #expect(result.faults.isEmpty)
            #expect(
                result.entities.map { $0.relationships.map(\.number) }
                    == stored.entities.map { $0.relationships.map(\.number) }
            )
            #expect(result.differences(from: stored).allSatisfy { $0.kind == .migratable })
        }
        // The same, when the entity and the relationship have other names.
        var renamed = self.draft("Z", [self.oneWay("y", "B")])
        renamed.renamedFrom = "A"
        renamed.relationships[0].renamedFrom = "b"
        let result = try self.model(renamed, self.draft("B")).renumbered(like: hidden)
        #expect(result.entities[1].relationships.map(\.name) == ["nest_inverse_Z_y"])
        #expect(
            result.differences(from: hidden).map(\.text) == ["the entity A is now Z", "Z.b is now Z.y"]
        )
    }

    @Test func aHiddenInverseFollowsItsRelationshipAndNotItsName() throws {
        let stored = try self.model(self.draft("A", [self.oneWay("x", "B")]), self.draft("B"))
        var renamed = self.oneWay("y", "B")
        renamed.renamedFrom = "x"
        let wanted = try self.model(self.draft("A", [renamed, self.oneWay("x", "B")]), self.draft("B"))
        let result = wanted.renumbered(like: stored)
        let y = try #require(result.entities[0].relationships.first { $0.name == "y" })
        #expect(y.number == stored.entities[0].relationships[0].number)
        #expect(y.inverse == stored.entities[0].relationships[0].inverse)
        #expect(result.differences(from: stored).map(\.text) == ["A.x is now A.y", "A.x is new"])
    }

    @Test func numbersOfRemovedPartsAreNotUsedAgain() throws {
        let first = try self.model(
            self.draft("A", [.toOne("b", "B", "all")]),
            self.draft("B", [.toMany("all", "A", "b")])
        )
        let second = try self.model(self.draft("A")).renumbered(like: first)
        var used = ModelNumbers()
        used.add(first)
        let third = try self.model(self.draft("A", [self.oneWay("c", "C")]), self.draft("C"))
            .renumbered(like: second, used: used)
        #expect(third.entity(named: "C")?.number == EntityNumber(3))
        #expect(third.entity(named: "A")?.relationships.map(\.number) == [PropertyNumber(3)])
        // The numbers survive the store.
        var writer = ByteWriter()
        writer.write(numbers: used)
        let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.modelNumbers() }
        #expect(read == used)
    }

    @Test func anAttributeIsNeverTheSameAsARelationship() throws {
        let stored = try self.model(self.draft("A", [self.oneWay("x", "A")]))
        var wanted = self.draft("A")
        wanted.attributes.append(.named("x"))
        let result = try self.model(wanted).renumbered(like: stored)
        #expect(result.differences(from: stored).map(\.text) == ["A.x is gone", "A.x is new"])
        #expect(result.differences(from: stored)[0].removedPart == .relationship(EntityNumber(1), PropertyNumber(2)))
    }

    // MARK: Empty to-many relationships

    @Test func onlyALeastCountForbidsAnEmptyToMany() {
        func relationship(_ isOptional: Bool, _ least: Int) -> RelationshipDescription {
            RelationshipDescription(
                number: 1,
                name: "all",
                destination: 1,
                inverse: 2,
                isToMany: true,
                isOptional: isOptional,
                deleteRule: .nullify,
                minimumCount: least
            )
        }
        #expect(relationship(false, 0).admits(count: 0) && relationship(false, 0).isOptional)
        #expect(!relationship(false, 1).admits(count: 0) && !relationship(false, 1).isOptional)
        #expect(!relationship(false, 2).admits(count: 1) && relationship(false, 2).admits(count: 2))
        #expect(relationship(true, 2).admits(count: 0) && !relationship(true, 2).admits(count: 1))
    }
}
