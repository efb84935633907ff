import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct FindOrCreate: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Find the object with these values, or insert it.",
        discussion: """
            Examples:
              nestc find-or-create Tag name=red
              nestc find-or-create User email=ann@a.example --set name=Ann city=Basel

            If several objects match, the one with the lowest id is found. --set assigns values to an inserted object \
            only; a found object does not change. No other client can insert the object in between. nestc prints the \
            id, a tab, and "found" or "created".
            """
    )

    @Argument(help: ArgumentHelp("The entity.", valueName: "entity"), completion: ModelCompletion.entities)
    var entity: String

    @Argument(
        help: ArgumentHelp("The values to find; an inserted object gets them too.", valueName: "name=value"),
        completion: ModelCompletion.assignments
    )
    var match: [String]

    @Option(
        name: .customLong("set"),
        parsing: .upToNextOption,
        help: ArgumentHelp("Further values of an inserted object.", valueName: "name=value"),
        completion: ModelCompletion.assignments
    )
    var values: [String] = []

    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let model = try await client.model()
        let entity = try model.requireEntity(self.entity)
        let match = try ObjectValues(self.match, entity)
        let values = try ObjectValues(self.values, entity)
        guard match.related.isEmpty, values.related.isEmpty else {
            throw CommandFailure(
                .usage,
                "find-or-create takes no to-many relationships: set them later with 'nestc set ID', "
                    + "or in the same transaction with 'nestc tx'"
            )
        }
        let mutation = Mutation.findOrCreate(
            entity: entity.number,
            match: match.assignments,
            values: values.assignments,
            placements: []
        )
        let receipt = try await client.transaction(
            WriteTransaction(name: self.writing.name, key: try self.writing.identifier(), mutations: [mutation])
        )
        guard let result = receipt.result(1) else {
            throw CommandFailure(.protocolMismatch, "the server's receipt does not name the object")
        }
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("id", result.id.rawValue)
                    json.field("created", !result.isFound)
                    json.field("revision", receipt.revision)
                    json.field("replayed", receipt.isReplayed)
                }
            )
        } else {
            try output.line("\(result.id)\t\(result.isFound ? "found" : "created")")
        }
    }
}
