import NestModel

extension ModelDraft {
    /// One of everything that an undo can meet: a hierarchy that ends at the top, owners with and without an order, a partner of
    /// its own kind and one of another, pairs with an order on both sides, what is required, unique, denied.
    package static let orchard: ModelDraft = {
        func attribute(_ name: String, isOptional: Bool = true) -> AttributeDraft {
            var attribute = AttributeDraft(name: name, type: .string)
            attribute.isOptional = isOptional
            if !isOptional { attribute.defaultValue = .string("") }
            return attribute
        }
        func toOne(_ name: String, _ destination: String, _ inverse: String, isOptional: Bool = true)
            -> RelationshipDraft
        {
            var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
            relationship.isOptional = isOptional
            return relationship
        }
        func toMany(
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
        var node = EntityDraft(name: "Node")
        node.attributes = [attribute("title", isOptional: false), attribute("note"), attribute("code")]
        node.uniquenessConstraints = [["code"]]
        node.relationships = [
            toOne("parent", "Node", "children"), toMany("children", "Node", "parent", isOrdered: true, .cascade),
            toOne("keeper", "Person", "kept"), toOne("partner", "Node", "partner"),
            toMany("tags", "Tag", "nodes", isOrdered: true), toOne("box", "Box", "held"),
        ]
        var person = EntityDraft(name: "Person")
        person.attributes = [attribute("name", isOptional: false)]
        var badge = toOne("badge", "Badge", "holder")
        badge.deleteRule = .cascade
        person.relationships = [
            toMany("kept", "Node", "keeper"), badge, toMany("friends", "Person", "friends"),
            toMany("guests", "Guest", "host", .cascade),
        ]
        var tag = EntityDraft(name: "Tag")
        tag.attributes = [attribute("name", isOptional: false)]
        tag.relationships = [toMany("nodes", "Node", "tags", isOrdered: true)]
        var holder = EntityDraft(name: "Badge")
        holder.attributes = [attribute("number")]
        holder.relationships = [toOne("holder", "Person", "badge")]
        var box = EntityDraft(name: "Box")
        box.attributes = [attribute("name", isOptional: false)]
        box.relationships = [toMany("held", "Node", "box", .deny)]
        var guest = EntityDraft(name: "Guest")
        guest.attributes = [attribute("name", isOptional: false)]
        guest.relationships = [toOne("host", "Person", "guests", isOptional: false)]
        return ModelDraft(entities: [node, person, tag, holder, box, guest])
    }()
}
