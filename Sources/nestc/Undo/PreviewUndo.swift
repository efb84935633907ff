import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct PreviewUndo: NestCommand {
    enum Direction: String, ExpressibleByArgument, CaseIterable {
        case undo
        case redo
    }

    static let configuration = CommandConfiguration(
        commandName: "preview",
        abstract: "Show what an undo or redo would change.",
        discussion: """
            Examples:
              nestc preview undo
              nestc preview redo --force
              nestc preview --revision 41 --anyone    of any transaction
              nestc preview undo --json

            '+' is restored, '-' is deleted, '~' changes: value before -> value after. nestc lists on standard error \
            what would be kept because it has changed since. A preview is refused if the undo or redo itself would be \
            refused.
            """
    )

    @Argument(help: ArgumentHelp("undo or redo. (default: undo)", valueName: "what"))
    var direction: Direction?

    @Option(help: ArgumentHelp("Preview the undo of this transaction.", valueName: "n"))
    var revision: RevisionArgument?

    @Flag(help: "With --revision: also of another session.")
    var anyone = false

    @OptionGroup var conflicts: ConflictOptions
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.anyone, self.revision == nil { throw ValidationError("--anyone needs --revision") }
        if self.revision != nil, self.direction == .redo {
            throw ValidationError("--revision cannot be combined with redo")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let target: UndoTarget =
            if let revision = self.revision?.revision {
                .revert(revision, ofAnyone: self.anyone)
            } else {
                self.direction == .redo ? .redo : .undo
            }
        let preview = try await target.explainingConflicts {
            try await client.previewUndo(target, options: self.conflicts.options)
        }
        let conflicts = try await ConflictText(preview.conflicts, client)
        let printer = PreviewPrinter(preview, try await client.model())
        if self.global.json {
            try output.line(printer.json(conflicts))
            return
        }
        for line in printer.lines(self.direction == .redo ? "redo" : "undo", output) { try output.line(line) }
        try output.flush()
        for line in conflicts.lines { self.note(line) }
    }
}

/// The output of a preview, as text and as JSON.
struct PreviewPrinter {
    private let preview: UndoPreview
    private let model: ManagedObjectModel

    init(_ preview: UndoPreview, _ model: ManagedObjectModel) {
        self.preview = preview
        self.model = model
    }

    // MARK: Text

    func lines(_ verb: String, _ output: Output) -> [String] {
        let name = output.shown(self.preview.name)
        guard !self.preview.isNothing else { return ["the \(verb) would change nothing: \(name)"] }
        let counts = [
            (self.preview.insertedCount, "restored"), (self.preview.updatedCount, "changed"),
            (self.preview.deletedCount, "deleted"),
        ]
        let total = counts.reduce(0) { $0 &+ $1.0 }
        var lines = ["would \(verb): \(name)"]
        for change in self.preview.changes { lines += self.lines(change, output) }
        let more = total - self.preview.changes.count
        if more > 0 { lines.append(output.dim("… \(ShownText.number(more)) more")) }
        lines.append(
            output.dim(counts.filter { $0.0 > 0 }.map { "\(ShownText.number($0.0)) \($0.1)" }.joined(separator: ", "))
        )
        return lines
    }

    private func lines(_ change: UndoPreview.Change, _ output: Output) -> [String] {
        let entity = self.model.entity(change.object.entity)
        let (mark, colour): (String, Output.Colour) =
            switch change.object.kind {
            case .inserted: ("+", .green)
            case .updated: ("~", .yellow)
            case .deleted: ("-", .red)
            }
        let label = change.label.isEmpty ? "" : " \"\(escapingControls(change.label))\""
        let head = "\(mark) \(entity?.name ?? "object") #\(change.object.id)\(label)"
        let listed = Set(change.values.map(\.property))
        let values = change.values.map { self.text($0, entity) }
        let related = change.object.properties.filter { !listed.contains($0) }.map { property in
            "\(entity?.shownName(property) ?? "\(property.rawValue)"): other objects, or another order"
        }
        return [output.coloured(head, colour)] + (values + related).map { "    \($0)" }
    }

    private func text(_ value: UndoPreview.Value, _ entity: EntityDescription?) -> String {
        let name = entity?.shownName(value.property) ?? "\(value.property.rawValue)"
        let before = self.text(value.before, value.property, entity)
        guard value.before != value.after else { return "\(name): \(before), in another position" }
        return "\(name): \(before) -> \(self.text(value.after, value.property, entity))"
    }

    private func text(_ value: AttributeValue, _ property: PropertyNumber, _ entity: EntityDescription?) -> String {
        switch value {
        case .null: "-"
        case .string(let text): "\"\(escapingControls(text))\""
        case .reference(let id): "#\(id)"
        default: ShownText.value(value, of: entity?.attribute(property)?.type)
        }
    }

    // MARK: JSON

    func json(_ conflicts: ConflictText) -> JSONWriter {
        .object { json in
            json.field("name", self.preview.name)
            json.field("inserted", self.preview.insertedCount)
            json.field("updated", self.preview.updatedCount)
            json.field("deleted", self.preview.deletedCount)
            json.key("changes")
            json.array(self.preview.changes) { self.write($1, &$0) }
            conflicts.writeFields(into: &json)
        }
    }

    private func write(_ change: UndoPreview.Change, _ json: inout JSONWriter) {
        let entity = self.model.entity(change.object.entity)
        func name(_ property: PropertyNumber) -> String { entity?.shownName(property) ?? "\(property.rawValue)" }
        json.object { json in
            json.field("change", "\(change.object.kind)")
            json.field("entity", entity?.name ?? "\(change.object.entity.rawValue)")
            json.field("id", change.object.id.rawValue)
            json.field("label", change.label)
            guard change.object.kind == .updated else { return }
            json.key("properties")
            json.array(change.object.properties) { $0.string(name($1)) }
            json.key("values")
            json.array(change.values) { json, value in
                let type = entity?.attribute(value.property)?.type
                json.object { json in
                    json.field("property", name(value.property))
                    json.key("before")
                    json.value(value.before, of: type)
                    json.key("after")
                    json.value(value.after, of: type)
                }
            }
        }
    }
}
