import NestModel
import NestTestSupport
import NestProtocol

extension JSONValue {
    init(_ conflicts: UndoConflicts) {
        self = [
            "count": JSONValue(count: conflicts.count),
            "listed": JSONValue(
                list: conflicts.listed.map { conflict in
                    var fields: [String: JSONValue] = [
                        "reason": .string("\(conflict.reason)"),
                        "entity": JSONValue(count: Int(conflict.entity.rawValue)),
                        "object": .integer(conflict.object.rawValue),
                        "property": conflict.property.map { JSONValue($0) } ?? .null,
                        "revision": conflict.revision.map { JSONValue($0) } ?? .null,
                        "sessionNumber": conflict.sessionNumber.map { .integer(Int64($0)) } ?? .null,
                        "label": .string(conflict.label),
                    ]
                    fields.add(conflict.user)
                    return .object(fields)
                }
            ),
        ]
    }

    fileprivate init(_ entry: UndoState.Entry?) {
        guard let entry else {
            self = .null
            return
        }
        self = [
            "revision": JSONValue(entry.revision), "transactionCount": JSONValue(count: entry.transactionCount),
            "name": .string(entry.name),
        ]
    }
}

extension UndoOptions {
    fileprivate var fields: [String: JSONValue] {
        ["policy": .string("\(self.policy)"), "rehomes": .bool(self.rehomes)]
    }
}

extension UndoMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = ["key": JSONValue(key: self.key)]
        guard self.options != UndoOptions() || self.expected != nil else { return .object(fields) }
        fields.merge(self.options.fields) { $1 }
        fields["expected"] = self.expected.map { JSONValue($0) } ?? .null
        return .object(fields)
    }
}

extension Undo: DescribedMessage {}
extension Redo: DescribedMessage {}

extension Revert: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields = self.options.fields
        fields["key"] = JSONValue(key: self.key)
        fields["revision"] = JSONValue(self.revision)
        fields["ofAnyone"] = .bool(self.ofAnyone)
        return .object(fields)
    }
}

extension BeginGroup: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "name": self.name.map { .string($0) } ?? .null,
            "joined": self.joined.map { .integer(Int64($0)) } ?? .null,
        ]
    }
}

extension Group: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["number": .integer(Int64(self.number))] }
}

extension EndGroup: DescribedMessage {}

extension PreviewUndo: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields = self.options.fields
        fields["what"] =
            switch self.target {
            case .undo: "undo"
            case .redo: "redo"
            case .revert(let revision, let ofAnyone):
                ["revision": JSONValue(revision), "ofAnyone": .bool(ofAnyone)]
            }
        return .object(fields)
    }
}

extension UndoPreviewMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "name": .string(self.preview.name), "conflicts": JSONValue(self.preview.conflicts),
            "insertedCount": JSONValue(count: self.preview.insertedCount),
            "updatedCount": JSONValue(count: self.preview.updatedCount),
            "deletedCount": JSONValue(count: self.preview.deletedCount),
            "changes": JSONValue(list: self.preview.changes.map { Self.fields($0) }),
        ]
    }

    private static func fields(_ change: UndoPreview.Change) -> JSONValue {
        [
            "change": .string("\(change.object.kind)"), "entity": JSONValue(count: Int(change.object.entity.rawValue)),
            "id": .integer(change.object.id.rawValue), "properties": JSONValue(properties: change.object.properties),
            "label": .string(change.label),
            "values": JSONValue(
                list: change.values.map { value in
                    [
                        "property": JSONValue(value.property), "before": JSONValue(value.before),
                        "after": JSONValue(value.after),
                    ]
                }
            ),
        ]
    }
}

extension GetUndoState: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["follows": .bool(self.follows)] }
}

extension UndoStateMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "undo": JSONValue(self.state.undo), "redo": JSONValue(self.state.redo),
            "undoCount": JSONValue(count: self.state.undoCount), "redoCount": JSONValue(count: self.state.redoCount),
            "blockedCount": JSONValue(count: self.state.blockedCount),
            "droppedCount": JSONValue(count: self.state.droppedCount),
            "group": self.state.group.map { .integer(Int64($0)) } ?? .null,
        ]
    }
}
