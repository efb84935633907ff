import NestModel
import NestTestSupport
import NestProtocol

extension BackupRequest: DescribedMessage {}
extension CheckRequest: DescribedMessage {}

extension BackupStart: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "revision": JSONValue(self.revision), "historyID": .string(self.historyID.hex),
            "fileBytes": JSONValue(count: self.fileBytes), "byteCount": JSONValue(count: self.byteCount),
        ]
    }
}

extension BackupChunk: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["offset": JSONValue(count: self.offset), "packed": .string(Hex.text(self.packed))]
    }
}

extension BackupEnd: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["fileBytes": JSONValue(count: self.fileBytes), "checksum": .string(Hex.text(self.checksum))]
    }
}

extension CheckProgress: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "name": .string(self.step.name), "number": JSONValue(count: self.step.number),
            "count": JSONValue(count: self.step.count),
        ]
    }
}

extension Checked: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "revision": JSONValue(self.report.revision), "objectCount": JSONValue(count: self.report.objectCount),
            "problemCount": JSONValue(count: self.report.problemCount),
            "problems": JSONValue(list: self.report.problems.map { .string($0) }),
        ]
    }
}
