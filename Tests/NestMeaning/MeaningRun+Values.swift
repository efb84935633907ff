import NIOCore
import NestEngine
import NestFraming
import NestModel
import NestProtocol
import NestSchema
import NestSecrets
import NestServer
import NestStore
import NestTestSupport

/// Large values: PUT_VALUE, whose answers transactions set.
extension MeaningRun {
    /// The number of values that objects have, or had.
    package func setCount() throws -> Int {
        guard self.store.layout.hasLargeValues else { return 0 }
        var count = 0
        try StoredFile(self.store.path).forEachRow("SELECT count(*) FROM nest_value WHERE object NOTNULL") { row in
            count = Int(row.integer(0))
            return false
        }
        return count
    }

    /// Sends a value, mostly a small one, with the checks of the server.
    func putValue(_ client: MeaningClient) -> [EngineInput] {
        let type: AttributeType = self.random.oneIn(2) ? .largeData : .largeText
        let isText = type == .largeText && !self.random.isWrong()
        let count = self.random.oneIn(20) ? Limits.valuePartBytes + 1 : self.random.below(4)
        let bytes = self.random.bytes(min(count, 64)).map { isText ? $0 & 0x7f | 1 : $0 }
        let value = (0..<count).map { bytes[$0 % 64] }
        var hash = RunningSHA256()
        hash.update(self.random.isWrong() ? value + [1] : value)
        let put = PutValue(type, length: count, digest: hash.digest)
        do {
            let message = try PutValue(body: .init(bytes: put.body))
            let reservation = SpoolReservation(self.spool)
            var stage = UploadStage(
                message,
                directory: self.store.reader.spoolDirectory,
                reservation: reservation
            )
            var checksum = SubtreeChecksum()
            for start in stride(from: 0, to: count, by: Limits.chunkBytes) {
                let body = SubtreeChunk(packing: Array(value[start..<min(start + Limits.chunkBytes, count)]), nil).bytes
                checksum.add(body)
                try stage.append([body])
            }
            let staged = try stage.finish(message, length: count, checksum: checksum.value)
            self.putCount += 1
            return [client.request(.putValue(staged), .other)]
        } catch {
            return []
        }
    }
}

extension ModelDraft {
    /// Gives each entity without a parent two large values.
    mutating func addLargeValues() {
        for index in self.entities.indices where self.entities[index].parent == nil {
            for type in [AttributeType.largeData, .largeText] {
                var attribute = AttributeDraft(name: "\(type)Value", type: type)
                attribute.isOptional = true
                self.entities[index].attributes.append(attribute)
            }
        }
    }
}
