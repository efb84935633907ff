import NestDocuments
import NestModel

/// Prints rows with the names of their properties.
struct RowPrinter {
    private struct Column {
        var property: PropertyNumber
        var name: String
        var type: AttributeType?
    }

    private let model: ManagedObjectModel
    /// The requested entity. Rows may belong to an entity below it.
    private let entity: EntityDescription
    /// The columns in the order of a row's values.
    private let columns: [Column]
    /// The indexes of `columns` in the order of the output.
    private let order: [Int]
    private let entityColumn: Int?
    /// The columns of an outline: the depth, and the number of children with the fold state.
    private let outline: (depth: Int, children: Int)?
    /// The attribute whose text is the JSON object of an outline's `extra`: JSON output has the object, not the text.
    var extraAttribute: PropertyNumber?

    init(model: ManagedObjectModel, entity: EntityDescription, projection: [PropertyNumber]) {
        let request = ObjectFetchRequest(entity: entity.number)
        let resolved = RequestOptions.Resolved(request: request, model: model, entity: entity, title: entity.name)
        self.init(resolved, projection: projection)
    }

    init(_ resolved: RequestOptions.Resolved, projection: [PropertyNumber]) {
        let (model, entity, request) = (resolved.model, resolved.entity, resolved.request)
        self.model = model
        self.entity = entity
        self.columns = projection.map { property in
            guard let index = property.column, request.columns.indices.contains(index) else {
                let name = entity.shownName(
                    property,
                    isSectioned: request.section != nil,
                    isOutline: projection.contains(.outlineDepth)
                )
                return Column(property: property, name: name, type: entity.attribute(property)?.type)
            }
            let path = request.columns[index]
            let type = path.attributeType(of: entity, in: model)
            return Column(property: property, name: path.text(of: entity, in: model), type: type)
        }
        let asked = resolved.properties.compactMap { projection.firstIndex(of: $0) }
        self.order = asked.isEmpty ? projection.indices.filter { !projection[$0].isOfOutlines } : asked
        if let depth = projection.firstIndex(of: .outlineDepth),
            let children = projection.firstIndex(of: .outlineChildren)
        {
            self.outline = (depth, children)
        } else {
            self.outline = nil
        }
        self.entityColumn = projection.firstIndex(of: .entity)
    }

    /// `id`, then the properties.
    var header: [String] { ["id"] + self.order.map { self.columns[$0].name } }

    // MARK: JSON

    func write(_ row: Row, into json: inout JSONWriter) {
        json.object { json in
            json.field("id", row.id.rawValue)
            self.writeValues(row.values, into: &json)
        }
    }

    func writeValues(_ values: [AttributeValue], into json: inout JSONWriter) {
        if let outline {
            self.write(values[outline.depth], self.columns[outline.depth], into: &json)
            self.write(values[outline.children], self.columns[outline.children], into: &json)
        }
        for index in self.order { self.write(values[index], self.columns[index], into: &json) }
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
        if column.property.isOfOutlines, case .integer(let number) = value {
            guard column.property == .outlineChildren else { return json.field("depth", number) }
            json.field("children", number < 0 ? -1 - number : number)
            return json.field("expanded", number >= 0)
        }
        json.key(column.name)
        if column.property == .entity {
            json.string(self.entityName(value))
        } else if column.property == self.extraAttribute, case .string(let text) = value {
            json.element(JSONElement(extra: text))
        } else {
            json.value(value, of: column.type)
        }
    }

    // MARK: Text

    /// Returns `id`, then the values. Null is empty.
    func cells(_ row: Row) -> [String] {
        ["\(row.id)"] + self.order.map { self.text(row.values[$0], self.columns[$0]) }
    }

    /// Returns one line for a terminal: mark, label, id.
    func line(_ row: Row, _ output: Output) -> String {
        self.line(id: row.id, values: row.values, output)
    }

    func line(id: ObjectID, values: [AttributeValue], _ output: Output) -> String {
        let texts = self.texts(id: id, values: values)
        return "\(texts.main)  \(output.dim(texts.tail))"
    }

    /// Returns what is before the line of an outline's row: nothing in other lists.
    func indentation(_ row: Row) -> String {
        guard let outline, case .integer(let depth) = row.values[outline.depth],
            case .integer(let count) = row.values[outline.children]
        else { return "" }
        let sign = OutlineText.sign(hasChildren: count != 0 && count != -1, isExpanded: count >= 0)
        let shown = min(max(depth, 0), Self.depthMax)
        return String(repeating: "  ", count: Int(shown)) + (shown < depth ? "\(depth) " : "") + sign + " "
    }

    /// The deepest level whose rows are indented more than those above. The lines of deeper ones have their depth.
    private static let depthMax: Int64 = 100

    /// Returns the parts of a line, without control characters: mark and label, and what identifies the object.
    func texts(id: ObjectID, values: [AttributeValue]) -> (main: String, tail: String) {
        let kind = self.entityColumn.map { self.entityName(values[$0]) }
        let label = (kind.flatMap { self.model.entity(named: $0) } ?? self.entity).labelAttribute
        var text: String?
        var mark = ""
        for (column, value) in zip(self.columns, values) {
            if column.property == label, !value.isNull { text = escapingControls(self.text(value, column)) }
            if case .boolean(true) = value, column.name == "done" { mark = "[x] " }
        }
        let tail = kind.map { "\($0) #\(id)" } ?? "#\(id)"
        guard let text else { return ("\(mark)\(self.firstValues(values))", tail) }
        return ("\(mark)\(text)\(self.related(values))", tail)
    }

    /// Returns the requested values of related objects.
    private func related(_ values: [AttributeValue]) -> String {
        self.order.map { index in
            let column = self.columns[index]
            guard column.property.column != nil, !values[index].isNull else { return "" }
            return "  " + escapingControls("\(column.name)=\(self.text(values[index], column))")
        }.joined()
    }

    /// Returns the first values of an object without a label.
    private func firstValues(_ values: [AttributeValue]) -> String {
        let shown = self.order.map { (self.columns[$0], values[$0]) }.filter { column, value in
            !value.isNull && column.property != .entity && (column.type != nil || column.property.column != nil)
        }
        return shown.prefix(3).map { escapingControls("\($0.name)=\(self.text($1, $0))") }.joined(separator: " ")
    }

    private func text(_ value: AttributeValue, _ column: Column) -> String {
        column.property == .entity ? self.entityName(value) : ShownText.value(value, of: column.type)
    }

    private func entityName(_ value: AttributeValue) -> String {
        guard case .integer(let number) = value, let number = UInt16(exactly: number) else { return "" }
        return self.model.entity(EntityNumber(number))?.name ?? "\(number)"
    }
}
