/// The properties of a model that a server does not keep, found before anything is read, because others lean on them:
/// indexes, constraints, inverses.
struct CoreDataOmissions {
    private var parents: [String: String] = [:]
    private var relationships: [String: Set<String>] = [:]
    /// Own properties by entity, and why they are left out.
    private var reasons: [String: [String: String]] = [:]

    init(_ model: XMLElement) {
        let entities = model.children("entity")
        for entity in entities {
            guard let name = entity.text("name") else { continue }
            self.parents[name] = entity.text("parentEntity")
            for property in entity.children {
                guard let propertyName = property.text("name") else { continue }
                if property.name == "relationship" { self.relationships[name, default: []].insert(propertyName) }
                if property.name == "fetchedProperty" {
                    self.reasons[name, default: [:]][propertyName] = "a fetched property"
                } else if property.name == "attribute" || property.name == "relationship" {
                    self.reasons[name, default: [:]][propertyName] = Self.reason(property)
                }
            }
        }
        // A relationship has its inverse or is not there at all.
        for entity in entities {
            for relationship in entity.children("relationship") {
                guard let name = entity.text("name"), let relationshipName = relationship.text("name"),
                    let destination = relationship.text("destinationEntity"), let inverse = relationship.text("inverseName"),
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

    /// Why an entity's property, its own or inherited, is left out; `nil` when it is not.
    func reason(for property: String, in entity: String) -> String? {
        self.lineage(of: entity).lazy.compactMap { self.reasons[$0]?[property] }.first
    }

    func isRelationship(_ property: String, in entity: String) -> Bool {
        self.lineage(of: entity).contains { self.relationships[$0]?.contains(property) == true }
    }

    /// An entity and those it is a kind of, by name.
    func lineage(of entity: String) -> [String] {
        var lineage: [String] = []
        var next: String? = entity
        while let name = next, !lineage.contains(name) {
            lineage.append(name)
            next = self.parents[name]
        }
        return lineage
    }
}
