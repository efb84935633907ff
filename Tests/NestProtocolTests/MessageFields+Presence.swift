import NestModel
import NestProtocol
import NestTestSupport

extension SetPresence: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "scope": .integer(self.scope.rawValue),
            "bytes": self.bytes.map { .string(Hex.text($0)) } ?? .null,
        ]
    }
}

extension Present: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["number": .integer(Int64(self.number))] }
}

extension FollowPresence: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["scope": .integer(self.scope.rawValue), "follows": .bool(self.follows)]
    }
}

extension PresenceMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "scope": .integer(self.scope.rawValue), "isWhole": .bool(self.isWhole),
            "changes": JSONValue(
                list: self.changes.map { change in
                    .object(["number": .integer(Int64(change.number))].adding(change.state))
                }
            ),
        ]
    }
}

extension PeerPresence: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "begins": .bool(self.begins),
            "changes": JSONValue(
                list: self.changes.map { change in
                    let fields: [String: JSONValue] = [
                        "scope": .integer(change.scope.rawValue), "number": .integer(Int64(change.number)),
                        "session": .string(change.session.hex), "revision": JSONValue(change.revision),
                    ]
                    return .object(fields.adding(change.state))
                }
            ),
        ]
    }
}

extension [String: JSONValue] {
    fileprivate func adding(_ state: PresenceState?) -> [String: JSONValue] {
        var fields = self
        fields["sessionNumber"] = .integer(Int64(state?.sessionNumber ?? 0))
        fields["isGone"] = .bool(state == nil)
        fields["bytes"] = .string(Hex.text(state?.bytes ?? []))
        fields.add(state?.user)
        return fields
    }
}
