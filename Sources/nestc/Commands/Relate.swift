import ArgumentParser
import NestClient
import NestModel

struct Relate: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Add objects to a to-many relationship, or move them.",
        discussion: """
            Examples:
              nestc relate 12 tags 3 4             objects 3 and 4 become tags of 12
              nestc relate 7 songs 9 --first       9 becomes the first song of 7
              nestc relate 7 songs 9 8 --after 5   9, then 8, directly after 5

            Each command is one transaction. An object that is already in the relationship moves. A position needs an \
            ordered relationship. 'nestc set 12 tags=3,4' replaces all objects of the relationship.
            """
    )

    @Argument(help: ArgumentHelp("The object that has the relationship.", valueName: "id"))
    var owner: IDArgument

    @Argument(
        help: ArgumentHelp("The relationship.", valueName: "relationship"),
        completion: ModelCompletion.relationships
    )
    var relationship: String

    @Argument(help: ArgumentHelp("The objects to add.", valueName: "id"))
    var ids: [IDArgument]

    @OptionGroup var placing: PlaceOptions
    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let relationship = try await toMany(self.relationship, of: self.owner.id, client)
        var mutations: [Mutation] = []
        for (index, id) in self.ids.enumerated() {
            let previous = index == 0 ? nil : ObjectReference.object(self.ids[index - 1].id)
            let place = self.placing.place(after: previous)
            mutations.append(.relate(.object(self.owner.id), relationship, .object(id.id), place))
        }
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions([self.owner.id]),
            mutations: mutations
        )
        try report(try await client.transaction(transaction), self, &output)
    }
}

struct Unrelate: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Remove objects from a to-many relationship.",
        discussion: """
            Examples:
              nestc unrelate 12 tags 3
              nestc unrelate 12 tags 3 4           two objects, in one transaction
              nestc set 12 tags=                   removes all of them

            The objects are not deleted. Objects that are not in the relationship are ignored.
            """
    )

    @Argument(help: ArgumentHelp("The object that has the relationship.", valueName: "id"))
    var owner: IDArgument

    @Argument(
        help: ArgumentHelp("The relationship.", valueName: "relationship"),
        completion: ModelCompletion.relationships
    )
    var relationship: String

    @Argument(help: ArgumentHelp("The objects to remove.", valueName: "id"))
    var ids: [IDArgument]

    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let relationship = try await toMany(self.relationship, of: self.owner.id, client)
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions([self.owner.id]),
            mutations: self.ids.map { .unrelate(.object(self.owner.id), relationship, .object($0.id)) }
        )
        try report(try await client.transaction(transaction), self, &output)
    }
}

/// Returns the to-many relationship of this name that an object has.
private func toMany(_ name: String, of owner: ObjectID, _ client: NestClient) async throws -> PropertyNumber {
    let model = try await client.model()
    return try model.entity(of: try await client.object(owner)).requireToMany(name).number
}
