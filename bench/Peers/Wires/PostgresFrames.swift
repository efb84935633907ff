import NestProtocol

/// The header of a PostgreSQL message, protocol 3.
struct PostgresHeader: FrameHeader {
    static let byteCount = 5
    let type: UInt8
    let bodyBytes: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        self.type = bytes[0]
        self.bodyBytes = max(Int(bytes.bigEndian(UInt32.self, at: 1)) - 4, 0)
    }

    var keptBytes: Int { self.type == UInt8(ascii: "E") ? self.bodyBytes : 0 }
}

/// PostgreSQL's messages, for a server that requires no password.
struct PostgresFrames {
    private var scanner = FrameScanner<PostgresHeader>()

    /// Passes the type of each message to `onMessage`. Throws the server's errors.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ onMessage: (UInt8) throws -> Void) throws {
        try self.scanner.scan(bytes) { header, body in
            guard header.type != UInt8(ascii: "E") else {
                throw PeerRefusal("PostgreSQL refused: \(Self.reason(body))")
            }
            try onMessage(header.type)
        }
    }

    /// Returns the field M of an error: the message for people.
    private static func reason(_ body: UnsafeRawBufferPointer) -> String {
        body.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.first { $0.hasPrefix("M") }
            .map { String($0.dropFirst()) } ?? "an error"
    }

    static func message(_ type: Character, _ body: [UInt8]) -> [UInt8] {
        [type.asciiValue!] + Self.length(body.count + 4) + body
    }

    static func startup() -> [UInt8] {
        let body = Self.length(196_608) + Array("user\0postgres\0database\0postgres\0\0".utf8)
        return Self.length(body.count + 4) + body
    }

    static func query(_ sql: String) -> [UInt8] { Self.message("Q", Array(sql.utf8) + [0]) }

    /// Returns the messages that prepare a statement under a name.
    static func prepare(_ name: String, _ sql: String) -> [UInt8] {
        Self.message("P", Array("\(name)\0\(sql)\0".utf8) + [0, 0]) + Self.message("S", [])
    }

    /// Returns the messages that run a prepared statement without parameters, in its own transaction.
    static func execute(_ name: String) -> [UInt8] {
        Self.message("B", Array("\0\(name)\0".utf8) + [0, 0, 0, 0, 0, 0])
            + Self.message("E", [0, 0, 0, 0, 0]) + Self.message("S", [])
    }

    private static func length(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
