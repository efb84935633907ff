import NestFormats
import NestModel

/// Writes rows of an entity with the names of their properties.
struct RowPrinter {
    let entity: EntityDescription
    private let projection: [PropertyNumber]
    private let names: [String]

    init(entity: EntityDescription, projection: [PropertyNumber]) {
        self.entity = entity
        self.projection = projection
        self.names = projection.map { Self.name(entity.propertyName($0) ?? "\($0.rawValue)") }
    }

    /// `id` is the object's id; an attribute of that name gets an underscore.
    static func name(_ name: String) -> String { name == "id" ? "id_" : name }

    func write(_ row: Row, into json: inout JSONWriter) {
        json.object { json in
            json.field("id", row.id.rawValue)
            self.writeValues(row.values, into: &json)
        }
    }

    func writeValues(_ values: [AttributeValue], into json: inout JSONWriter) {
        for (name, value) in zip(self.names, values) {
            json.key(name)
            json.value(value)
        }
    }

    func writeChanged(_ values: [(property: PropertyNumber, value: AttributeValue)], into json: inout JSONWriter) {
        json.object { json in
            for (property, value) in values {
                json.key(Self.name(self.entity.propertyName(property) ?? "\(property.rawValue)"))
                json.value(value)
            }
        }
    }

    /// One line for people: mark, label, id.
    func line(_ row: Row, _ output: Output) -> String {
        self.line(id: row.id, values: row.values, output)
    }

    func line(id: ObjectID, values: [AttributeValue], _ output: Output) -> String {
        var label = ""
        var mark = ""
        for (property, value) in zip(self.projection, values) {
            if property == self.entity.labelAttribute { label = output.shown(ValueText.text(value)) }
            if case .boolean(true) = value, self.entity.propertyName(property) == "done" { mark = "[x] " }
        }
        return "\(mark)\(label)  \(output.dim("#\(id)"))"
    }
}
