import NestModel

/// Draws a model as text: each entity with its own attributes and relationships, one on each line.
///
///     Dog is a Pet
///       name          string      1 to 40 characters, indexed
///       owner    -->  Person      optional, inverse dogs, nullify
///       puppies  -->> Dog         ordered, at most 9, inverse mother, cascade
public enum ModelDrawing {
    /// Returns the lines without line ends.
    public static func lines(of model: ManagedObjectModel) -> [String] {
        let draft = ModelDraft(model)
        return draft.entities.enumerated().flatMap { index, entity in
            (index == 0 ? [] : [""]) + Self.lines(of: entity)
        } + (draft.requests.isEmpty ? [] : [""] + draft.requests.map(Self.line))
    }

    private static func line(of request: RequestDraft) -> String {
        let condition = request.predicate.isEmpty ? "" : " where \(request.predicate)"
        let order = request.sort.isEmpty ? "" : " sorted by \(request.sort)"
        return "request \(request.fullName) of \(request.entity)\(condition)\(order)"
    }

    private static func lines(of entity: EntityDraft) -> [String] {
        let rows =
            entity.attributes.map { Self.row(of: $0, in: entity) }
            + entity.relationships.map { Self.row(of: $0, in: entity) }
        let nameWidth = rows.map(\.name.count).max() ?? 0
        let typeWidth = rows.map(\.type.count).max() ?? 0
        let hasArrows = !entity.relationships.isEmpty
        var lines = [Self.title(of: entity)]
        for row in rows {
            let arrow = hasArrows ? "  " + Self.padded(row.arrow, 4) + " " : "  "
            let line = "  \(Self.padded(row.name, nameWidth))\(arrow)\(Self.padded(row.type, typeWidth))"
            lines.append(row.facts.isEmpty ? Self.trimmed(line) : "\(line)  \(row.facts.joined(separator: ", "))")
        }
        lines += entity.uniquenessConstraints.filter { $0.count > 1 }
            .map { "  unique together: \($0.joined(separator: ", "))" }
        lines += entity.indexes.filter { $0.count > 1 }.map { "  indexed together: \($0.joined(separator: ", "))" }
        return lines
    }

    private static func title(of entity: EntityDraft) -> String {
        var facts: [String] = []
        if entity.isAbstract { facts.append("abstract") }
        if let label = entity.label { facts.append("labelled by \(label)") }
        if let root = entity.root { facts.append("object \(root.object) is the root of \(root.relationship)") }
        if let name = entity.renamedFrom { facts.append("was \(name)") }
        let title = entity.parent.map { "\(entity.name) is a \($0)" } ?? entity.name
        return facts.isEmpty ? title : "\(title) (\(facts.joined(separator: ", ")))"
    }

    private struct Row {
        var name: String
        var arrow = ""
        var type: String
        var facts: [String] = []
    }

    private static func row(of attribute: AttributeDraft, in entity: EntityDraft) -> Row {
        var row = Row(name: attribute.name, type: "\(attribute.type)")
        if attribute.isOptional { row.facts.append("optional") }
        if attribute.defaultsToNow { row.facts.append("default now") }
        if let value = ModelJSON.node(of: attribute.defaultValue, attribute) {
            row.facts.append("default \(value.text)")
        }
        let least = ModelJSON.node(of: attribute.minimum, attribute)?.text
        let greatest = ModelJSON.node(of: attribute.maximum, attribute)?.text
        if let range = Self.range(least, greatest) {
            let isLength = attribute.type == .string || attribute.type == .uri
            let unit = range.hasSuffix(" 1") ? " character" : " characters"
            row.facts.append(isLength ? range + unit : range)
        }
        if let pattern = attribute.pattern { row.facts.append("matches \(FetchPredicate.quoted(pattern))") }
        if entity.uniquenessConstraints.contains([attribute.name]) { row.facts.append("unique") }
        if entity.indexes.contains([attribute.name]) { row.facts.append("indexed") }
        if let name = attribute.renamedFrom { row.facts.append("was \(name)") }
        return row
    }

    private static func row(of relationship: RelationshipDraft, in entity: EntityDraft) -> Row {
        var row = Row(
            name: relationship.name,
            arrow: relationship.isToMany ? "-->>" : "-->",
            type: relationship.destination
        )
        if relationship.isOptional { row.facts.append("optional") }
        if relationship.isOrdered { row.facts.append("ordered") }
        let least = relationship.minimumCount > 0 ? "\(relationship.minimumCount)" : nil
        let greatest = relationship.maximumCount > 0 ? "\(relationship.maximumCount)" : nil
        if let range = Self.range(least, greatest) { row.facts.append(range) }
        let inverse = relationship.inverse.isEmpty ? "hidden inverse" : "inverse \(relationship.inverse)"
        row.facts += [inverse, "\(relationship.deleteRule)"]
        if entity.uniquenessConstraints.contains([relationship.name]) { row.facts.append("unique") }
        if let name = relationship.renamedFrom { row.facts.append("was \(name)") }
        return row
    }

    private static func range(_ least: String?, _ greatest: String?) -> String? {
        switch (least, greatest) {
        case (let least?, let greatest?): least == greatest ? "exactly \(least)" : "\(least) to \(greatest)"
        case (let least?, nil): "at least \(least)"
        case (nil, let greatest?): "at most \(greatest)"
        case (nil, nil): nil
        }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }

    private static func trimmed(_ text: String) -> String {
        String(text.reversed().drop { $0 == " " }.reversed())
    }
}
