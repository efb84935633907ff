import NestModel

/// The values of one view's rows, with what the transactions make of them.
struct RowValues {
    private let shape: ViewShape
    private let paths: KnownPaths
    private let projection: [PropertyNumber]
    /// The columns whose values may have changed in any row.
    private let affectedColumns: Set<Int>

    private var known: KnownObjects { self.paths.known }

    init(_ shape: ViewShape, _ projection: [PropertyNumber], _ paths: KnownPaths) {
        self.shape = shape
        self.paths = paths
        self.projection = projection
        self.affectedColumns = Set(
            shape.request.columns.indices.filter { paths.isAffected(shape.request.columns[$0], from: shape.entity) }
        )
    }

    /// Whether rows that the transactions do not name may have other values.
    var mayChangeOthers: Bool { !self.affectedColumns.isEmpty }

    /// Returns a row with the values that the transactions gave it, and whether they are all known.
    func overlaid(_ row: Row) -> (row: Row, isKnown: Bool) {
        var row = row
        var isKnown = true
        for (slot, property) in self.projection.enumerated() {
            if let column = property.column {
                guard self.affectedColumns.contains(column) else { continue }
                let path = self.shape.request.columns[column]
                if let value = self.paths.value(path, of: row.id) {
                    row.values[slot] = value
                } else if self.paths.isAffected(path, of: row.id) {
                    isKnown = false
                }
            } else if let value = self.known.changes[row.id]?.values[property] {
                if let value { row.values[slot] = value } else { isKnown = false }
            }
        }
        return (row, isKnown)
    }

    /// Returns the row of an object that was none, or `nil` if not all of its values are known. Those that only rows of
    /// outlines have are 0. `remembered`: has values that are not known otherwise.
    func newRow(_ id: ObjectID, _ remembered: RememberedRow? = nil) -> Row? {
        guard let entity = self.known.entity(of: id) else { return nil }
        var values: [AttributeValue] = []
        for property in self.projection {
            let value: AttributeValue? =
                if property == .entity {
                    .integer(Int64(entity.number.rawValue))
                } else if let column = property.column {
                    self.paths.value(self.shape.request.columns[column], of: id) ?? remembered?.columns[column]
                } else if property.isOfOutlines {
                    .integer(0)
                } else if !entity.storedProperties.contains(property) {
                    .null
                } else {
                    self.known.value(property, of: id) ?? remembered?.values[property]
                }
            guard let value else { return nil }
            values.append(value)
        }
        return Row(id: id, values: values)
    }
}
