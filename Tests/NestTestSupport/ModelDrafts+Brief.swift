import NestModel

/// Properties of test models, written on one line each.
extension AttributeDraft {
    /// Returns an attribute. A required string or integer has the default "" or 0.
    package static func named(
        _ name: String,
        _ type: AttributeType = .string,
        isOptional: Bool = true
    ) -> AttributeDraft {
        var attribute = AttributeDraft(name: name, type: type)
        attribute.isOptional = isOptional
        if !isOptional, type == .string { attribute.defaultValue = .string("") }
        if !isOptional, type == .integer { attribute.defaultValue = .integer(0) }
        return attribute
    }
}

extension RelationshipDraft {
    package static func toOne(
        _ name: String,
        _ destination: String,
        _ inverse: String,
        isOptional: Bool = true,
        _ rule: DeleteRule = .nullify
    ) -> RelationshipDraft {
        var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
        relationship.isOptional = isOptional
        relationship.deleteRule = rule
        return relationship
    }

    package static func toMany(
        _ name: String,
        _ destination: String,
        _ inverse: String,
        isOrdered: Bool = false,
        _ rule: DeleteRule = .nullify
    ) -> RelationshipDraft {
        var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
        relationship.isToMany = true
        relationship.isOrdered = isOrdered
        relationship.deleteRule = rule
        return relationship
    }
}
