import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct FindOrCreate: WritingCommand {
    static let configuration = CommandConfiguration(
        abstract: "Find the object with these values, or insert it; prints its id.",
        discussion: """
            Examples:
              nestc find-or-create Tag name=red
              nestc find-or-create User email=ann@a.example --set name=Ann city=Basel

            Of several the one with the lowest id is found. --set is for one that is made; one that is found stays as it is. \
            Nobody else can insert it between the looking and the inserting. Printed: the id, a tab, and found or created.
            """
    )

    @Argument(help: ArgumentHelp("The entity.", valueName: "entity"))
    var entity: String

    @Argument(help: ArgumentHelp("Values it has, or is given.", valueName: "name=value"))
    var match: [String]

    @Option(
        name: .customLong("set"),
        parsing: .upToNextOption,
        help: ArgumentHelp("Further values of one that is made.", valueName: "name=value")
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
                "relationships to many can be neither matched nor set here; 'nestc set ID' sets them afterwards, 'nestc tx' in one transaction"
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
            throw CommandFailure(.protocolMismatch, "the server's receipt names no object")
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
