import NestModel
import NestTestSupport
import NestProtocol

extension SubscribeChanges: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "since": self.since.map {
                ["historyID": .string($0.historyID.hex), "revision": JSONValue($0.revision)]
            } ?? .null,
            "place": JSONValue(count: self.place),
            "entities": JSONValue(list: self.entities.map { JSONValue(count: Int($0.rawValue)) }),
        ]
    }
}

extension ChangeSetMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "revision": JSONValue(self.part.revision), "time": .integer(self.part.time),
            "sessionNumber": .integer(Int64(self.part.sessionNumber)), "kind": .string("\(self.part.kind)"),
            "reverted": self.part.reverted.map { JSONValue($0) } ?? .null, "name": .string(self.part.name),
            "place": JSONValue(count: self.part.place),
            "objects": JSONValue(
                list: self.part.objects.map { object in
                    [
                        "change": .string("\(object.kind)"), "entity": JSONValue(count: Int(object.entity.rawValue)),
                        "id": .integer(object.id.rawValue), "properties": JSONValue(properties: object.properties),
                    ]
                }
            ),
        ]
        fields.add(self.part.user)
        return .object(fields)
    }
}

extension Authors: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "authors": JSONValue(
                list: self.authors.map { author in
                    var fields: [String: JSONValue] = [
                        "revision": JSONValue(author.revision), "sessionNumber": .integer(Int64(author.sessionNumber)),
                    ]
                    fields.add(author.user)
                    return .object(fields)
                }
            )
        ]
    }
}

extension [String: JSONValue] {
    /// Adds the user of an element, if it has one.
    mutating func add(_ user: UserLabel?) {
        guard let user else { return }
        self["user"] = .string(user.text)
        self["userClaimed"] = .bool(user.isClaimed)
    }
}

extension OwnMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        let revisions = JSONValue(list: self.writes.map { JSONValue($0.revision) })
        guard self.writes.contains(where: { $0.requestID > 0 }) else { return ["revisions": revisions] }
        return [
            "revisions": revisions,
            "requests": JSONValue(list: self.writes.map { JSONValue(count: Int($0.requestID)) }),
        ]
    }
}

extension ReserveIDs: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["count": JSONValue(count: self.count)] }
}

extension ReservedIDsMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["first": .integer(self.first.rawValue), "count": JSONValue(count: self.count)]
    }
}
