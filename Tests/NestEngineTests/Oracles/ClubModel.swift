import NestModel
import NestTestSupport

extension ModelDraft {
    /// Parties, which are persons or companies, in groups, with tasks, some of which are memos. The relationships are
    /// one-to-one, one-to-many, many-to-many with an order on one side and on both, and one that is its own inverse.
    static let club: ModelDraft = {
        var party = EntityDraft(name: "Party")
        party.isAbstract = true
        party.attributes = [
            .named("name", .string), .named("rank", .integer, isOptional: false), .named("dues", .decimal),
        ]
        party.relationships = [
            .toMany("groups", "Group", "members"),
            .toMany("tasks", "Task", "party", isOrdered: true, .cascade),
        ]
        var person = EntityDraft(name: "Person")
        person.parent = "Party"
        person.attributes = [.named("born", .date), .named("weight", .double)]
        person.relationships = [
            .toMany("friends", "Person", "friends"), .toOne("leads", "Group", "leader"),
        ]
        var company = EntityDraft(name: "Company")
        company.parent = "Party"
        company.attributes = [.named("seal", .data)]
        var group = EntityDraft(name: "Group")
        group.attributes = [.named("title", .string, isOptional: false), .named("isOpen", .boolean)]
        group.relationships = [
            .toMany("members", "Party", "groups", isOrdered: true),
            .toOne("leader", "Person", "leads", .cascade),
            .toMany("tags", "Task", "groups", isOrdered: true),
        ]
        var task = EntityDraft(name: "Task")
        task.attributes = [.named("title", .string), .named("token", .uuid), .named("due", .date)]
        task.relationships = [
            .toOne("party", "Party", "tasks"),
            .toMany("groups", "Group", "tags", isOrdered: true),
        ]
        var memo = EntityDraft(name: "Memo")
        memo.parent = "Task"
        memo.attributes = [.named("text", .string)]
        return ModelDraft(entities: [party, person, company, group, task, memo])
    }()
}

extension ManagedObjectModel {
    /// Returns the number of an entity that the model has.
    func number(_ entity: String) -> EntityNumber { self.entity(named: entity)!.number }

    func number(_ entity: String, _ property: String) -> PropertyNumber {
        self.entity(named: entity)!.propertyNumber(named: property)!
    }
}
