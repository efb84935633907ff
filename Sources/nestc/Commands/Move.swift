import ArgumentParser
import NestClient
import NestModel

struct Move: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "mv",
        abstract: "Move items to another position or parent.",
        discussion: """
            Examples:
              nestc mv 7 --first               first among its siblings
              nestc mv 7 --at 3                to the final index 3
              nestc mv 7 8 9 --parent 2        last under item 2, in this order
              nestc mv 7 --before 4            directly before item 4, wherever that is

            Several items move in one transaction. They follow each other in the specified order.
            """
    )

    @Argument(help: ArgumentHelp("The items to move.", valueName: "id"))
    var ids: [IDArgument]

    @Option(
        help: ArgumentHelp(
            "The new parent. (default: that of --before or --after, or of the first item)",
            valueName: "id"
        )
    )
    var parent: IDArgument?

    @OptionGroup var placing: PlaceOptions
    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let outline = try await Outline(client)
        let owner: ObjectID
        if let parent {
            owner = parent.id
        } else {
            owner = try await parentOf(self.placing.neighbour ?? self.ids[0].id, client, outline)
        }
        var mutations: [Mutation] = []
        for (index, id) in self.ids.enumerated() {
            let previous = index == 0 ? nil : ObjectReference.object(self.ids[index - 1].id)
            let place = self.placing.place(after: previous)
            let placement = Placement(relationship: outline.parent, owner: .object(owner), place: place)
            mutations.append(.move(.object(id.id), placement))
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
