import NestModel

extension ModelDraft {
    /// Entries in trees, some of them folders, with users, teams and cities behind them and labels beside them: ways of every
    /// kind and length, most of which lead to few objects.
    static let workshop: ModelDraft = {
        func attribute(_ name: String, _ type: AttributeType, isOptional: Bool = true) -> AttributeDraft {
            var attribute = AttributeDraft(name: name, type: type)
            attribute.isOptional = isOptional
            if !isOptional { attribute.defaultValue = type == .string ? .string("") : .integer(0) }
            return attribute
        }
        func one(_ name: String, _ destination: String, _ inverse: String, _ rule: DeleteRule = .nullify)
            -> RelationshipDraft
        {
            var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
            relationship.deleteRule = rule
            return relationship
        }
        func many(
            _ name: String,
            _ destination: String,
            _ inverse: String,
            isOrdered: Bool = false,
            _ rule: DeleteRule = .nullify
        ) -> RelationshipDraft {
            var relationship = one(name, destination, inverse, rule)
            relationship.isToMany = true
            relationship.isOrdered = isOrdered
            return relationship
        }
        var city = EntityDraft(name: "City")
        city.attributes = [attribute("name", .string), attribute("founded", .date)]
        city.relationships = [many("teams", "Team", "city")]
        var team = EntityDraft(name: "Team")
        team.attributes = [attribute("name", .string, isOptional: false)]
        team.relationships = [one("city", "City", "teams"), many("members", "User", "team", isOrdered: true)]
        var user = EntityDraft(name: "User")
        user.attributes = [
            attribute("name", .string), attribute("rank", .integer, isOptional: false), attribute("born", .date),
        ]
        user.relationships = [
            one("team", "Team", "members"), one("boss", "User", "reports"), many("reports", "User", "boss"),
            many("entries", "Entry", "user"), many("watched", "Entry", "watchers"),
        ]
        var entry = EntityDraft(name: "Entry")
        entry.attributes = [
            attribute("title", .string), attribute("size", .integer), attribute("due", .date),
            attribute("cost", .decimal),
        ]
        entry.relationships = [
            one("parent", "Entry", "children"), many("children", "Entry", "parent", isOrdered: true, .cascade),
            one("user", "User", "entries"), many("watchers", "User", "watched"),
            many("labels", "Label", "entries", isOrdered: true),
        ]
        var folder = EntityDraft(name: "Folder")
        folder.parent = "Entry"
        folder.attributes = [attribute("color", .string, isOptional: false)]
        var label = EntityDraft(name: "Label")
        label.attributes = [attribute("name", .string), attribute("weight", .double)]
        label.relationships = [many("entries", "Entry", "labels", isOrdered: true)]
        return ModelDraft(entities: [city, team, user, entry, folder, label])
    }()
}
