import NestModel

extension NamedEntity {
    /// Returns the request of an outline, for `NestClient.withOutline`: what is below an object by the ordered to-many
    /// relationship of this name, which leads to the same entity. `predicate` and `properties` are texts as in
    /// `request(where:)`.
    public func outline(
        below object: ObjectID,
        by relationship: String,
        expansion: OutlineExpansion = .none,
        where predicate: String = "",
        properties: [String] = [],
        window: FetchWindow? = nil
    ) throws -> NamedRequest {
        var request = try self.request(where: predicate, properties: properties, window: window).request
        request.source = FetchSource(object: object, relationship: try self.property(relationship))
        request.outline = FetchOutline(expansion)
        return NamedRequest(request, of: self)
    }
}

extension NamedRequest {
    /// The value of a property or path of the request; null for any other.
    public subscript(name: String, row: OutlineState.Row) -> AttributeValue {
        self[name, Row(id: row.id, values: row.values)]
    }

    /// Returns the value as text; "" for null.
    public func text(_ name: String, _ row: OutlineState.Row) -> String {
        self.text(name, Row(id: row.id, values: row.values))
    }
}
