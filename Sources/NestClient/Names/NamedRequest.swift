import NestModel

/// A fetch request whose rows are read by name. It stays valid when the server gets a model that extends its own.
public struct NamedRequest: Sendable {
    public let request: ObjectFetchRequest
    public let entity: NamedEntity
    let columns: Columns

    /// The properties of a row's values.
    private let projection: [PropertyNumber]

    static let otherModel = NestError(
        .schemaChanged,
        "the server's model does not extend the one that the request was made for: call entity(_:) again"
    )

    public init(_ request: ObjectFetchRequest, of entity: NamedEntity) {
        self.init(request, of: entity, selected: [])
    }

    /// `selected`: the columns of a `SelectedRow`, in its order.
    init(_ request: ObjectFetchRequest, of entity: NamedEntity, selected: [String]) {
        let request = request.spelledOut(in: entity.model)
        self.request = request
        self.entity = entity
        self.projection = request.canonical(in: entity.model).projection
        let names = self.projection.map { property in
            if let column = property.column, request.columns.indices.contains(column) {
                return request.columns[column].text(of: entity.description, in: entity.model)
            }
            return entity.description.propertyName(property) ?? ""
        }
        self.columns = Columns(names, selected: selected)
    }

    /// Throws `schemaChanged` if rows have other values than those of this request.
    func check(_ projection: [PropertyNumber]) throws(NestError) {
        guard projection == self.projection else { throw Self.otherModel }
    }

    /// Returns a row of this request, for example one that a controller has delivered, with the names of its values.
    public func named(_ row: Row) -> FetchedRow { FetchedRow(row, self.columns) }

    /// Returns a row of an outline of this request with the names of its values.
    public func named(_ row: OutlineState.Row) -> FetchedRow {
        FetchedRow(Row(id: row.id, values: row.values), self.columns)
    }

    /// Returns the same request with another window.
    public func window(_ window: FetchWindow?) -> NamedRequest {
        var request = self.request
        request.window = window
        return NamedRequest(request, of: self.entity, selected: self.columns.selected)
    }
}
