/// The properties of a model that a server does not store. They are found first, because indexes, constraints and
/// inverses refer to them.
struct CoreDataOmissions {
    /// For each entity: itself and its ancestors.
    private var lineages: [String: [String]] = [:]
    /// For each entity its own relationships, and whether they are to-many.
    private var relationships: [String: [String: Bool]] = [:]
    /// For each entity its own omitted properties, and why they are left out.
    private var reasons: [String: [String: String]] = [:]

    init(_ model: XMLElement) {
        let entities = model.children("entity")
        self.readLineages(entities)
        for entity in entities {
            guard let name = entity.text("name") else { continue }
            for property in entity.children {
                guard let propertyName = property.text("name") else { continue }
                if property.name == "relationship" {
                    let isToMany = property["toMany"].flatMap(CoreDataValue.boolean) == true
                    self.relationships[name, default: [:]][propertyName] = isToMany
                }
                if property.name == "fetchedProperty" {
                    self.reasons[name, default: [:]][propertyName] = "a fetched property"
                } else if property.name == "attribute" || property.name == "relationship" {
                    self.reasons[name, default: [:]][propertyName] = Self.reason(property)
                }
            }
        }
        // A relationship without its inverse is left out, too.
        for entity in entities {
            for relationship in entity.children("relationship") {
                guard let name = entity.text("name"), let relationshipName = relationship.text("name"),
                    let destination = relationship.text("destinationEntity"),
                    let inverse = relationship.text("inverseName"),
                    self.reason(for: inverse, in: destination) == Self.transientReason
                else { continue }
                if self.reasons[name]?[relationshipName] == nil {
                    self.reasons[name, default: [:]][relationshipName] = "its inverse is transient, it"
                }
            }
        }
    }

    private static let transientReason = "a transient property"

    private static func reason(_ property: XMLElement) -> String? {
        if property["transient"].flatMap(CoreDataValue.boolean) == true { return Self.transientReason }
        if property["derived"].flatMap(CoreDataValue.boolean) == true { return "a derived attribute" }
        return nil
    }

    /// Returns why a property of an entity, its own or inherited, is left out; `nil` when it is kept.
    func reason(for property: String, in entity: String) -> String? {
        self.lineage(of: entity).lazy.compactMap { self.reasons[$0]?[property] }.first
    }

    /// Whether a relationship of an entity is to-many; `nil` when the property is not a relationship.
    func isToMany(_ property: String, in entity: String) -> Bool? {
        self.lineage(of: entity).lazy.compactMap { self.relationships[$0]?[property] }.first
    }

    /// The names of an entity and its ancestors; each once if they form a cycle.
    func lineage(of entity: String) -> [String] { self.lineages[entity] ?? [entity] }

    private mutating func readLineages(_ entities: [XMLElement]) {
        var parents: [String: String] = [:]
        for entity in entities {
            if let name = entity.text("name") { parents[name] = entity.text("parentEntity") }
        }
        for name in entities.compactMap({ $0.text("name") }) {
            var lineage: [String] = []
            var seen: Set<String> = []
            var next: String? = name
            while let ancestor = next, seen.insert(ancestor).inserted {
                lineage.append(ancestor)
                next = parents[ancestor]
            }
            self.lineages[name] = lineage
        }
    }
}
