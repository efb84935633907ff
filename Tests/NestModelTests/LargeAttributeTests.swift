import NestModel
import Testing

/// What a model and a request may do with a large value.
@Suite struct LargeAttributeTests {
    private static func model(
        _ type: AttributeType = .largeData,
        defaultValue: AttributeValue = .null,
        minimum: AttributeValue = .null,
        pattern: String? = nil,
        unique: [[UInt16]] = [],
        indexes: [[UInt16]] = []
    ) -> ManagedObjectModel {
        let attributes = [
            AttributeDescription(number: 1, name: "title", type: .string),
            AttributeDescription(
                number: 2,
                name: "image",
                type: type,
                isOptional: true,
                defaultValue: defaultValue,
                minimum: minimum,
                pattern: pattern
            ),
        ]
        return ManagedObjectModel(entities: [
            EntityDescription(
                number: 1,
                name: "Photo",
                attributes: attributes,
                relationships: [],
                uniquenessConstraints: unique,
                indexes: indexes
            )
        ])
    }

    private static let value = LargeValue(id: 1, length: 3, digest: [UInt8](repeating: 9, count: 32))

    @Test(arguments: [AttributeType.largeData, .largeText])
    func modelsGiveItNoDefaultBoundPatternIndexOrUniqueness(type: AttributeType) {
        #expect(Self.model(type).faults.isEmpty)
        let wrong = [
            Self.model(type, defaultValue: Self.value.value), Self.model(type, minimum: .integer(1)),
            Self.model(type, pattern: "a"), Self.model(type, unique: [[2]]), Self.model(type, indexes: [[1, 2]]),
        ]
        for model in wrong { #expect(model.faults.contains { $0.contains("image") }, "\(model.faults)") }
    }

    @Test(arguments: [AttributeType.largeData, .largeText])
    func onlyItsDescriptionIsAValue(type: AttributeType) {
        let attribute = AttributeDescription(number: 2, name: "image", type: type)
        #expect(attribute.fault(Self.value.value) == nil)
        var tooLong = Self.value.bytes
        tooLong[12] = 1
        let none = [UInt8](repeating: 0, count: LargeValue.byteCount)
        for value in [AttributeValue.data([1]), .string("a"), .data(tooLong), .data(none)] {
            #expect(attribute.fault(value)?.reason == .type)
        }
        #expect(LargeValue(Self.value.value) == Self.value)
    }

    @Test(arguments: [AttributeType.largeData, .largeText])
    func predicatesCompareItWithNullOnly(type: AttributeType) throws {
        let model = Self.model(type)
        let photo = try #require(model.entities.first)
        func faults(_ operation: Comparison.Operator, _ values: [AttributeValue]) -> [String] {
            let path = PropertyPath(leaf: .attribute(PropertyNumber(2)))
            let comparison = Comparison(path: path, operator: operation, values: values)
            return FetchPredicate(comparison).faults(for: photo, in: model)
        }
        #expect(faults(.equal, [.null]).isEmpty && faults(.notEqual, [.null]).isEmpty)
        let wrong: [(Comparison.Operator, [AttributeValue])] = [
            (.equal, [Self.value.value]), (.less, [.null]), (.isIn, [.null]), (.between, [.null, .null]),
            (.contains, [.string("a")]), (.matches, [.string("a")]),
        ]
        for (operation, values) in wrong {
            #expect(faults(operation, values).first?.contains("outside the rows") == true, "\(operation)")
        }
        #expect(AggregateFunction.allCases.allSatisfy { $0.type(of: type) == nil })
    }
}
