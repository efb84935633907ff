/// The model of a store that was made without one: a nested list.
extension ManagedObjectModel {
    /// The nested list, which `nestd` serves without `--model`. Only this value and the outline commands of `nestc`
    /// know `Item`.
    public static let nestedList = ManagedObjectModel(entities: [
        EntityDescription(
            number: 1,
            name: "Item",
            attributes: [
                AttributeDescription(number: 1, name: "title", type: .string),
                AttributeDescription(number: 2, name: "note", type: .string, isOptional: true),
                AttributeDescription(number: 3, name: "done", type: .boolean, defaultValue: .boolean(false)),
                AttributeDescription(number: 4, name: "extra", type: .string, isOptional: true),
            ],
            relationships: [
                RelationshipDescription(
                    number: 5,
                    name: "parent",
                    destination: 1,
                    inverse: 6,
                    deleteRule: .nullify
                ),
                RelationshipDescription(
                    number: 6,
                    name: "children",
                    destination: 1,
                    inverse: 5,
                    isToMany: true,
                    isOrdered: true,
                    deleteRule: .cascade
                ),
            ],
            root: RootDescription(object: ObjectID(1), relationship: PropertyNumber(5))
        )
    ])
}
