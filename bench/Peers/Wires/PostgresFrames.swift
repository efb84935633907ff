import NestProtocol

/// The head of PostgreSQL's messages, protocol 3.
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

/// PostgreSQL's messages, of a server that asks nobody for a password.
struct PostgresFrames {
    private var scanner = FrameScanner<PostgresHeader>()

    /// Hands on the type of each message; throws what the server refuses.
    mutating func scan(_ bytes: UnsafeRawBufferPointer, _ onMessage: (UInt8) throws -> Void) throws {
        try self.scanner.scan(bytes) { header, body in
            guard header.type != UInt8(ascii: "E") else {
                throw PeerRefusal("PostgreSQL refused: \(Self.reason(body))")
            }
            try onMessage(header.type)
        }
    }

    /// The field M of an error: what a person reads.
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

    /// Prepares a statement under a name.
    static func prepare(_ name: String, _ sql: String) -> [UInt8] {
        Self.message("P", Array("\(name)\0\(sql)\0".utf8) + [0, 0]) + Self.message("S", [])
    }

    /// Runs a prepared statement without parameters, in a transaction of its own.
    static func execute(_ name: String) -> [UInt8] {
        Self.message("B", Array("\0\(name)\0".utf8) + [0, 0, 0, 0, 0, 0])
            + Self.message("E", [0, 0, 0, 0, 0]) + Self.message("S", [])
    }

    private static func length(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
