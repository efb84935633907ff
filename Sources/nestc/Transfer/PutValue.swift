import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct PutLargeValue: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Set a large value of an object to a file.",
        discussion: """
            Examples:
              nestc put 7 scan scan.pdf
              pandoc notes.md | nestc put 7 notes -
              nestc set 7 scan:=null             no value

            A large value is an attribute of the type largeData or largeText, of up to 16 MiB. Its bytes are sent \
            first; then one transaction sets it, which can be undone like any other. largeText must be UTF-8. Standard \
            input is copied to a temporary file first, because its length must be known.
            """
    )

    @Argument(help: ArgumentHelp("The object.", valueName: "id"))
    var id: IDArgument

    @Argument(help: ArgumentHelp("The attribute.", valueName: "property"))
    var property: String

    @Argument(
        help: ArgumentHelp("The file to read; '-' for standard input.", valueName: "file"),
        completion: .file()
    )
    var file: String

    @OptionGroup var checking: PreconditionOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let entity = try await client.model().entity(of: try await client.object(self.id.id))
        let attribute = try entity.requireLargeValue(self.property)
        let source = try ValueSource(self.file, bytesMax: Limits.largeValueBytesMax)
        var progress = Progress("sent", isShown: !self.global.quiet)
        let value: LargeValue
        do {
            var sent = 0
            value = try await client.send(attribute.type, length: source.length, digest: source.digest) {
                let part = try source.next()
                sent += part?.count ?? 0
                progress.update(bytes: sent, of: source.length)
                return part
            }
        } catch {
            progress.clear()
            throw error
        }
        progress.clear()
        let assignment = PropertyAssignment(attribute.number, .value(value.value))
        let transaction = WriteTransaction(
            name: self.writing.name,
            key: try self.writing.identifier(),
            preconditions: self.checking.preconditions([self.id.id]),
            mutations: [.update(.object(self.id.id), values: [assignment])]
        )
        try report(try await client.transaction(transaction), self, &output)
    }
}
