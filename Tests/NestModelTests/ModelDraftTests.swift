import NestModel
import NestTestSupport
import Testing

@Suite struct ModelDraftTests {
    private func faults(_ entities: EntityDraft...) -> [String] {
        do {
            _ = try ModelDraft(entities: entities).compile()
            return []
        } catch {
            return error.faults
        }
    }

    private func entity(_ name: String, parent: String? = nil, _ attributes: String...) -> EntityDraft {
        var entity = EntityDraft(name: name)
        entity.parent = parent
        entity.attributes = attributes.map { AttributeDraft(name: $0, type: .string) }
        return entity
    }

    @Test func randomDraftsCompile() throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            do {
                _ = try random.modelDraft().compile()
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    /// A model that is encoded and decoded is unchanged, and so is its hash. Names of earlier versions are not encoded.
    @Test func modelsRoundTrip() throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var draft = random.modelDraft()
            for index in draft.entities.indices {
                draft.entities[index].renamedFrom = nil
                for at in draft.entities[index].attributes.indices {
                    draft.entities[index].attributes[at].renamedFrom = nil
                }
                for at in draft.entities[index].relationships.indices {
                    draft.entities[index].relationships[at].renamedFrom = nil
                }
            }
            let model = try draft.compile()
            var writer = ByteWriter()
            writer.write(model: model)
            let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in
                let model = try reader.model()
                try reader.finish("model")
                return model
            }
            #expect(read == model && read.hash == model.hash, "seed \(seed)")
        }
    }

    @Test func theDraftOfTheNestedListCompilesToTheBuiltInModel() throws {
        var item = EntityDraft(name: "Item")
        item.attributes = [("title", false), ("note", true), ("done", false), ("extra", true)].map { name, isOptional in
            var attribute = AttributeDraft(name: name, type: name == "done" ? .boolean : .string)
            attribute.isOptional = isOptional
            if name == "done" { attribute.defaultValue = .boolean(false) }
            return attribute
        }
        let parent = RelationshipDraft(name: "parent", destination: "Item", inverse: "children")
        var children = RelationshipDraft(name: "children", destination: "Item", inverse: "parent")
        children.isToMany = true
        children.isOrdered = true
        children.deleteRule = .cascade
        item.relationships = [parent, children]
        item.root = ("parent", ObjectID(1))
        #expect(try ModelDraft(entities: [item]).compile() == .nestedList)
    }

    @Test func duplicateNamesMissingParentsAndCyclesAreFaults() {
        #expect(
            self.faults(self.entity("A", "x"), self.entity("A", "y")) == [
                "A: the model has more than one entity of this name"
            ]
        )
        #expect(self.faults(self.entity("A"), self.entity("a")).count == 1)
        #expect(self.faults(self.entity("A", parent: "B")) == ["A: its parent entity B is not in the model"])
        #expect(self.faults(self.entity("A", "x", "x")) == ["A.x: the name is used more than once"])
        #expect(self.faults(self.entity("A", parent: "A")).first?.contains("cycle") == true)
        let circle = self.faults(
            self.entity("A", parent: "B"),
            self.entity("B", parent: "C"),
            self.entity("C", parent: "A")
        )
        #expect(circle.count == 3 && circle.allSatisfy { $0.contains("cycle") })
        // An inherited name is already in use.
        #expect(
            self.faults(self.entity("A", "x"), self.entity("B", parent: "A", "x")).first?.contains(
                "B.x: the name is used"
            ) == true
        )
    }

    @Test func inversesThatAreMissingAreFaults() {
        func one(_ name: String, _ destination: String, _ inverse: String) -> RelationshipDraft {
            RelationshipDraft(name: name, destination: destination, inverse: inverse)
        }
        var a = self.entity("A", "x")
        a.relationships = [one("b", "B", ""), one("c", "C", "a"), one("d", "B", "nothing"), one("e", "B", "y")]
        let list = self.faults(a, self.entity("B", "y"))
        #expect(
            list == [
                "A.c: its destination C is not in the model",
                "A.d: its inverse is missing, B has no relationship nothing",
                "A.e: its inverse is missing, B has no relationship y",
            ]
        )
    }

    @Test func modelsBeyondTheLimitsAreRefused() {
        let many = (0...Limits.propertiesPerEntityMax).map { AttributeDraft(name: "a\($0)", type: .integer) }
        var parent = EntityDraft(name: "P")
        parent.attributes = Array(many.prefix(200))
        var child = EntityDraft(name: "C")
        child.parent = "P"
        child.attributes = Array(many.dropFirst(200))
        #expect(
            self.faults(parent, child) == ["P and the entities below it have 257 properties; at most 256 are allowed"]
        )
        child.attributes.removeLast()
        #expect(self.faults(parent, child).isEmpty)
        let entities = (0...Limits.entitiesPerModelMax).map { EntityDraft(name: "E\($0)") }
        #expect(throws: ModelFaults.self) { try ModelDraft(entities: entities).compile() }
        // More many-to-many relationships than there are numbers for their pairs.
        let tangled = (0..<300).map { index in
            var entity = EntityDraft(name: "E\(index)")
            entity.relationships = (0..<250).map { number in
                let name = "r\(number)"
                var relationship = RelationshipDraft(name: name, destination: entity.name, inverse: name)
                relationship.isToMany = true
                return relationship
            }
            return entity
        }
        #expect(throws: ModelFaults.self) { try ModelDraft(entities: tangled).compile() }
        // The deepest possible inheritance.
        let chain = (0..<Limits.entitiesPerModelMax).map { self.entity("E\($0)", parent: $0 == 0 ? nil : "E\($0 - 1)") }
        #expect(throws: Never.self) { try ModelDraft(entities: chain).compile() }
    }

    /// Faults of single properties and names that do not resolve are reported together.
    @Test func faultsOfEveryKindAreReportedTogether() {
        var a = self.entity("A", "1x", "sqlite_y")
        a.attributes[0].defaultValue = .integer(3)
        a.attributes.append(AttributeDraft(name: "n", type: .decimal))
        a.attributes[2].minimum = .string("2")
        a.attributes[2].maximum = .string("1.5")
        a.relationships = [RelationshipDraft(name: "r", destination: "Gone", inverse: "x")]
        a.relationships[0].isOrdered = true
        a.indexes = [["z"]]
        a.label = "nothing"
        let list = self.faults(a)
        for words in [
            "A.1x: '1x' is not a valid name", "A.1x: its default is string, not integer",
            "A.sqlite_y: names that begin with sqlite_",
            "A.n: its minimum 2 is above its maximum, 1.5", "A.r: its destination Gone", "A: an index names z",
            "A: the label nothing",
        ] {
            #expect(list.contains { $0.hasPrefix(words) }, "\(words): \(list)")
        }
    }

    @Test func defaultsAndBoundsAreStoredInCanonicalForm() throws {
        var entity = EntityDraft(name: "A")
        entity.attributes = [AttributeDraft(name: "d", type: .decimal), AttributeDraft(name: "f", type: .float)]
        entity.attributes[0].defaultValue = .string("1.50")
        entity.attributes[1].minimum = .double(0.1)
        let model = try ModelDraft(entities: [entity]).compile()
        #expect(model.entities[0].attributes[0].defaultValue == .string("1.5"))
        #expect(model.entities[0].attributes[1].minimum == .double(Double(Float(0.1))))
        entity.attributes[1].defaultValue = .double(1e39)
        #expect(self.faults(entity) == ["A.f: its default is beyond the range of a float"])
    }
}
