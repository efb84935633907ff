import NestModel

/// Writes a model as JSON.
extension ModelJSON {
    static func node(of draft: ModelDraft) -> JSONElement {
        let requests = JSONElement.array(draft.requests.map { Self.node(of: $0) })
        return .object(
            [
                .init("format", .string(Self.format)),
                .init("version", .number("\(Self.version)")),
                .init("entities", .array(draft.entities.map { Self.node(of: $0) })),
            ] + (draft.requests.isEmpty ? [] : [.init("requests", requests)])
        )
    }

    private static func node(of request: RequestDraft) -> JSONElement {
        var members = Members(name: request.name)
        members.add("source", request.source)
        members.add("entity", request.entity)
        members.add("predicate", request.predicate.isEmpty ? nil : request.predicate)
        members.add("sort", request.sort.isEmpty ? nil : request.sort)
        return .object(members.members)
    }

    private static func node(of entity: EntityDraft) -> JSONElement {
        var members = Members(name: entity.name)
        members.add("renamedFrom", entity.renamedFrom)
        members.add("parent", entity.parent)
        members.add("abstract", entity.isAbstract)
        members.add("label", entity.label)
        if let root = entity.root {
            let object = JSONElement.number("\(root.object.rawValue)")
            members.add("root", .object([.init("relationship", .string(root.relationship)), .init("object", object)]))
        }
        members.add("attributes", entity.attributes.map { Self.node(of: $0) })
        members.add("relationships", entity.relationships.map { Self.node(of: $0) })
        let names = { (properties: [String]) in JSONElement.array(properties.map(JSONElement.string)) }
        members.add("unique", entity.uniquenessConstraints.map(names))
        members.add("indexes", entity.indexes.map(names))
        return .object(members.members)
    }

    private static func node(of attribute: AttributeDraft) -> JSONElement {
        var members = Members(name: attribute.name)
        members.add("renamedFrom", attribute.renamedFrom)
        members.add("type", "\(attribute.type)")
        members.add("optional", attribute.isOptional)
        members.add(
            "default",
            attribute.defaultsToNow ? .string("now") : Self.node(of: attribute.defaultValue, attribute)
        )
        members.add("minimum", Self.node(of: attribute.minimum, attribute))
        members.add("maximum", Self.node(of: attribute.maximum, attribute))
        members.add("matches", attribute.pattern)
        return .object(members.members)
    }

    private static func node(of relationship: RelationshipDraft) -> JSONElement {
        var members = Members(name: relationship.name)
        members.add("renamedFrom", relationship.renamedFrom)
        members.add("destination", relationship.destination)
        members.add("inverse", relationship.inverse.isEmpty ? nil : relationship.inverse)
        members.add("toMany", relationship.isToMany)
        members.add("ordered", relationship.isOrdered)
        members.add("optional", relationship.isOptional ? nil : .boolean(false))
        members.add("deleteRule", relationship.deleteRule == .nullify ? nil : "\(relationship.deleteRule)")
        members.add("minimumCount", relationship.minimumCount)
        members.add("maximumCount", relationship.maximumCount)
        return .object(members.members)
    }

    /// Returns `nil` for no value.
    static func node(of value: AttributeValue, _ attribute: AttributeDraft) -> JSONElement? {
        switch value {
        case .null: nil
        // A float that needs 64 bits is out of range or precision; the model refuses it with all its digits.
        case .double(let number) where attribute.type == .float && Double(Float(number)) != number: .init(number)
        case .date(let date) where !DateText.isReadable(date): .number("\(date)")
        default: JSONElement(value, of: attribute.type)
        }
    }

    /// The members of an object that differ from the defaults.
    private struct Members {
        var members: [JSONElement.Member]

        init(name: String) {
            self.members = [.init("name", .string(name))]
        }

        mutating func add(_ name: String, _ value: JSONElement?) {
            if let value { self.members.append(.init(name, value)) }
        }

        mutating func add(_ name: String, _ value: String?) { self.add(name, value.map(JSONElement.string)) }
        mutating func add(_ name: String, _ value: Bool) { self.add(name, value ? .boolean(true) : nil) }
        mutating func add(_ name: String, _ value: Int) { self.add(name, value == 0 ? nil : .number("\(value)")) }
        mutating func add(_ name: String, _ value: [JSONElement]) {
            self.add(name, value.isEmpty ? nil : .array(value))
        }
    }
}

extension DateText {
    /// Whether the text of a date can be read back: its year has four digits.
    static func isReadable(_ microseconds: Int64) -> Bool {
        Self.microseconds(Self.text(microseconds: microseconds)) == microseconds
    }
}
