import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Show: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show all values of an object.",
        discussion: """
            Examples:
              nestc show 2
              nestc show 2 --json

            A to-one relationship is shown as an id, a to-many relationship as the number of its objects; 'nestc fetch \
            --of 2' lists them. 'revision' is the object's last change: pass it to --expect-revision, and a command is \
            refused if the object has changed since.
            """
    )

    @Argument(help: ArgumentHelp("The object to show.", valueName: "id"))
    var id: IDArgument

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let model = try await client.model()
        let object = try await client.object(self.id.id)
        let entity = try model.entity(of: object)
        let counts = object.counts.filter { entity.relationship($0.property)?.isHiddenInverse != true }
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("id", object.id.rawValue)
                    json.field("entity", entity.name)
                    json.field("revision", object.revision)
                    for (property, value) in object.values {
                        json.key(entity.shownName(property))
                        json.value(value, of: entity.attribute(property)?.type)
                    }
                    for (property, count) in counts { json.field(entity.shownName(property), count) }
                }
            )
            return
        }
        var lines = [("id", "\(object.id)"), ("entity", entity.name), ("revision", "\(object.revision)")]
        lines += object.values.map { property, value in
            let text = ShownText.value(value, of: entity.attribute(property)?.type)
            return (entity.shownName(property), value.isNull ? "-" : text)
        }
        lines += counts.map { (entity.shownName($0.property), ShownText.number($0.count)) }
        let width = lines.map(\.0.count).max() ?? 0
        for (name, value) in lines {
            let label = name + String(repeating: " ", count: width - name.count)
            try output.line("\(output.dim(label))  \(output.shown(value))")
        }
    }
}
