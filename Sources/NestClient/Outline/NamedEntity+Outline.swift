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
