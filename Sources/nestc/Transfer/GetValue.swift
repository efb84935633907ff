import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct GetLargeValue: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Read a large value of an object into a file.",
        discussion: """
            Examples:
              nestc get 7 scan scan.pdf
              nestc get 7 notes - | less

            A large value is an attribute of the type largeData or largeText: its row has only its length and its \
            SHA-256. The file appears under its name only when it is complete and verified. If the connection is lost, \
            nestc goes on where it was, unless the object has got another value.
            """
    )

    @Argument(help: ArgumentHelp("The object.", valueName: "id"))
    var id: IDArgument

    @Argument(help: ArgumentHelp("The attribute.", valueName: "property"))
    var property: String

    @Argument(
        help: ArgumentHelp("The file to write; '-' for standard output.", valueName: "file"),
        completion: .file()
    )
    var file: String

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.global.json, self.file == "-" { throw ValidationError("--json needs a file, not '-'") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let entity = try await client.model().entity(of: try await client.object(self.id.id))
        let property = try entity.requireLargeValue(self.property).number
        let file = self.file == "-" ? nil : try OutputFile(self.file)
        var progress = Progress("received", isShown: !self.global.quiet && file != nil)
        let value: LargeValue
        do {
            value = try await client.readValue(of: self.id.id, property) { part, received, value in
                if let file { try file.write(part) } else { try writeAll(part, to: STDOUT_FILENO) }
                progress.update(bytes: received, of: value.length)
            }
            try file?.commit()
        } catch {
            progress.clear()
            throw error
        }
        progress.clear()
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("file", self.file)
                    json.field("length", value.length)
                    json.field("sha256", value.hexDigest)
                }
            )
        } else if file != nil {
            self.note("wrote \(self.file): \(counted(value.length, "byte"))")
        }
    }
}

extension EntityDescription {
    /// Returns the attribute of this name, which must be a large value.
    func requireLargeValue(_ name: String) throws -> AttributeDescription {
        let property = try self.requireProperty(name)
        guard let attribute = self.attribute(property), attribute.type.isLarge else {
            let large = self.attributes.filter(\.type.isLarge).map { self.shownName($0.number) }
            let hint = large.isEmpty ? "\(self.name) has none" : "\(self.name) has \(listed(large))"
            throw CommandFailure(.usage, "\(self.name).\(name) is no large value; \(hint)")
        }
        return attribute
    }
}
