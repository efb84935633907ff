import NestModel
import NestTestSupport

extension ModelDraft {
    /// Entries in trees, some of them folders, with users, their teams and cities, and labels. It has paths of every
    /// kind and length, most of which lead to few objects.
    static let workshop: ModelDraft = {
        var city = EntityDraft(name: "City")
        city.attributes = [.named("name", .string), .named("founded", .date)]
        city.relationships = [.toMany("teams", "Team", "city")]
        var team = EntityDraft(name: "Team")
        team.attributes = [.named("name", .string, isOptional: false)]
        team.relationships = [.toOne("city", "City", "teams"), .toMany("members", "User", "team", isOrdered: true)]
        var user = EntityDraft(name: "User")
        user.attributes = [
            .named("name", .string), .named("rank", .integer, isOptional: false), .named("born", .date),
        ]
        user.relationships = [
            .toOne("team", "Team", "members"), .toOne("boss", "User", "reports"), .toMany("reports", "User", "boss"),
            .toMany("entries", "Entry", "user"), .toMany("watched", "Entry", "watchers"),
        ]
        var entry = EntityDraft(name: "Entry")
        entry.attributes = [
            .named("title", .string), .named("size", .integer), .named("due", .date),
            .named("cost", .decimal),
        ]
        entry.relationships = [
            .toOne("parent", "Entry", "children"), .toMany("children", "Entry", "parent", isOrdered: true, .cascade),
            .toOne("user", "User", "entries"), .toMany("watchers", "User", "watched"),
            .toMany("labels", "Label", "entries", isOrdered: true),
        ]
        var folder = EntityDraft(name: "Folder")
        folder.parent = "Entry"
        folder.attributes = [.named("color", .string, isOptional: false)]
        var label = EntityDraft(name: "Label")
        label.attributes = [.named("name", .string), .named("weight", .double)]
        label.relationships = [.toMany("entries", "Entry", "labels", isOrdered: true)]
        return ModelDraft(entities: [city, team, user, entry, folder, label])
    }()
}
