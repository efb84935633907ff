import NestModel

/// A row of some columns of a request: their values, in the order of the call `columns`.
public struct SelectedRow<each Value: AttributeConvertible & Sendable>: RowDecodable, ObjectReferring, Identifiable {
    public let id: ObjectID
    public let values: (repeat each Value)

    public var objectReference: ObjectReference { .object(self.id) }

    /// Throws `invalid` for a value of another type, such as null where the type is no Optional.
    public init(row: FetchedRow) throws {
        var names = row.columns.selected.makeIterator()
        func next<Next: AttributeConvertible>(_ type: Next.Type) throws -> Next {
            guard let name = names.next() else {
                throw NestError(.invalid, "the row was not requested with these columns")
            }
            return try row.value(name)
        }
        self.id = row.id
        self.values = (repeat try next((each Value).self))
    }
}

/// A request for some columns of objects of an entity: what `TypedRequest.columns` makes.
public struct SelectedColumns<Entity: ModelEntity, each Value: AttributeConvertible & Sendable>: Sendable {
    let request: TypedRequest<Entity>
    let texts: [String]
}

extension TypedRequest {
    /// A request for these columns in place of whole objects. They may be values of related objects, and numbers of
    /// them; a row changes when they do. A column that may be null is `optional`.
    ///
    ///     let posts = Post.all.sorted(by: \.title).columns(\.user.name, \.title)
    ///     for row in try await client.fetch(posts) {
    ///         let (user, title) = row.values
    ///     }
    public func columns<each Value: AttributeConvertible & Sendable>(
        _ path: repeat KeyPath<Entity.Paths, TypedPath<each Value>>
    ) -> SelectedColumns<Entity, repeat each Value> {
        var texts: [String] = []
        repeat texts.append(Entity.paths[keyPath: each path].text)
        return SelectedColumns(request: self, texts: texts)
    }
}

/// Requests for some columns.
extension NestClient {
    /// Returns the request with the numbers of the server's model.
    public func request<Entity, each Value>(
        _ columns: SelectedColumns<Entity, repeat each Value>
    ) async throws -> NamedRequest {
        let entity = try await self.entity(Entity.entityName)
        return try columns.request.named(in: entity, columns.texts, selected: columns.texts)
    }

    /// Returns the rows of a request, at revision `atLeast` or later.
    public func fetch<Entity, each Value>(
        _ columns: SelectedColumns<Entity, repeat each Value>,
        atLeast: Revision = Revision(0)
    ) async throws -> FetchedRows<SelectedRow<repeat each Value>> {
        let request = try await self.request(columns)
        return try await self.fetch(request, as: SelectedRow<repeat each Value>.self, atLeast: atLeast)
    }

    /// Subscribes to a request while `body` runs: first a snapshot arrives, then every change of the result.
    public func withFetchedResults<Entity, each Value, Result>(
        _ columns: SelectedColumns<Entity, repeat each Value>,
        verifyDigest: Bool = false,
        _ body: (RowsSubscription<SelectedRow<repeat each Value>>) async throws -> Result
    ) async throws -> Result {
        let request = try await self.request(columns)
        return try await self.withFetchedResults(
            request,
            as: SelectedRow<repeat each Value>.self,
            verifyDigest: verifyDigest,
            body
        )
    }
}

extension LiveResults {
    /// The live rows of some columns.
    public convenience init<Entity, each Value>(
        _ client: NestClient,
        _ columns: SelectedColumns<Entity, repeat each Value>
    ) where Element == SelectedRow<repeat each Value> {
        self.init(client, as: Element.self) { client in try await client.request(columns) }
    }
}
