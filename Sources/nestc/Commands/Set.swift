import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct SetValues: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change values of an object.",
        discussion: """
            Examples:
              nestc set 2 title="Oat milk" done=yes
              nestc set 2 note=                          an empty string
              nestc set 2 note:=null                     no value
              nestc set 2 done=yes --expect-revision 7   only if unchanged since then
              nestc set 12 employer=30 tags=3,4          relationships, by ids
              nestc set 12 tags=                         no tags
              nestc set 2 title=Mi --coalesce t:800      for typing: see below

            Setting a to-many relationship replaces its objects; their order is the specified one. With --coalesce, \
            the write joins the undo entry of this session's previous write, if that had the same key and is at most \
            this many milliseconds old (1000 without a number).

            The attribute's type determines how a value is read: yes/no, numbers, dates (2026-11-21T09:30:00Z, now), \
            base64 for data.
            """
    )

    @Argument(help: ArgumentHelp("The object to change.", valueName: "id"))
    var id: IDArgument

    @Argument(
        help: ArgumentHelp("The values to set.", valueName: "name=value"),
        completion: ModelCompletion.assignments
    )
    var assignments: [String]

    @Option(
        help: ArgumentHelp(
            "Join the undo entry of the previous write with the same key.",
            valueName: "key[:ms]"
        )
    )
    var coalesce: CoalescingArgument?

    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let model = try await client.model()
        let entity = try model.entity(of: try await client.object(self.id.id))
        let object = ObjectReference.object(self.id.id)
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions([self.id.id]),
            mutations: try ObjectValues(self.assignments, entity).updatingSteps(of: object),
            coalescing: self.coalesce?.coalescing
        )
        try report(try await client.transaction(transaction), self, &output)
    }
}

/// Reports a write of `set`, `mv`, `rm` or `relate`: prints the receipt with `--json`, otherwise a note if nothing
/// changed.
func report(_ receipt: Receipt, _ command: some NestCommand, _ output: inout Output) throws {
    if command.global.json {
        try output.line(receipt.json)
    } else if !receipt.isChanged {
        command.note("nothing to change")
    }
}
