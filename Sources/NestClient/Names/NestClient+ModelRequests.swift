import NestModel

/// Requests that the model names.
extension NestClient {
    /// Returns a request that the server's model names: `User.longPhones` for a fetched property of Core Data, or the
    /// name of a fetch request template.
    ///
    /// `source`: the object that `$FETCH_SOURCE` stands for. A path like `$FETCH_SOURCE.name` means the value that the
    /// object has now: ask again after it has changed. `variables`: values of the other variables, as a predicate
    /// writes them, like `["LEAST": "18", "NAME": FetchPredicate.quoted(typed)]`.
    public func request(
        named name: String,
        of source: ObjectID? = nil,
        variables: [String: String] = [:],
        dates: DateReading = .utc
    ) async throws -> NamedRequest {
        let model = try await self.model()
        guard let description = model.requests.first(where: { $0.name.hasSameBytes(as: name) }) else {
            let hint = NearestName.hint(name, among: model.requests.map(\.name))
            throw NestError(.invalid, "the model names no request '\(name)'\(hint)")
        }
        guard let entity = model.entity(description.entity) else {
            throw NestError(.unknownEntity, "the model has no entity \(description.entity.rawValue)")
        }
        let text = RequestText(description.predicate)
        let values = try await self.values(of: source, for: text, description, model)
        let predicate = try text.bound { (variable) throws(NestError) -> String in
            if variable.name == RequestDescription.sourceVariable, let value = values[variable.path] { return value }
            guard variable.path.isEmpty, let value = variables[variable.name] else {
                throw NestError(.invalid, "the request \(name) needs a value for $\(variable.name)")
            }
            return value
        }
        var request = ObjectFetchRequest(entity: entity.number)
        request.predicate = try FetchPredicate(predicate, of: entity, in: model, dates: dates)
        if !description.sort.isEmpty { request.sort = try [OrderingTerm](description.sort, of: entity, in: model) }
        return NamedRequest(request, of: NamedEntity(entity, in: model))
    }

    /// Returns what `$FETCH_SOURCE` and each path from it mean, as texts; nothing for a request without a source.
    private func values(
        of source: ObjectID?,
        for text: RequestText,
        _ description: RequestDescription,
        _ model: ManagedObjectModel
    ) async throws -> [[String]: String] {
        guard let number = description.source, let entity = model.entity(number) else {
            guard source == nil else { throw NestError(.invalid, "the request \(description.name) has no source") }
            return [:]
        }
        guard let source else {
            throw NestError(.invalid, "the request \(description.name) needs its source, an object of \(entity.name)")
        }
        let paths = text.variables.filter { $0.name == RequestDescription.sourceVariable && !$0.path.isEmpty }.map(
            \.path
        )
        var request = ObjectFetchRequest(entity: number)
        request.predicate = FetchPredicate(
            Comparison(path: PropertyPath(leaf: .object), operator: .equal, values: [.reference(source)])
        )
        request.projection = paths.isEmpty ? [.entity] : paths.indices.map { .computed($0) }
        request.columns = try paths.map { try PropertyPath($0.joined(separator: "."), of: entity, in: model) }
        guard let row = try await self.fetch(request).sections.first?.rows.first else {
            throw NestError(.notFound, "there is no object \(source) of \(entity.name)")
        }
        var values: [[String]: String] = [[]: "\(source)"]
        for (path, (column, value)) in zip(paths, zip(request.columns, row.values)) {
            let isDecimal = column.attributeType(of: entity, in: model) == .decimal
            values[path] = FetchPredicate.literal(value, isDecimal: isDecimal)
        }
        return values
    }
}
