/// The last numbers that a store has assigned: those of removed entities and properties are not assigned again, because
/// clients and tokens may still name them.
public struct ModelNumbers: Hashable, Sendable {
    /// Of entities and of the pairs of many-to-many relationships.
    private var lastEntity: UInt16 = 0
    /// By topmost entity.
    private var lastProperties: [EntityNumber: UInt16] = [:]

    public init() {}

    /// Adds the numbers of a model.
    public mutating func add(_ model: ManagedObjectModel) {
        for entity in model.entities {
            let joins = entity.relationships.compactMap { $0.join?.rawValue }
            self.lastEntity = max(self.lastEntity, entity.number.rawValue, joins.max() ?? 0)
            let numbers = entity.attributes.map(\.number.rawValue) + entity.relationships.map(\.number.rawValue)
            let top = model.lineage(of: entity.number).last?.number ?? entity.number
            self.lastProperties[top] = max(self.lastProperties[top] ?? 0, numbers.max() ?? 0)
        }
    }

    /// Returns the next number. After the last one it is 0, which a model reports as a fault.
    mutating func nextEntity() -> EntityNumber {
        self.lastEntity &+= 1
        return EntityNumber(self.lastEntity)
    }

    mutating func nextProperty(_ top: EntityNumber) -> PropertyNumber {
        self.lastProperties[top, default: 0] &+= 1
        return PropertyNumber(self.lastProperties[top]!)
    }
}

extension ByteWriter {
    package mutating func write(numbers: ModelNumbers) { numbers.write(to: &self) }
}

extension ByteReader {
    package mutating func modelNumbers() throws(DecodingFailure) -> ModelNumbers { try ModelNumbers(from: &self) }
}

extension ModelNumbers {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(count: Int(self.lastEntity))
        writer.write(count: self.lastProperties.count)
        for (top, last) in self.lastProperties.sorted(by: { $0.key < $1.key }) {
            writer.write(count: Int(top.rawValue))
            writer.write(count: Int(last))
        }
    }

    fileprivate init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.init()
        self.lastEntity = try reader.entityNumber("last entity number").rawValue
        for _ in 0..<(try reader.count("property numbers", bytesEach: 2)) {
            let top = try reader.entityNumber("topmost entity")
            self.lastProperties[top] = try reader.propertyNumber("last property number").rawValue
        }
    }
}
