import NestModel

extension ModelDraft {
    /// A model with every case that matters for undo: an optional hierarchy, ordered and unordered owners, a partner of
    /// the same and of another entity, pairs ordered on both sides, required and unique values, and a deny rule.
    package static let orchard: ModelDraft = {
        var node = EntityDraft(name: "Node")
        node.attributes = [.named("title", isOptional: false), .named("note"), .named("code")]
        node.uniquenessConstraints = [["code"]]
        node.relationships = [
            .toOne("parent", "Node", "children"), .toMany("children", "Node", "parent", isOrdered: true, .cascade),
            .toOne("keeper", "Person", "kept"), .toOne("partner", "Node", "partner"),
            .toMany("tags", "Tag", "nodes", isOrdered: true), .toOne("box", "Box", "held"),
        ]
        var person = EntityDraft(name: "Person")
        person.attributes = [.named("name", isOptional: false)]
        person.relationships = [
            .toMany("kept", "Node", "keeper"), .toOne("badge", "Badge", "holder", .cascade),
            .toMany("friends", "Person", "friends"),
            .toMany("guests", "Guest", "host", .cascade),
        ]
        var tag = EntityDraft(name: "Tag")
        tag.attributes = [.named("name", isOptional: false)]
        tag.relationships = [.toMany("nodes", "Node", "tags", isOrdered: true)]
        var holder = EntityDraft(name: "Badge")
        holder.attributes = [.named("number")]
        holder.relationships = [.toOne("holder", "Person", "badge")]
        var box = EntityDraft(name: "Box")
        box.attributes = [.named("name", isOptional: false)]
        box.relationships = [.toMany("held", "Node", "box", .deny)]
        var guest = EntityDraft(name: "Guest")
        guest.attributes = [.named("name", isOptional: false)]
        guest.relationships = [.toOne("host", "Person", "guests", isOptional: false)]
        return ModelDraft(entities: [node, person, tag, holder, box, guest])
    }()
}
