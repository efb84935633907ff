/// A request that a model names, with variables: a fetched property or a fetch request template of Core Data.
public struct RequestDescription: Hashable, Sendable {
    /// `User.longPhones` for a fetched property of User, otherwise the template's name.
    public let name: String
    /// The entity of the object that `$FETCH_SOURCE` stands for; `nil`: the request has no source.
    public let source: EntityNumber?
    /// The entity of the rows.
    public let entity: EntityNumber
    /// A predicate with variables like `$FETCH_SOURCE`; empty: all objects.
    public let predicate: String
    /// Sort keys, as `nestc fetch --sort` takes them; empty: by id.
    public let sort: String

    public init(name: String, source: EntityNumber?, entity: EntityNumber, predicate: String, sort: String) {
        self.name = name
        self.source = source
        self.entity = entity
        self.predicate = predicate
        self.sort = sort
    }

    /// The variable that stands for the source.
    public static let sourceVariable = "FETCH_SOURCE"
}

/// A request of a draft.
public struct RequestDraft: Hashable, Sendable {
    public var name: String
    /// The entity that has the fetched property; `nil` for a template.
    public var source: String?
    public var entity: String
    public var predicate = ""
    public var sort = ""

    public init(name: String, source: String? = nil, entity: String) {
        self.name = name
        self.source = source
        self.entity = entity
    }

    /// The name by which clients call it.
    public var fullName: String { self.source.map { "\($0).\(self.name)" } ?? self.name }
}
