import NestClient
import NestDocuments
import NestModel

/// The output of an undo, a redo or a revert: what was changed, and what was kept.
struct UndoReport {
    let receipt: Receipt
    /// For example "undid".
    let verb: String
    /// The message if nothing was changed.
    let blocked: String

    init(_ receipt: Receipt, _ verb: String, blocked: String) {
        self.receipt = receipt
        self.verb = verb
        self.blocked = blocked
    }

    func print(_ command: some NestCommand, _ client: NestClient, _ output: inout Output) async throws {
        let conflicts = try await ConflictText(self.receipt.conflicts, client)
        if command.global.json {
            try output.line(
                .object { json in
                    self.receipt.writeFields(into: &json)
                    conflicts.writeFields(into: &json)
                }
            )
        } else if self.receipt.isChanged {
            try output.line("\(self.verb): \(output.shown(self.receipt.name))")
        }
        try output.flush()
        if !command.global.json { for line in conflicts.lines { command.note(line) } }
        guard self.receipt.isChanged else { throw CommandFailure(.blocked, self.blocked) }
    }
}

/// The conflicts of an undo, for people and as JSON.
struct ConflictText {
    private let conflicts: UndoConflicts
    private let model: ManagedObjectModel?
    /// The public number of this session.
    private let ownSession: UInt64?

    /// Reads the model if there are conflicts.
    init(_ conflicts: UndoConflicts, _ client: NestClient) async throws {
        self.conflicts = conflicts
        self.model = conflicts.isEmpty ? nil : try await client.model()
        self.ownSession = await client.server?.sessionNumber
    }

    /// One line for each listed conflict, and one with the number of the others.
    var lines: [String] {
        let more = self.conflicts.count - self.conflicts.listed.count
        return self.conflicts.listed.map { self.line($0) } + (more > 0 ? ["… and \(ShownText.number(more)) more"] : [])
    }

    private func line(_ conflict: UndoConflict) -> String {
        let object = ObjectLabel.text(conflict.label, conflict.object, self.model?.entity(conflict.entity))
        let what = self.propertyName(conflict).map { "\(object).\($0)" } ?? object
        let since = self.since(conflict)
        return switch conflict.reason {
        case .edited: "kept: \(what), edited since\(since)"
        case .moved: "kept: \(what) in its position, moved since\(since)"
        case .deleted: "left out: \(what), deleted since\(since)"
        case .present: "kept: \(what), restored since\(since)"
        case .ownerGone: "left out: \(what), its owner is deleted"
        case .rehomed: "rehomed: \(what), its owner is deleted"
        case .overwritten: "overwrote: \(what), changed since\(since)"
        case .lost: "deleted: \(what), last changed\(since)"
        case .other: "in conflict: \(what)\(since)"
        }
    }

    /// Returns ` by s2 Ann in revision 41`, as far as it is known.
    private func since(_ conflict: UndoConflict) -> String {
        let user = conflict.user == nil ? "" : " \(UserText.text(conflict.user))"
        let who = conflict.sessionNumber.map { $0 == self.ownSession ? " by this session" : " by s\($0)\(user)" } ?? ""
        return who + (conflict.revision.map { " in revision \($0)" } ?? "")
    }

    private func propertyName(_ conflict: UndoConflict) -> String? {
        conflict.property.map { self.model?.entity(conflict.entity)?.shownName($0) ?? "\($0.rawValue)" }
    }

    func writeFields(into json: inout JSONWriter) {
        json.key("conflicts")
        json.array(self.conflicts.listed) { json, conflict in
            json.object { json in
                json.field("reason", "\(conflict.reason)")
                json.field("entity", self.model?.entity(conflict.entity)?.name ?? "\(conflict.entity.rawValue)")
                json.field("id", conflict.object.rawValue)
                json.key("property")
                if let name = self.propertyName(conflict) { json.string(name) } else { json.null() }
                json.key("revision")
                if let revision = conflict.revision { json.integer(revision.rawValue) } else { json.null() }
                json.key("session")
                if let session = conflict.sessionNumber { json.integer(session) } else { json.null() }
                UserText.write(conflict.user, into: &json)
                json.field("label", conflict.label)
            }
        }
        json.field("conflictCount", self.conflicts.count)
    }
}

/// The name of an object in messages.
enum ObjectLabel {
    /// Returns `"Milk"`, or `Item #7` if the object has no label.
    static func text(_ label: String, _ id: ObjectID, _ entity: EntityDescription?) -> String {
        label.isEmpty ? "\(entity?.name ?? "object") #\(id)" : "\"\(escapingControls(label))\""
    }
}
