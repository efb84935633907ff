import ArgumentParser
import NestDocuments
import NestModel

struct CheckModel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "List the faults of a model, and what nest ignores.",
        discussion: """
            Examples:
              nestc model check Shop.xcdatamodeld
              nestc model check shop.json --json

            Exit code: 0 if the model can be served (there may be warnings), 65 if it cannot.
            """
    )

    @Argument(
        help: ArgumentHelp("The model's file; '-' for standard input.", valueName: "file"),
        completion: .file()
    )
    var file: ModelArgument

    @OptionGroup var global: GlobalOptions

    func run() async throws {
        var output = Output()
        var warnings: [String] = []
        var faults: [String] = []
        var counts: (entities: Int, properties: Int) = (0, 0)
        do {
            let document = try self.file.read()
            warnings = document.warnings
            counts.entities = document.draft.entities.count
            counts.properties = document.draft.entities.reduce(0) { $0 + $1.attributes.count + $1.relationships.count }
            do { _ = try document.draft.compile() } catch { faults = error.faults }
        } catch let failure as CommandFailure where failure.status == .badInput {
            faults = failure.message.split(separator: "\n").map(String.init)
        }
        if self.global.json {
            try output.line(Self.report(warnings, faults))
        } else {
            for warning in warnings { try output.line(EscapedText.message("warning: \(warning)")) }
            for fault in faults { try output.line(EscapedText.message("fault: \(fault)")) }
            if faults.isEmpty {
                try output.line("the model can be served: entities \(counts.entities), properties \(counts.properties)")
            }
        }
        try output.flush()
        guard faults.isEmpty else {
            throw CommandFailure(.badInput, "the model cannot be served: \(counted(faults.count, "fault"))")
        }
    }

    private static func report(_ warnings: [String], _ faults: [String]) -> JSONWriter {
        .object { json in
            json.field("sound", faults.isEmpty)
            json.key("faults")
            json.array(faults) { $0.string($1) }
            json.key("warnings")
            json.array(warnings) { $0.string($1) }
        }
    }
}
