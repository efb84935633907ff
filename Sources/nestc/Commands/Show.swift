import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct Show: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show one object with everything it holds.",
        discussion: """
            Examples:
              nestc show 2
              nestc show 2 --json

            'revision' is that of its last change: give it to --expect-revision to change only what you have seen.
            """
    )

    @Argument(help: ArgumentHelp("The object.", valueName: "id"))
    var id: IDArgument

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let model = try await client.model()
        let object = try await client.object(self.id.id)
        guard let entity = model.entity(object.entity) else {
            throw CommandFailure(.protocolMismatch, "the model has no entity \(object.entity.rawValue)")
        }
        func name(_ property: PropertyNumber) -> String {
            RowPrinter.name(entity.propertyName(property) ?? "\(property.rawValue)")
        }
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("id", object.id.rawValue)
                    json.field("entity", entity.name)
                    json.field("revision", object.revision)
                    for (property, value) in object.values {
                        json.key(name(property))
                        json.value(value)
                    }
                    for (property, count) in object.counts { json.field(name(property), count) }
                }
            )
            return
        }
        var lines = [("id", "\(object.id)"), ("entity", entity.name), ("revision", "\(object.revision)")]
        lines += object.values.map { (name($0.property), $0.value.isNull ? "-" : singleLine(ValueText.text($0.value))) }
        lines += object.counts.map { (name($0.property), "\($0.count)") }
        let width = lines.map(\.0.count).max() ?? 0
        for (name, value) in lines {
            let label = name + String(repeating: " ", count: width - name.count)
            try output.line("\(output.dim(label))  \(output.shown(value))")
        }
    }
}
