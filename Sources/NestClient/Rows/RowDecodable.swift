import NestModel

/// A type that is made of a row.
///
/// A `Decodable` structure needs no code. Its keys are the columns of the request, and `id` is the object's id, unless
/// there is a column `id`:
///
///     struct ToDo: Decodable, RowDecodable, Identifiable {
///         var id: ObjectID
///         var title: String
///         var due: Date?
///     }
///     let list = try await client.fetch(entity.request(properties: ["title", "due"]), as: ToDo.self)
public protocol RowDecodable: Sendable {
    /// Throws if the row does not have what the type needs, in the form that it needs.
    init(row: FetchedRow) throws
}

extension FetchedRow: RowDecodable {
    public init(row: FetchedRow) { self = row }
}

extension RowDecodable where Self: Decodable {
    public init(row: FetchedRow) throws { self = try row.decode(Self.self) }
}

extension FetchedRow {
    /// Returns a value of a `Decodable` type with the row's columns as keys: see `RowDecodable`. A column `owner.name`
    /// is the key `name` of a nested structure `owner`, which is null if all its columns are: add the column `owner` to
    /// tell an owner without values from none. Throws `DecodingError`.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(from: RowDecoder(row: self))
    }
}

extension ObjectID: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Int64.self))
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.rawValue)
    }
}
