import NestModel

/// The entities of a model as generated types need them: by name, without what programs do not see.
///
/// Nothing of it depends on the numbers of the model.
struct TypesModel {
    struct Entity {
        let name: String
        let attributes: [AttributeDescription]
        let toOne: [RelationshipDescription]
        let toMany: [RelationshipDescription]

        /// All properties, in the order in which they are written.
        var names: [String] { (self.attributes.map(\.name) + (self.toOne + self.toMany).map(\.name)).sorted() }
        /// The properties that rows have.
        var columns: [String] { self.attributes.map(\.name) + self.toOne.map(\.name) }
    }

    let entities: [Entity]
    private let model: ManagedObjectModel

    init(_ model: ManagedObjectModel) {
        self.model = model
        self.entities = model.entities.sorted { $0.name < $1.name }.map { entity in
            let relationships = entity.relationships.filter { !$0.isHiddenInverse }.sorted { $0.name < $1.name }
            return Entity(
                name: entity.name,
                attributes: entity.attributes.sorted { $0.name < $1.name },
                toOne: relationships.filter { !$0.isToMany },
                toMany: relationships.filter(\.isToMany)
            )
        }
    }

    func destination(_ relationship: RelationshipDescription) -> String {
        self.model.entity(relationship.destination)?.name ?? ""
    }
}
