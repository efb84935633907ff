import NestModel

/// The numbers of the nested list model.
public enum ListModel {
    public static let entity = EntityNumber(1)
    public static let title = PropertyNumber(1)
    public static let note = PropertyNumber(2)
    public static let done = PropertyNumber(3)
    public static let parent = PropertyNumber(5)
    public static let children = PropertyNumber(6)
    public static let root = ObjectID(1)

    public static func insert(_ title: String, isDone: Bool = false, under owner: ObjectID, _ place: Place = .last)
        -> Mutation
    {
        .insert(
            entity: self.entity,
            values: [
                PropertyAssignment(self.title, .value(.string(title))),
                PropertyAssignment(self.done, .value(.boolean(isDone))),
            ],
            placements: [Placement(relationship: self.parent, owner: .object(owner), place: place)]
        )
    }

    public static func rename(_ id: ObjectID, _ title: String) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(self.title, .value(.string(title)))])
    }

    public static func annotate(_ id: ObjectID, _ note: String) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(self.note, .value(.string(note)))])
    }

    public static func mark(_ id: ObjectID, isDone: Bool) -> Mutation {
        .update(.object(id), values: [PropertyAssignment(self.done, .value(.boolean(isDone)))])
    }

    public static func move(_ id: ObjectID, under owner: ObjectID, _ place: Place) -> Mutation {
        .move(.object(id), Placement(relationship: self.parent, owner: .object(owner), place: place))
    }
}
