import NestModel
import NestProtocol
import NestTestSupport

/// The fields of the messages that change the model.
extension ApplyModel: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["isDryRun": .bool(self.isDryRun), "entities": ModelMessage.entities(self.model)]
    }
}

extension ModelApplied: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "outcome": .string("\(self.applied.outcome)"), "modelHash": .string(Hex.text(self.applied.modelHash)),
            "rows": JSONValue(count: self.applied.rowCount),
            "changes": JSONValue(
                list: self.applied.changes.map { ["text": .string($0.text), "obstacle": .string($0.obstacle)] }
            ),
        ]
    }
}

extension ModelChanged: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["modelHash": .string(Hex.text(self.hash)), "entities": ModelMessage.entities(self.model)]
    }
}
