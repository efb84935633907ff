import NestModel

extension ModelDraft {
    /// Parties that are persons or companies, tasks of which some are memos; ordered many-to-many both ways, its own inverse, one-to-one, one-to-many.
    static let club: ModelDraft = {
        func attribute(_ name: String, _ type: AttributeType, isOptional: Bool = true) -> AttributeDraft {
            var attribute = AttributeDraft(name: name, type: type)
            attribute.isOptional = isOptional
            if !isOptional, type == .integer { attribute.defaultValue = .integer(0) }
            if !isOptional, type == .string { attribute.defaultValue = .string("") }
            return attribute
        }
        func relationship(
            _ name: String,
            _ destination: String,
            _ inverse: String,
            isToMany: Bool = true,
            isOrdered: Bool = false,
            _ rule: DeleteRule = .nullify
        ) -> RelationshipDraft {
            var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
            relationship.isToMany = isToMany
            relationship.isOrdered = isOrdered
            relationship.deleteRule = rule
            return relationship
        }
        var party = EntityDraft(name: "Party")
        party.isAbstract = true
        party.attributes = [
            attribute("name", .string), attribute("rank", .integer, isOptional: false), attribute("dues", .decimal),
        ]
        party.relationships = [
            relationship("groups", "Group", "members"),
            relationship("tasks", "Task", "party", isOrdered: true, .cascade),
        ]
        var person = EntityDraft(name: "Person")
        person.parent = "Party"
        person.attributes = [attribute("born", .date), attribute("weight", .double)]
        person.relationships = [
            relationship("friends", "Person", "friends"), relationship("leads", "Group", "leader", isToMany: false),
        ]
        var company = EntityDraft(name: "Company")
        company.parent = "Party"
        company.attributes = [attribute("seal", .data)]
        var group = EntityDraft(name: "Group")
        group.attributes = [attribute("title", .string, isOptional: false), attribute("isOpen", .boolean)]
        group.relationships = [
            relationship("members", "Party", "groups", isOrdered: true),
            relationship("leader", "Person", "leads", isToMany: false, .cascade),
            relationship("tags", "Task", "groups", isOrdered: true),
        ]
        var task = EntityDraft(name: "Task")
        task.attributes = [attribute("title", .string), attribute("token", .uuid), attribute("due", .date)]
        task.relationships = [
            relationship("party", "Party", "tasks", isToMany: false),
            relationship("groups", "Group", "tags", isOrdered: true),
        ]
        var memo = EntityDraft(name: "Memo")
        memo.parent = "Task"
        memo.attributes = [attribute("text", .string)]
        return ModelDraft(entities: [party, person, company, group, task, memo])
    }()
}

extension ManagedObjectModel {
    /// Names an entity or property of a model that has it.
    func number(_ entity: String) -> EntityNumber { self.entity(named: entity)!.number }

    func number(_ entity: String, _ property: String) -> PropertyNumber {
        self.entity(named: entity)!.propertyNumber(named: property)!
    }
}
