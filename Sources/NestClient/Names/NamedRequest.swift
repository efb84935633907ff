import NestModel

/// A fetch request whose rows are read by name.
public struct NamedRequest: Sendable {
    public let request: ObjectFetchRequest
    /// The slot of each property in a row's values.
    private let slots: [String: Int]

    public init(_ request: ObjectFetchRequest, of entity: NamedEntity) {
        self.request = request
        var slots: [String: Int] = [:]
        for (slot, property) in request.canonical(in: entity.model).projection.enumerated() {
            let name: String?
            if let column = property.column {
                name = request.columns[column].text(of: entity.description, in: entity.model)
            } else {
                name = entity.description.propertyName(property)
            }
            if let name { slots[name] = slot }
        }
        self.slots = slots
    }

    /// The value of a property or path of the request; null for any other.
    public subscript(name: String, row: Row) -> AttributeValue {
        guard let slot = self.slots[name], row.values.indices.contains(slot) else { return .null }
        return row.values[slot]
    }

    /// Returns the value as text; "" for null.
    public func text(_ name: String, _ row: Row) -> String { FetchedResultsSectionInfo.name(for: self[name, row]) }
}
