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

    @Test func theBuiltInModelIsSound() {
        #expect(ManagedObjectModel.nestedList.faults.isEmpty)
        #expect(self.faults(self.entity()).isEmpty)
    }

    @Test(arguments: [
        "", "1title", "ti tle", "tit-le", "n\u{e9}", "nest_title", "NEST_x", "sqlite_a",
        String(repeating: "x", count: 65),
    ])
    func badNamesAreFaults(_ name: String) {
        let attribute = AttributeDescription(number: 1, name: name, type: .string)
        #expect(self.faults(self.entity(attributes: [attribute])).count == 1)
        #expect(!self.faults(self.entity(name: name)).isEmpty)
    }

    @Test func numbersAndNamesAreDistinct() {
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

    @Test func aModelNeedsAnEntityAndHasLimits() {
        #expect(self.faults().count == 1)
        let many = (1...UInt16(Limits.propertiesPerEntityMax + 1)).map {
            AttributeDescription(number: $0, name: "a\($0)", type: .integer)
        }
        #expect(self.faults(self.entity(attributes: many)).count == 1)
        #expect(self.faults(self.entity(attributes: Array(many.dropLast()))).isEmpty)
    }

    @Test func aDefaultIsOfItsType() {
        let wrong = AttributeDescription(number: 1, name: "n", type: .integer, defaultValue: .string("5"))
        let right = AttributeDescription(number: 1, name: "n", type: .integer, defaultValue: .integer(5))
        #expect(self.faults(self.entity(attributes: [wrong])).count == 1)
        #expect(self.faults(self.entity(attributes: [right])).isEmpty)
    }

    @Test func relationshipsLeadBack() {
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
        // Both to-one, both to-many, and a to-one that claims an order.
        #expect(self.faults(self.entity(relationships: [parent, relationship(6, inverse: 5, many: false)])).count == 2)
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

    /// A model survives its bytes, and its hash tells it from one that differs anywhere.
    @Test func aModelSurvivesItsBytes() throws {
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
        let item = try #require(ManagedObjectModel.nestedList.entity(EntityNumber(1)))
        let source = FetchSource(object: ObjectID(1), relationship: PropertyNumber(6))
        func canonical(_ projection: [UInt16]) -> [UInt16] {
            let request = FetchRequest(
                entity: EntityNumber(1),
                source: source,
                projection: projection.map { PropertyNumber($0) }
            )
            return request.canonical(in: item).projection.map(\.rawValue)
        }
        #expect(canonical([]) == [1, 2, 3, 4, 5])
        #expect(canonical([3, 1, 3]) == [1, 3])
    }

    @Test func codesAreDistinctAndNamed() {
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
        ManagedObjectModel(
            entities: (0..<1 + self.below(4)).map { index in
                EntityDescription(
                    number: UInt16(index * 7 + self.below(7)),
                    name: self.text(max: 8),
                    attributes: (0..<self.below(5)).map { attribute in
                        AttributeDescription(
                            number: UInt16(attribute * 3 + self.below(3)),
                            name: self.text(max: 8),
                            type: self.pick(AttributeType.allCases),
                            isOptional: self.oneIn(2),
                            defaultValue: self.attributeValue()
                        )
                    },
                    relationships: (0..<self.below(4)).map { relationship in
                        RelationshipDescription(
                            number: UInt16(relationship * 3 + self.below(3)),
                            name: self.text(max: 8),
                            destination: UInt16(self.below(65_536)),
                            inverse: UInt16(self.below(100)),
                            isToMany: self.oneIn(2),
                            isOrdered: self.oneIn(2),
                            isOptional: self.oneIn(2),
                            deleteRule: self.pick(DeleteRule.allCases)
                        )
                    },
                    root: self.oneIn(3)
                        ? RootDescription(object: self.objectID(), relationship: PropertyNumber(UInt16(self.below(9))))
                        : nil
                )
            }
        )
    }
}
