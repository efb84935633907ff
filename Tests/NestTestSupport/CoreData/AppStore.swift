import NestModel

/// The objects of an app that uses Core Data, as a test describes them: the oracle of what `nestd adopt` must find.
package struct AppStore: Sendable {
    /// An object is identified by its table's topmost entity and its `Z_PK`.
    package struct Key: Hashable, Comparable, Sendable {
        package var table: String
        package var number: Int64

        package init(table: String, number: Int64) {
            self.table = table
            self.number = number
        }

        package static func < (a: Key, b: Key) -> Bool { (a.table, a.number) < (b.table, b.number) }
    }

    package struct Object: Sendable {
        package var entity: String
        package var values: [String: AttributeValue] = [:]
        /// The objects of each relationship, in order; of an unordered one by `Z_PK`.
        package var links: [String: [Key]] = [:]

        package init(entity: String, values: [String: AttributeValue] = [:]) {
            self.entity = entity
            self.values = values
        }
    }

    /// How a one-way to-many relationship is stored.
    package enum OneWayForm: Sendable {
        case column, table
    }

    package var draft: ModelDraft
    package var objects: [Key: Object] = [:]
    /// The attributes, as `Entity.attribute`, whose data may be in files.
    package var externalData: Set<String> = []
    /// By `Entity.relationship`.
    package var oneWayForms: [String: OneWayForm] = [:]
    /// References to objects that do not exist, by `Entity.relationship`: from an object, to the number of none.
    package var dangling: [(relationship: String, from: Key, to: Int64)] = []

    package init(_ draft: ModelDraft) { self.draft = draft }

    package func entity(_ name: String) -> EntityDraft { self.draft.entities.first { $0.name == name }! }

    /// The names of an entity and of those above it.
    package func lineage(_ name: String) -> [String] {
        var names = [name]
        while let parent = self.entity(names.last!).parent { names.append(parent) }
        return names
    }

    package func table(_ entity: String) -> String { self.lineage(entity).last! }

    /// The objects of an entity and of those below it, by number.
    package func keys(_ entity: String) -> [Key] {
        self.objects.filter { self.lineage($0.value.entity).contains(entity) }.map(\.key).sorted()
    }

    package func attributes(_ entity: String) -> [(owner: String, AttributeDraft)] {
        self.lineage(entity).flatMap { name in self.entity(name).attributes.map { (name, $0) } }
    }

    package func relationship(_ name: String, _ entity: String) -> RelationshipDraft? {
        self.lineage(entity).lazy.compactMap { self.entity($0).relationships.first { $0.name == name } }.first
    }

    /// The relationships, each pair once: from one side, with the side that leads back.
    package var pairs: [(owner: String, there: RelationshipDraft, back: RelationshipDraft?)] {
        var seen: Set<String> = []
        var pairs: [(owner: String, there: RelationshipDraft, back: RelationshipDraft?)] = []
        for entity in self.draft.entities {
            for there in entity.relationships {
                let back = there.inverse.isEmpty ? nil : self.relationship(there.inverse, there.destination)
                let names = ["\(entity.name).\(there.name)", "\(there.destination).\(there.inverse)"].sorted()
                guard seen.insert(names.joined(separator: " ")).inserted else { continue }
                pairs.append((entity.name, there, back))
            }
        }
        return pairs
    }

    /// Adds a link to both sides.
    package mutating func link(_ a: Key, _ there: RelationshipDraft, _ b: Key, _ back: RelationshipDraft?) {
        self.objects[a]!.links[there.name, default: []].append(b)
        guard let back, !(a == b && there.name == back.name) else { return }
        self.objects[b]!.links[back.name, default: []].append(a)
    }
}
