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
              nestc set 2 note=                          the empty text
              nestc set 2 note:=null                     no value at all
              nestc set 2 done=yes --expect-revision 7   only if unchanged since revision 7
              nestc set 12 employer=30 tags=3,4          relationships by ids: these tags and no others, in this order
              nestc set 12 tags=                         none
              nestc set 2 title=Mi --coalesce t:800      as somebody types: see below

            With --coalesce it is one undo entry with this session's write before, when that had the same key and is at most so \
            many milliseconds old (1,000 without a number).
            Values are read by the attribute's type: yes/no, numbers, dates (2026-11-21T09:30:00Z, now), base64 for data.
            """
    )

    @Argument(help: ArgumentHelp("The object.", valueName: "id"))
    var id: IDArgument

    @Argument(help: ArgumentHelp("What to set.", valueName: "name=value"))
    var assignments: [String]

    @Option(
        help: ArgumentHelp(
            "Join the write before into one undo entry, when it has the same key.",
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

/// What `set`, `mv`, `rm` and `relate` say when it is done: nothing for people, unless nothing was done.
func report(_ receipt: Receipt, _ command: some NestCommand, _ output: inout Output) throws {
    if command.global.json {
        try output.line(receipt.json)
    } else if !receipt.isChanged {
        command.note("nothing to change")
    }
}
