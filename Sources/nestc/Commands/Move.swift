import ArgumentParser
import NestClient
import NestModel

struct Move: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv",
        abstract: "Move objects to another position or parent.",
        discussion: """
            Examples:
              nestc mv 7 --first               first among its siblings
              nestc mv 7 --at 3                to the final index 3
              nestc mv 7 8 9 --parent 2        last under item 2, in this order
              nestc mv 7 --before 4            directly before item 4, wherever that is

            Several objects move in one transaction. They follow each other in the specified order. The objects may be \
            of any entity with a relationship to itself; if it has several, specify --relationship.
            """
    )

    @Argument(help: ArgumentHelp("The objects to move.", valueName: "id"))
    var ids: [IDArgument]

    @Option(
        help: ArgumentHelp(
            "The new parent. (default: that of --before or --after, or of the first object)",
            valueName: "id"
        )
    )
    var parent: IDArgument?

    @OptionGroup var placing: PlaceOptions
    @OptionGroup var entity: OutlineEntityOptions
    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let hierarchy = try await Hierarchy(client, self.entity, of: self.ids[0].id)
        let owner: ObjectID
        if let parent {
            owner = parent.id
        } else {
            owner = try await hierarchy.parent(of: self.placing.neighbour ?? self.ids[0].id, client)
        }
        var mutations: [Mutation] = []
        for (index, id) in self.ids.enumerated() {
            let previous = index == 0 ? nil : ObjectReference.object(self.ids[index - 1].id)
            let place = self.placing.place(after: previous)
            let position = try hierarchy.position(under: owner, place)
            mutations += position.placements.map { .move(.object(id.id), $0) }
            if !position.values.isEmpty { mutations.append(.update(.object(id.id), values: position.values)) }
        }
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions(self.ids.map(\.id)),
            mutations: mutations
        )
        try report(try await client.transaction(transaction), self, &output)
    }
}
