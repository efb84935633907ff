import ArgumentParser
import NestClient
import NestModel

struct Remove: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Delete objects of any entity.",
        discussion: """
            Examples:
              nestc rm 7
              nestc rm 7 8 9                    in one transaction: all or none
              nestc rm 7 --expect-revision 12   only if unchanged since revision 12

            Delete rules apply: an item is deleted with everything below it. 'nestc undo' restores the objects with \
            the same ids. 'nestc delete' is the same command.
            """,
        aliases: ["delete"]
    )

    @Argument(help: ArgumentHelp("The objects to delete.", valueName: "id"))
    var ids: [IDArgument]

    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions(self.ids.map(\.id)),
            mutations: self.ids.map { .delete(.object($0.id)) }
        )
        try report(try await client.transaction(transaction), self, &output)
    }
}
