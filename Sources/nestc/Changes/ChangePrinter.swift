import NestClient
import NestDocuments
import NestModel

/// Prints the events of `changes`. With `--json`, each event is one line with stable names. Otherwise each transaction
/// is one line, followed by one line for each object that it changed.
struct ChangePrinter {
    /// The maximum number of objects of one event that are listed on a terminal.
    private static let listedMax = 20

    let model: ManagedObjectModel
    /// The public number of this session.
    var ownSession: UInt64?

    init(model: ManagedObjectModel) {
        self.model = model
    }

    // MARK: JSON

    func json(_ event: ChangesEvent) -> JSONWriter {
        .object { json in
            switch event {
            case .following(let point):
                json.field("event", "following")
                json.field("revision", point.revision)
                json.field("history", point.historyID.hex)
            case .changes(let part):
                json.field("event", "changes")
                self.write(part, &json)
            case .progress(let revision):
                json.field("event", "progress")
                json.field("revision", revision)
            case .disconnected(let reason):
                json.field("event", "disconnected")
                json.field("reason", reason)
            case .resumed(let revision):
                json.field("event", "resumed")
                json.field("revision", revision)
            }
        }
    }

    private func write(_ part: ChangeSetPart, _ json: inout JSONWriter) {
        json.field("revision", part.revision)
        json.field("time", DateText.text(microseconds: part.time))
        json.field("session", part.sessionNumber)
        json.field("mine", part.sessionNumber == self.ownSession)
        UserText.write(part.user, into: &json)
        json.field("kind", "\(part.kind)")
        json.key("reverted")
        if let reverted = part.reverted { json.integer(reverted.rawValue) } else { json.null() }
        json.field("name", part.name)
        json.key("objects")
        json.array(part.objects) { json, object in
            json.object { json in
                json.field("change", "\(object.kind)")
                json.field("entity", self.entityName(object))
                json.field("id", object.id.rawValue)
                if object.kind == .updated {
                    json.key("properties")
                    json.array(self.propertyNames(object)) { $0.string($1) }
                }
            }
        }
        json.field("more", part.hasMore)
    }

    // MARK: Text

    func lines(_ event: ChangesEvent, _ output: Output) -> [String] {
        switch event {
        case .following(let point): [output.dim("after revision \(point.revision)")]
        case .changes(let part): self.lines(part, output)
        case .progress: []
        case .disconnected(let reason): [output.dim("\(reason); connecting again")]
        case .resumed: [output.dim("connected again")]
        }
    }

    private func lines(_ part: ChangeSetPart, _ output: Output) -> [String] {
        let kind = part.kind == .write ? "" : "\(part.kind) of \(part.reverted ?? Revision(0)): "
        let isMine = part.sessionNumber == self.ownSession
        let whose = UserText.whose(isMine: isMine, session: part.sessionNumber, part.user)
        let head = output.dim("\(part.revision)\t\(ShownText.time(microseconds: part.time))\t\(whose)\t")
        var lines = ["\(head)\(kind)\(output.shown(part.name))\(part.hasMore ? output.dim("  …") : "")"]
        let listed = output.isTerminal ? part.objects.prefix(Self.listedMax) : part.objects[...]
        for object in listed {
            let mark =
                switch object.kind {
                case .inserted: "+"
                case .updated: "~"
                case .deleted: "-"
                }
            let properties = object.kind == .updated ? "  \(self.propertyNames(object).joined(separator: ", "))" : ""
            lines.append("  \(mark) \(self.entityName(object)) #\(object.id)\(properties)")
        }
        if listed.count < part.objects.count {
            lines.append(output.dim("  … \(ShownText.number(part.objects.count - listed.count)) more"))
        }
        return lines
    }

    // MARK: Names

    private func entityName(_ object: ChangedObject) -> String {
        self.model.entity(object.entity)?.name ?? "\(object.entity.rawValue)"
    }

    private func propertyNames(_ object: ChangedObject) -> [String] {
        guard let entity = self.model.entity(object.entity) else { return object.properties.map { "\($0.rawValue)" } }
        return object.properties.map { entity.shownName($0) }
    }
}
