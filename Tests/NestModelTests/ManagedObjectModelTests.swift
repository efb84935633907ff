import NestModel
import NestTestSupport
import Testing

@Suite struct ManagedObjectModelTests {
    private func entity(
        attributes: [AttributeDescription] = [AttributeDescription(number: 1, name: "title", type: .string)],
        relationships: [RelationshipDescription] = [],
        number: UInt16 = 1,
        name: String = "Thing",
        root: RootDescription? = nil
    ) -> EntityDescription {
        EntityDescription(number: number, name: name, attributes: attributes, relationships: relationships, root: root)
    }

    private func faults(_ entities: EntityDescription...) -> [String] {
        ManagedObjectModel(entities: entities).faults
    }

    @Test func theBuiltInModelHasNoFaults() {
        #expect(ManagedObjectModel.nestedList.faults.isEmpty)
        #expect(self.faults(self.entity()).isEmpty)
    }

    @Test(arguments: [
        "", "1title", "ti tle", "tit-le", "n\u{e9}", "nest_title", "NEST_x", "sqlite_a",
        String(repeating: "x", count: 65),
    ])
    func invalidNamesAreFaults(_ name: String) {
        let attribute = AttributeDescription(number: 1, name: name, type: .string)
        #expect(self.faults(self.entity(attributes: [attribute])).count == 1)
        #expect(!self.faults(self.entity(name: name)).isEmpty)
    }

    @Test func duplicateNumbersAndNamesAreFaults() {
        let title = AttributeDescription(number: 1, name: "title", type: .string)
        let sameName = AttributeDescription(number: 2, name: "TITLE", type: .string)
        let sameNumber = AttributeDescription(number: 1, name: "other", type: .string)
        let zero = AttributeDescription(number: 0, name: "zero", type: .string)
        #expect(self.faults(self.entity(attributes: [title, sameName])).count == 1)
        #expect(self.faults(self.entity(attributes: [title, sameNumber])).count == 1)
        #expect(self.faults(self.entity(attributes: [title, zero])).count == 1)
        #expect(self.faults(self.entity(), self.entity(number: 2, name: "thing")).count == 1)
        #expect(self.faults(self.entity(), self.entity(name: "Other")).count == 1)
    }

    @Test func tooManyPropertiesAreAFaultAndNoEntityIsNone() {
        #expect(self.faults().isEmpty)
        let many = (1...UInt16(Limits.propertiesPerEntityMax + 1)).map {
            AttributeDescription(number: $0, name: "a\($0)", type: .integer)
        }
        #expect(self.faults(self.entity(attributes: many)).count == 1)
        #expect(self.faults(self.entity(attributes: Array(many.dropLast()))).isEmpty)
    }

    @Test func defaultsOfAnotherTypeAreFaults() {
        let wrong = AttributeDescription(number: 1, name: "n", type: .integer, defaultValue: .string("5"))
        let right = AttributeDescription(number: 1, name: "n", type: .integer, defaultValue: .integer(5))
        #expect(self.faults(self.entity(attributes: [wrong])).count == 1)
        #expect(self.faults(self.entity(attributes: [right])).isEmpty)
    }

    @Test func relationshipsNeedAMatchingInverse() {
        func relationship(
            _ number: UInt16,
            inverse: UInt16,
            many: Bool,
            ordered: Bool = false,
            to destination: UInt16 = 1
        )
            -> RelationshipDescription
        {
            RelationshipDescription(
                number: number,
                name: "r\(number)",
                destination: destination,
                inverse: inverse,
                isToMany: many,
                isOrdered: ordered,
                deleteRule: .nullify
            )
        }
        let parent = relationship(5, inverse: 6, many: false)
        let children = relationship(6, inverse: 5, many: true, ordered: true)
        #expect(self.faults(self.entity(relationships: [parent, children])).isEmpty)
        #expect(self.faults(self.entity(relationships: [parent])).count == 1)
        #expect(!self.faults(self.entity(relationships: [parent, relationship(6, inverse: 6, many: true)])).isEmpty)
        #expect(self.faults(self.entity(relationships: [relationship(5, inverse: 6, many: false, to: 9)])).count == 1)
        // One-to-one is valid. Two to-many sides need an entity number for their pairs, and a to-one has no order.
        #expect(self.faults(self.entity(relationships: [parent, relationship(6, inverse: 5, many: false)])).isEmpty)
        #expect(
            self.faults(self.entity(relationships: [relationship(5, inverse: 6, many: true), children])).count == 2
        )
        #expect(
            self.faults(
                self.entity(relationships: [relationship(5, inverse: 6, many: false, ordered: true), children])
            ).count == 1
        )
        let root = RootDescription(object: ObjectID(1), relationship: PropertyNumber(6))
        #expect(self.faults(self.entity(relationships: [parent, children], root: root)).count == 1)
    }

    /// A model that is encoded and decoded is unchanged, and different models have different hashes.
    @Test func modelsRoundTrip() throws {
        var hashes: Set<UInt64> = []
        for seed in 0..<500 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let model = random.model()
            var writer = ByteWriter()
            writer.write(model: model)
            let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in
                let model = try reader.model()
                try reader.finish("model")
                return model
            }
            if read != model || read.hash != model.hash { Issue.record("seed \(seed)") }
            hashes.insert(model.hash)
        }
        #expect(hashes.count > 490)
    }

    @Test func aFetchRequestHasOneCanonicalForm() throws {
        let source = FetchSource(object: ObjectID(1), relationship: PropertyNumber(6))
        func canonical(_ projection: [UInt16]) -> [UInt16] {
            let request = ObjectFetchRequest(
                entity: EntityNumber(1),
                source: source,
                projection: projection.map { PropertyNumber($0) }
            )
            return request.canonical(in: .nestedList).projection.map(\.rawValue)
        }
        #expect(canonical([]) == [1, 2, 3, 4, 5])
        #expect(canonical([3, 1, 3]) == [1, 3])
        // A repeated sort key is removed.
        let twice = [OrderingTerm(PropertyNumber(3)), OrderingTerm(PropertyNumber(3), isAscending: false)]
        let sorted = ObjectFetchRequest(entity: EntityNumber(1), sort: twice).canonical(in: .nestedList)
        #expect(sorted.sort == [twice[0]])
        #expect(sorted.source == nil)
    }

    /// If rows may be of several entities, each row has its entity.
    @Test func rowsOfAnEntityWithSubentitiesHaveTheirEntity() {
        let name = AttributeDescription(number: 1, name: "name", type: .string)
        let age = AttributeDescription(number: 2, name: "age", type: .integer)
        let model = ManagedObjectModel(entities: [
            EntityDescription(number: 1, name: "Animal", isAbstract: true, attributes: [name], relationships: []),
            EntityDescription(number: 2, name: "Dog", parent: 1, attributes: [name, age], relationships: []),
        ])
        #expect(model.faults.isEmpty)
        #expect(
            ObjectFetchRequest(entity: EntityNumber(1)).canonical(in: model).projection == [.entity, PropertyNumber(1)]
        )
        #expect(
            ObjectFetchRequest(entity: EntityNumber(2)).canonical(in: model).projection
                == [PropertyNumber(1), PropertyNumber(2)]
        )
        let asked = ObjectFetchRequest(entity: EntityNumber(2), projection: [PropertyNumber(2), .entity])
        #expect(asked.canonical(in: model).projection == [.entity, PropertyNumber(2)])
    }

    /// A model must fit in one message, because the server sends it to clients.
    @Test func aModelTooLargeForAMessageIsAFault() {
        func model(entities: Int) -> ManagedObjectModel {
            let text = AttributeValue.string(String(repeating: "x", count: 60_000))
            return ManagedObjectModel(
                entities: (1...entities).map { number in
                    let attribute = AttributeDescription(number: 1, name: "a", type: .string, defaultValue: text)
                    return EntityDescription(
                        number: UInt16(number),
                        name: "E\(number)",
                        attributes: [attribute],
                        relationships: []
                    )
                }
            )
        }
        #expect(model(entities: 17).faults.isEmpty)
        #expect(model(entities: 18).faults.count == 1)
    }

    @Test func tooManyIndexesAreAFault() {
        let attribute = AttributeDescription(number: 1, name: "a", type: .string)
        func faults(_ count: Int) -> [String] {
            let entity = EntityDescription(
                number: 1,
                name: "E",
                attributes: [attribute],
                relationships: [],
                indexes: [[UInt16]](repeating: [1], count: count)
            )
            return ManagedObjectModel(entities: [entity]).faults
        }
        #expect(faults(Limits.propertiesPerEntityMax).isEmpty)
        #expect(faults(Limits.propertiesPerEntityMax + 1).count == 1)
    }

    @Test func errorCodesAreDistinctAndNamed() {
        let names = ErrorCode.all.map { "\($0)" }
        #expect(Set(names).count == names.count)
        #expect(Set(ErrorCode.all.map(\.rawValue)).count == names.count)
        #expect(names.allSatisfy { !$0.hasPrefix("ERROR_") })
        #expect("\(ErrorCode(rawValue: 0x7fff))" == "ERROR_7fff")
        #expect(ErrorCode(rawValue: 0x7fff).retry == .never)
    }
}

extension SeededRandom {
    fileprivate mutating func model() -> ManagedObjectModel {
        ManagedObjectModel(entities: (0..<1 + self.below(4)).map { self.entity($0) })
    }

    private mutating func entity(_ index: Int) -> EntityDescription {
        EntityDescription(
            number: UInt16(index * 7 + self.below(7)),
            name: self.text(max: 8),
            parent: self.oneIn(3) ? UInt16(1 + self.below(9)) : nil,
            isAbstract: self.oneIn(2),
            attributes: (0..<self.below(5)).map { self.attribute($0) },
            relationships: (0..<self.below(4)).map { self.relationship($0) },
            uniquenessConstraints: self.propertyLists(),
            indexes: self.propertyLists(),
            label: self.oneIn(3) ? UInt16(1 + self.below(9)) : nil,
            root: self.oneIn(3)
                ? RootDescription(object: self.objectID(), relationship: PropertyNumber(UInt16(self.below(9)))) : nil
        )
    }

    private mutating func attribute(_ index: Int) -> AttributeDescription {
        AttributeDescription(
            number: UInt16(index * 3 + self.below(3)),
            name: self.text(max: 8),
            type: self.pick(AttributeType.allCases),
            isOptional: self.oneIn(2),
            defaultValue: self.attributeValue(),
            defaultsToNow: self.oneIn(3),
            minimum: self.attributeValue(),
            maximum: self.attributeValue()
        )
    }

    private mutating func relationship(_ index: Int) -> RelationshipDescription {
        RelationshipDescription(
            number: UInt16(index * 3 + self.below(3)),
            name: self.text(max: 8),
            destination: UInt16(self.below(65_536)),
            inverse: UInt16(self.below(100)),
            isToMany: self.oneIn(2),
            isOrdered: self.oneIn(2),
            isOptional: self.oneIn(2),
            deleteRule: self.pick(DeleteRule.allCases),
            minimumCount: self.below(3),
            maximumCount: self.oneIn(2) ? 0 : self.below(100_000),
            join: self.oneIn(2) ? UInt16(1 + self.below(65_535)) : nil
        )
    }

    private mutating func propertyLists() -> [[UInt16]] {
        (0..<self.below(3)).map { _ in (0..<1 + self.below(3)).map { _ in UInt16(1 + self.below(9)) } }
    }
}
