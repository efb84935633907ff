import NestModel

/// A request was refused or failed; with id 0, the connection.
package struct ErrorMessage: Message, Equatable {
    package static let type = MessageType.error

    package var error: NestError
    package var retry: ErrorCode.Retry
    package var retryAfterMilliseconds: Int

    package init(_ error: NestError, retryAfterMilliseconds: Int = 0) {
        self.error = error
        self.retry = error.code.retry
        self.retryAfterMilliseconds = retryAfterMilliseconds
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let code = ErrorCode(rawValue: try reader.integer(UInt16.self, "code"))
        // An unknown retry class means the most careful one.
        let retry = ErrorCode.Retry(rawValue: try reader.byte("retry")) ?? .unknownOutcome
        let retryAfter = try reader.index("retry after")
        var error = NestError(code, try reader.string("message", max: Limits.frameBytesMax))
        try TaggedFields.read(from: &reader) { (tag, field) throws(DecodingFailure) in
            switch tag {
            case 1: error.object = try field.objectID("object")
            case 2:
                for _ in 0..<(try field.count("faults", max: Limits.faultsPerErrorMax, bytesEach: 5)) {
                    error.faults.append(try field.validationFault())
                }
            case 3: error.leader = try field.string("leader", max: Limits.nodeAddressBytesMax)
            case 4: error.column = try field.index("column")
            default: break
            }
        }
        self.error = error
        self.retry = retry
        self.retryAfterMilliseconds = retryAfter
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(integer: self.error.code.rawValue)
        writer.write(byte: self.retry.rawValue)
        writer.write(count: self.retryAfterMilliseconds)
        writer.write(string: self.error.message)
        var fields = TaggedFields()
        if let object = self.error.object { fields.add(1) { $0.write(objectID: object) } }
        if !self.error.faults.isEmpty {
            fields.add(2) { field in
                let faults = self.error.faults.prefix(Limits.faultsPerErrorMax)
                field.write(count: faults.count)
                for fault in faults { field.write(validationFault: fault) }
            }
        }
        if let leader = self.error.leader { fields.add(3) { $0.write(string: leader) } }
        if let column = self.error.column { fields.add(4) { $0.write(count: column) } }
        fields.encode(into: &writer)
    }
}
