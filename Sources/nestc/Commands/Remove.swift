import ArgumentParser
import NestClient
import NestModel

struct Remove: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Delete objects of any entity, with everything their delete rules reach.",
        discussion: """
            Examples:
              nestc rm 7
              nestc rm 7 8 9                    one transaction: all or none
              nestc rm 7 --expect-revision 12   only if unchanged since revision 12

            An item goes with everything below it. 'nestc delete' is the same command.
            'nestc undo' brings them back, with the same ids.
            """,
        aliases: ["delete"]
    )

    @Argument(help: ArgumentHelp("The objects.", valueName: "id"))
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
