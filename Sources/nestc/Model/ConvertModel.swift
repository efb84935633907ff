import ArgumentParser
import NestDocuments

struct ConvertModel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Convert a model to nest's JSON.",
        discussion: """
            Examples:
              nestc model convert Shop.xcdatamodeld > shop.json
              nestc model convert Shop.xcdatamodeld -o shop.json

            nestc warns about what the JSON cannot express; 'docs/models.md' describes how nest handles it. With \
            --json, the output is one line.
            """
    )

    @Argument(
        help: ArgumentHelp("The model's file; '-' for standard input.", valueName: "file"),
        completion: .file()
    )
    var file: ModelArgument

    @Option(
        name: [.short, .customLong("output")],
        help: ArgumentHelp("The file to write; '-' for standard output. (default: -)", valueName: "file"),
        completion: .file()
    )
    var output: String?

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        let draft = try self.file.model(self.global).document.draft
        let text = self.global.json ? ModelJSON.line(of: draft) + "\n" : ModelJSON.text(of: draft)
        if let path = self.output, path != "-" {
            let file = try OutputFile(path)
            try file.write(Array(text.utf8))
            try file.commit()
        } else {
            var output = Output()
            try output.write(Array(text.utf8))
            try output.flush()
        }
    }
}
