import NestModel

/// A request for objects of an entity, as values of its Swift type. Every method returns another request; none changes
/// one. Names are looked up in the server's model when the request is used.
public struct TypedRequest<Entity: ModelEntity>: Sendable {
    public enum Direction: Sendable { case ascending, descending }

    private var predicates: [TypedPredicate<Entity>] = []
    /// The sort keys and the section as texts of the query language.
    private var sort: [String] = []
    private var section = ""
    private var window: FetchWindow?

    init() {}

    /// Only the objects that the predicate matches too.
    public func `where`(_ predicate: TypedPredicate<Entity>) -> TypedRequest {
        self.with { $0.predicates.append(predicate) }
    }

    /// Sorts by a value, after the sort keys that the request has. `ignoring`: differences of text that the order
    /// ignores.
    public func sorted<Value>(
        by path: KeyPath<Entity.Paths, TypedPath<Value>>,
        _ direction: Direction = .ascending,
        ignoring folding: TextFolding = []
    ) -> TypedRequest {
        var key = direction == .descending ? "-" : ""
        key += Entity.paths[keyPath: path].text
        let flags =
            (folding.contains(.caseInsensitive) ? "c" : "") + (folding.contains(.diacriticInsensitive) ? "d" : "")
        if !flags.isEmpty { key += ":\(flags)" }
        return self.with { $0.sort.append(key) }
    }

    /// Sorts by the order of the relationship that the predicate names: `ToDo.where(\.list == list).inOrder()`.
    public func inOrder() -> TypedRequest { self.with { $0.sort = ["order"] } }

    /// Rows with equal values are a section. The rows must be sorted by the value first; without sort keys they are.
    public func sectioned<Value>(by path: KeyPath<Entity.Paths, TypedPath<Value>>) -> TypedRequest {
        self.with { $0.section = Entity.paths[keyPath: path].text }
    }

    /// Some rows of many.
    public func window(_ window: FetchWindow?) -> TypedRequest { self.with { $0.window = window } }

    private func with(_ change: (inout TypedRequest) -> Void) -> TypedRequest {
        var request = self
        change(&request)
        return request
    }

    /// Returns the request for the entity of a model. Throws `unknownProperty` for a path that the model lacks, and
    /// `validationFailed` for a value that no attribute can hold.
    public func named(in entity: TypedEntity<Entity>) throws -> NamedRequest {
        let entity = entity.entity
        var request = try entity.request(
            sort: self.sort.joined(separator: ","),
            section: self.section,
            properties: Entity.columns,
            window: self.window
        ).request
        for predicate in self.predicates {
            request.predicate = request.predicate && (try predicate.predicate(of: entity))
        }
        return NamedRequest(request, of: entity)
    }
}

/// Requests of generated types.
extension NestClient {
    /// Returns the request with the numbers of the server's model.
    public func request<Entity>(_ request: TypedRequest<Entity>) async throws -> NamedRequest {
        try request.named(in: try await self.entity(Entity.self))
    }

    /// Returns the objects of a request, at revision `atLeast` or later.
    public func fetch<Entity>(
        _ request: TypedRequest<Entity>,
        atLeast: Revision = Revision(0)
    ) async throws -> FetchedRows<Entity> {
        try await self.fetch(try await self.request(request), as: Entity.self, atLeast: atLeast)
    }

    /// Returns the number of objects of a request. Ignores its window.
    public func count<Entity>(
        _ request: TypedRequest<Entity>,
        atLeast: Revision = Revision(0)
    ) async throws -> Int {
        try await self.count(try await self.request(request), atLeast: atLeast)
    }

    /// Subscribes to a request while `body` runs: first a snapshot arrives, then every change of the result.
    public func withFetchedResults<Entity, Result>(
        _ request: TypedRequest<Entity>,
        verifyDigest: Bool = false,
        _ body: (RowsSubscription<Entity>) async throws -> Result
    ) async throws -> Result {
        let request = try await self.request(request)
        return try await self.withFetchedResults(request, as: Entity.self, verifyDigest: verifyDigest, body)
    }
}

extension LiveResults where Element: ModelEntity {
    /// The live objects of a request.
    public convenience init(_ client: NestClient, _ request: TypedRequest<Element>) {
        self.init(client, as: Element.self) { client in try await client.request(request) }
    }
}
