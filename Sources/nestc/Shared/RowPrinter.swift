import NestFormats
import NestModel

/// Writes rows with the names of their properties.
struct RowPrinter {
    private struct Column {
        var property: PropertyNumber
        var name: String
        var type: AttributeType?
    }

    private let model: ManagedObjectModel
    /// The entity that was asked for; rows may be of one below it.
    private let entity: EntityDescription
    private let columns: [Column]
    private let entityColumn: Int?

    init(model: ManagedObjectModel, entity: EntityDescription, projection: [PropertyNumber]) {
        self.model = model
        self.entity = entity
        self.columns = projection.map { property in
            Column(property: property, name: entity.shownName(property), type: entity.attribute(property)?.type)
        }
        self.entityColumn = projection.firstIndex(of: .entity)
    }

    /// `id`, then the properties.
    var header: [String] { ["id"] + self.columns.map(\.name) }

    // MARK: JSON

    func write(_ row: Row, into json: inout JSONWriter) {
        json.object { json in
            json.field("id", row.id.rawValue)
            self.writeValues(row.values, into: &json)
        }
    }

    func writeValues(_ values: [AttributeValue], into json: inout JSONWriter) {
        for (column, value) in zip(self.columns, values) { self.write(value, column, into: &json) }
    }

    func writeChanged(_ values: [(property: PropertyNumber, value: AttributeValue)], into json: inout JSONWriter) {
        json.object { json in
            for (property, value) in values {
                guard let column = self.columns.first(where: { $0.property == property }) else { continue }
                self.write(value, column, into: &json)
            }
        }
    }

    private func write(_ value: AttributeValue, _ column: Column, into json: inout JSONWriter) {
        json.key(column.name)
        if column.property == .entity {
            json.string(self.entityName(value))
        } else {
            json.value(value, of: column.type)
        }
    }

    // MARK: Text

    /// `id`, then the values; null is empty.
    func cells(_ row: Row) -> [String] {
        ["\(row.id)"] + zip(self.columns, row.values).map { self.text($1, $0) }
    }

    /// One line for people: mark, label, id.
    func line(_ row: Row, _ output: Output) -> String {
        self.line(id: row.id, values: row.values, output)
    }

    func line(id: ObjectID, values: [AttributeValue], _ output: Output) -> String {
        let kind = self.entityColumn.map { self.entityName(values[$0]) }
        let label = (kind.flatMap { self.model.entity(named: $0) } ?? self.entity).labelAttribute
        var text: String?
        var mark = ""
        for (column, value) in zip(self.columns, values) {
            if column.property == label, !value.isNull { text = output.shown(self.text(value, column)) }
            if case .boolean(true) = value, column.name == "done" { mark = "[x] " }
        }
        let tail = output.dim(kind.map { "\($0) #\(id)" } ?? "#\(id)")
        return "\(mark)\(text ?? self.firstValues(values, output))  \(tail)"
    }

    /// What there is to see of an object without a name.
    private func firstValues(_ values: [AttributeValue], _ output: Output) -> String {
        let shown = zip(self.columns, values).filter { !$1.isNull && $0.property != .entity && $0.type != nil }
        return shown.prefix(3).map { output.shown("\($0.name)=\(self.text($1, $0))") }.joined(separator: " ")
    }

    private func text(_ value: AttributeValue, _ column: Column) -> String {
        column.property == .entity ? self.entityName(value) : ValueText.text(value, of: column.type)
    }

    private func entityName(_ value: AttributeValue) -> String {
        guard case .integer(let number) = value, let number = UInt16(exactly: number) else { return "" }
        return self.model.entity(EntityNumber(number))?.name ?? "\(number)"
    }
}
