import NestModel

/// The sender will close the connection. It has not executed requests above `lastRequestID`.
package struct GoAway: Message, Equatable {
    package static let type = MessageType.goAway

    package var code: ErrorCode
    /// The last request that was or may have been executed.
    package var lastRequestID: UInt32
    package var retryAfterMilliseconds: Int
    package var message: String

    package init(code: ErrorCode, lastRequestID: UInt32, retryAfterMilliseconds: Int, message: String) {
        self.code = code
        self.lastRequestID = lastRequestID
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.message = message
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.code = ErrorCode(rawValue: try reader.integer(UInt16.self, "code"))
        guard let last = UInt32(exactly: try reader.varint("last request id")) else {
            throw DecodingFailure(.outOfRange, "last request id")
        }
        self.lastRequestID = last
        self.retryAfterMilliseconds = try reader.index("retry after")
        self.message = try reader.string("message", max: Limits.frameBytesMax)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(integer: self.code.rawValue)
        writer.write(varint: UInt64(self.lastRequestID))
        writer.write(count: self.retryAfterMilliseconds)
        writer.write(string: self.message)
    }
}

/// A message with eight bytes, which the peer returns unchanged.
package protocol LivenessMessage: Message {
    var payload: UInt64 { get }
    init(payload: UInt64)
}

extension LivenessMessage {
    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.init(payload: try reader.integer(UInt64.self, "payload"))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(integer: self.payload)
    }
}

/// Asks the peer to answer with PONG and the same eight bytes.
package struct Ping: LivenessMessage, Equatable {
    package static let type = MessageType.ping
    package var payload: UInt64

    package init(payload: UInt64) {
        self.payload = payload
    }
}

package struct Pong: LivenessMessage, Equatable {
    package static let type = MessageType.pong
    package var payload: UInt64

    package init(payload: UInt64) {
        self.payload = payload
    }
}

/// The client no longer wants the answer to the request with the frame's id. The server still sends exactly one, which
/// may be the error `cancelled`.
package struct Cancel: EmptyMessage, Equatable {
    package static let type = MessageType.cancel
    package init() {}
}

/// The receiver of a stream permits so many more bytes of chunk bodies.
package struct Credit: Message, Equatable {
    package static let type = MessageType.credit
    package var bytes: Int

    package init(bytes: Int) {
        self.bytes = bytes
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.bytes = try reader.index("bytes")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.bytes)
    }
}

/// The reply without content: the request was executed.
package struct Done: EmptyMessage, Equatable {
    package static let type = MessageType.done
    package init() {}
}
