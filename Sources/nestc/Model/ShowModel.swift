import ArgumentParser
import NestClient
import NestModel
import NestDocuments

struct ShowModel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Draw a model's entities, attributes and relationships.",
        discussion: """
            Examples:
              nestc model show                       the server's model
              nestc model show Shop.xcdatamodeld     the model of a file; needs no server
              nestc model show --json

            '-->' is a to-one relationship, '-->>' a to-many relationship. An inherited property is shown only in the \
            entity that declares it.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The model's file; '-' for standard input. (default: the server's model)",
            valueName: "file"
        ),
        completion: .file()
    )
    var file: ModelArgument?

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        var output = Output()
        let model: ManagedObjectModel
        if let file = self.file {
            model = try file.model(self.global).model
        } else {
            model = try await NestClient.withClient(try self.global.configuration()) { try await $0.model() }
        }
        if self.global.json {
            try output.line(ModelJSON.line(of: ModelDraft(model)))
        } else {
            if model.entities.isEmpty { try output.line("the model has no entity yet") }
            for line in ModelDrawing.lines(of: model) { try output.line(EscapedText.message(line)) }
        }
        try output.flush()
    }
}
