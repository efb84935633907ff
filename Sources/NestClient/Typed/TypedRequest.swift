import NestModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// What of a date makes a section.
public enum SectionPeriod: Sendable {
    case year, month, day

    fileprivate var function: SectionKey.Function {
        switch self {
        case .year: .year
        case .month: .month
        case .day: .day
        }
    }
}

/// A request for objects of an entity, as values of its Swift type. Every method returns another request; none changes
/// one. Names are looked up in the server's model when the request is used.
public struct TypedRequest<Entity: ModelEntity>: Sendable {
    public enum Direction: Sendable { case ascending, descending }

    /// A sort key: the text of its path; `nil`: the order of the relationship.
    private struct SortKey {
        var path: String?
        var isAscending = true
        var folding: TextFolding = []
    }

    private var predicate: TypedPredicate<Entity>?
    private var sort: [SortKey] = []
    private var section: (function: SectionKey.Function, path: String)?
    private var window: FetchWindow?

    init() {}

    /// Only the objects that the predicate matches too.
    public func `where`(_ predicate: TypedPredicate<Entity>) -> TypedRequest {
        self.with { $0.predicate = self.predicate.map { $0 && predicate } ?? predicate }
    }

    /// Sorts by a value, after the sort keys that the request has. `ignoring`: differences of text that the order
    /// ignores.
    public func sorted<Value>(
        by path: KeyPath<Entity.Paths, TypedPath<Value>>,
        _ direction: Direction = .ascending,
        ignoring folding: TextFolding = []
    ) -> TypedRequest {
        let text = Entity.paths[keyPath: path].text
        return self.with {
            $0.sort.append(SortKey(path: text, isAscending: direction == .ascending, folding: folding))
        }
    }

    /// Sorts by the order of the relationship that the predicate names, and by nothing else:
    /// `ToDo.where(\.list == list).inOrder()`.
    public func inOrder() -> TypedRequest { self.with { $0.sort = [SortKey(path: nil)] } }

    /// Rows with equal values are a section. The rows must be sorted by the value first; without sort keys they are.
    public func sectioned<Value>(by path: KeyPath<Entity.Paths, TypedPath<Value>>) -> TypedRequest {
        self.sectioned(.value, of: path)
    }

    /// Rows whose texts begin with the same character are a section, as in an address book.
    public func sectioned(byFirstCharacterOf path: KeyPath<Entity.Paths, TypedPath<String>>) -> TypedRequest {
        self.sectioned(.firstCharacter, of: path)
    }

    /// Rows of the same year, month or day, in UTC, are a section: `2026`, `2026-11` or `2026-11-21`.
    public func sectioned(
        by path: KeyPath<Entity.Paths, TypedPath<Date>>,
        _ period: SectionPeriod
    ) -> TypedRequest {
        self.sectioned(period.function, of: path)
    }

    private func sectioned<Value>(
        _ function: SectionKey.Function,
        of path: KeyPath<Entity.Paths, TypedPath<Value>>
    ) -> TypedRequest {
        self.with { $0.section = (function, Entity.paths[keyPath: path].text) }
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
        try self.named(in: entity.entity, Entity.columns)
    }

    /// The same with other columns. `selected`: those of a `SelectedRow`, in its order.
    func named(in entity: NamedEntity, _ columns: [String], selected: [String] = []) throws -> NamedRequest {
        var request = try entity.request(properties: columns, window: self.window).request
        if let predicate = self.predicate { request.predicate = try predicate.predicate(of: entity) }
        request.sort = try self.sort.map { key throws(NestError) in
            guard let path = key.path else { return .order }
            return OrderingTerm(
                key: .path(try entity.path(path)),
                isAscending: key.isAscending,
                folding: key.folding
            )
        }
        if let section = self.section {
            let path = try entity.path(section.path)
            request.section = SectionKey(section.function, of: path)
            if request.sort.isEmpty { request.sort = [OrderingTerm(key: .path(path))] }
        }
        return NamedRequest(request, of: entity, selected: selected)
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
