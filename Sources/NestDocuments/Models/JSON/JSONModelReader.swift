import NestModel

/// Creates a draft from nest's JSON form of a model.
struct JSONModelReader {
    /// All violations of the form, each with its path.
    private(set) var faults: [String] = []

    mutating func draft(_ node: JSONElement) -> ModelDraft {
        var model = JSONMembers(node, at: "")
        if let format = model.string("format"), format != ModelJSON.format {
            model.fault("format", "'\(format)' is not \(ModelJSON.format)")
        }
        _ = model.integer("version", in: 1...ModelJSON.version)
        let entities = model.array("entities")
        let requests = model.array("requests")
        model.finish()
        self.faults += model.faults
        return ModelDraft(
            entities: entities.map { self.entity($0.node, at: $0.path) },
            requests: requests.map { self.request($0.node, at: $0.path) }
        )
    }

    private mutating func request(_ node: JSONElement, at path: String) -> RequestDraft {
        var members = JSONMembers(node, at: path)
        var request = RequestDraft(
            name: members.requiredString("name"),
            source: members.string("source"),
            entity: members.requiredString("entity")
        )
        request.predicate = members.string("predicate") ?? ""
        request.sort = members.string("sort") ?? ""
        members.finish()
        self.faults += members.faults
        return request
    }

    private mutating func entity(_ node: JSONElement, at path: String) -> EntityDraft {
        var members = JSONMembers(node, at: path)
        var entity = EntityDraft(name: members.requiredString("name"))
        entity.renamedFrom = members.string("renamedFrom")
        entity.parent = members.string("parent")
        entity.isAbstract = members.boolean("abstract", default: false)
        entity.label = members.string("label")
        if let root = members.take("root") { entity.root = self.root(root, at: members.path(of: "root")) }
        let attributes = members.array("attributes")
        let relationships = members.array("relationships")
        let unique = members.array("unique")
        let indexes = members.array("indexes")
        members.finish()
        self.faults += members.faults
        entity.attributes = attributes.map { self.attribute($0.node, at: $0.path) }
        entity.relationships = relationships.map { self.relationship($0.node, at: $0.path) }
        entity.uniquenessConstraints = unique.compactMap { self.names($0.node, at: $0.path) }
        entity.indexes = indexes.compactMap { self.names($0.node, at: $0.path) }
        return entity
    }

    private mutating func root(_ node: JSONElement, at path: String) -> (relationship: String, object: ObjectID) {
        var members = JSONMembers(node, at: path)
        let relationship = members.requiredString("relationship")
        let object = members.integer("object", in: 1...1_000) ?? 1
        members.finish()
        self.faults += members.faults
        return (relationship, ObjectID(Int64(object)))
    }

    private static let types = AttributeType.allCases.map { ("\($0)", $0) }
    private static let deleteRules = DeleteRule.allCases.map { ("\($0)", $0) }

    private mutating func attribute(_ node: JSONElement, at path: String) -> AttributeDraft {
        var members = JSONMembers(node, at: path)
        let name = members.requiredString("name")
        let renamedFrom = members.string("renamedFrom")
        let count = members.faults.count
        let type = members.word("type", of: Self.types)
        if type == nil, members.faults.count == count, case .object = node {
            members.fault("type", "it is missing; one of \(Self.types.map(\.0).joined(separator: ", "))")
        }
        var attribute = AttributeDraft(name: name, type: type ?? .string)
        attribute.renamedFrom = renamedFrom
        attribute.isOptional = members.boolean("optional", default: false)
        attribute.pattern = members.string("matches")
        let values = ["default", "minimum", "maximum"].map { members.take($0) }
        // A value can be checked only if the type is known.
        if let type {
            if type == .date, values[0] == .string("now") {
                attribute.defaultsToNow = true
            } else {
                attribute.defaultValue = Self.value(values[0], of: type, "default", &members)
            }
            let boundType = type == .string || type == .uri ? .integer : type
            attribute.minimum = Self.value(values[1], of: boundType, "minimum", &members)
            attribute.maximum = Self.value(values[2], of: boundType, "maximum", &members)
        }
        members.finish()
        self.faults += members.faults
        return attribute
    }

    private static func value(
        _ node: JSONElement?,
        of type: AttributeType,
        _ name: String,
        _ members: inout JSONMembers
    ) -> AttributeValue {
        guard let node, node != .null else { return .null }
        if let value = JSONValues.value(node, of: type) { return value }
        let now = type == .date && name == "default" ? ", or \"now\"" : ""
        members.fault(name, "\(JSONValues.form(of: type))\(now) is expected, not \(node.typeName)")
        return .null
    }

    private mutating func relationship(_ node: JSONElement, at path: String) -> RelationshipDraft {
        var members = JSONMembers(node, at: path)
        var relationship = RelationshipDraft(
            name: members.requiredString("name"),
            destination: members.requiredString("destination"),
            inverse: members.string("inverse") ?? ""
        )
        relationship.renamedFrom = members.string("renamedFrom")
        relationship.isToMany = members.boolean("toMany", default: false)
        relationship.isOrdered = members.boolean("ordered", default: false)
        relationship.isOptional = members.boolean("optional", default: true)
        relationship.deleteRule = members.word("deleteRule", of: Self.deleteRules) ?? .nullify
        relationship.minimumCount = members.integer("minimumCount", in: Self.counts) ?? 0
        relationship.maximumCount = members.integer("maximumCount", in: Self.counts) ?? 0
        members.finish()
        self.faults += members.faults
        return relationship
    }

    private static let counts = 0...Int(Int32.max)

    /// Returns the names of properties; `nil` when the node is not an array of names.
    private mutating func names(_ node: JSONElement, at path: String) -> [String]? {
        var names: [String] = []
        if case .array(let elements) = node {
            for case .string(let name) in elements { names.append(name) }
            if names.count == elements.count { return names }
        }
        self.faults.append("\(path): an array of names is expected, as in [\"name\"]")
        return nil
    }
}
