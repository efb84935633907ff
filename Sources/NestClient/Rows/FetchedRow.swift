import NestModel

/// A row of a request that is written by name: an object's id, and the values of the request's columns.
///
///     row.id
///     row["title"]                                       // an AttributeValue
///     row.text("title")
///     try row.value("created", as: Date.self)
///     try row.decode(ToDo.self)                          // a Decodable structure
public struct FetchedRow: Identifiable, Hashable, Sendable {
    public let row: Row
    /// The names of the values.
    let columns: Columns

    init(_ row: Row, _ columns: Columns) {
        self.row = row
        self.columns = columns
    }

    public var id: ObjectID { self.row.id }

    /// The attributes, to-one relationships and paths of the request: those that have a value here.
    public var names: [String] { self.columns.names.filter { !$0.isEmpty } }

    /// The value of a column. A name that the request does not have is a mistake of the program, and ends it.
    public subscript(name: String) -> AttributeValue {
        guard let value = self.find(name) else { preconditionFailure(self.columns.unknown(name)) }
        return value
    }

    /// The value of a column; null if the row is none of the request, and has fewer values. `nil` if the request has no
    /// such column.
    func find(_ name: String) -> AttributeValue? {
        guard let slot = self.columns.slots[name] else { return nil }
        return slot < self.row.values.count ? self.row.values[slot] : .null
    }

    /// Returns a value as text: "" for null, a date in RFC 3339 and UTC, data in base64, a reference as the id.
    public func text(_ name: String) -> String { FetchedResultsSectionInfo.name(for: self[name]) }

    /// Returns a value of the given type. Throws `unknownProperty` for a name that the request does not have, and
    /// `invalid` for a value of another type, such as null if the type is no Optional.
    public func value<Value: AttributeConvertible>(
        _ name: String,
        as type: Value.Type = Value.self
    ) throws(NestError) -> Value {
        guard let found = self.find(name) else { throw NestError(.unknownProperty, self.columns.unknown(name)) }
        guard let value = Value(found) else {
            throw NestError(.invalid, "\(name) of object \(self.id) is \(found.typeName), not \(type)")
        }
        return value
    }

    public static func == (a: FetchedRow, b: FetchedRow) -> Bool { a.row == b.row && a.columns == b.columns }

    public func hash(into hasher: inout Hasher) { hasher.combine(self.row) }
}

extension FetchedRow: ObjectReferring {
    public var objectReference: ObjectReference { .object(self.id) }
}

extension FetchedRow: CustomStringConvertible {
    public var description: String {
        let values = self.names.map { "\($0): \(self[$0].isNull ? "null" : self.text($0))" }
        return "\(self.id) [\(values.joined(separator: ", "))]"
    }
}

/// The names of a request's columns and the slots of their values. All rows of the request share it.
final class Columns: Equatable, Sendable {
    /// In the order of the values. "": a value without a name, such as a row's depth in an outline.
    let names: [String]
    let slots: [String: Int]
    /// The columns of a `SelectedRow`, in its order; empty for other rows.
    let selected: [String]

    init(_ names: [String], selected: [String] = []) {
        self.names = names
        self.selected = selected
        self.slots = Dictionary(zip(names, 0...).filter { !$0.0.isEmpty }) { first, _ in first }
    }

    func unknown(_ name: String) -> String {
        let names = self.names.filter { !$0.isEmpty }
        return "the rows have no '\(name)'; they have \(names.joined(separator: ", "))"
            + NearestName.hint(name, among: names)
    }

    static func == (a: Columns, b: Columns) -> Bool {
        a === b || a.names == b.names && a.selected == b.selected
    }
}
