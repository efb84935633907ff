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
        [
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
    }
}

extension Own: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["revisions": JSONValue(list: self.revisions.map { JSONValue($0) })]
    }
}
