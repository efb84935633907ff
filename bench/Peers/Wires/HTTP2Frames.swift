import NestProtocol

/// The head of HTTP/2's frames (RFC 9113, section 4.1).
struct HTTP2Header: FrameHeader {
    enum Kind: UInt8 {
        case data = 0
        case headers = 1
        case reset = 3
        case settings = 4
        case ping = 6
        case goAway = 7
        case windowUpdate = 8
        case continuation = 9
    }

    static let byteCount = 9
    let bodyBytes: Int
    let kind: Kind?
    let flags: UInt8
    let stream: UInt32

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bodyBytes = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
        self.kind = Kind(rawValue: bytes[3])
        self.flags = bytes[4]
        self.stream = bytes.bigEndian(UInt32.self, at: 5) & 0x7fff_ffff
    }

    var keptBytes: Int { self.kind == .headers ? 0 : self.bodyBytes }
    /// Of DATA and HEADERS.
    var endsStream: Bool { self.flags & 1 != 0 && (self.kind == .data || self.kind == .headers) }
    /// Of SETTINGS and PING.
    var isAcknowledgement: Bool { self.flags & 1 != 0 }
}

/// The connection's part of HTTP/2 with prior knowledge, as a gRPC client needs it.
///
/// The window that the server may fill is opened as far as it goes at once; what is sent stays so far below the server's
/// that it need not be watched (64 kB not yet taken by the server).
struct HTTP2Frames {
    private var scanner = FrameScanner<HTTP2Header>()

    /// Answers SETTINGS and PING; DATA and HEADERS are handed on, and the first SETTINGS.
    mutating func scan(
        _ bytes: UnsafeRawBufferPointer,
        reply: inout [UInt8],
        _ onFrame: (HTTP2Header, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try self.scanner.scan(bytes) { header, body in
            switch header.kind {
            case .settings where !header.isAcknowledgement:
                reply += Self.frame(.settings, flags: 1, stream: 0, [])
                try onFrame(header, body)
            case .ping where !header.isAcknowledgement:
                reply += Self.frame(.ping, flags: 1, stream: 0, [UInt8](body))
            case .reset: throw PeerRefusal("the server reset stream \(header.stream)")
            case .goAway: throw PeerRefusal("the server goes away: \(body.part(8, max(body.count - 8, 0)).text)")
            case .data, .headers: try onFrame(header, body)
            default: break
            }
        }
    }

    static func frame(_ kind: HTTP2Header.Kind, flags: UInt8, stream: UInt32, _ body: [UInt8]) -> [UInt8] {
        let count = body.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 0xff), UInt8(count & 0xff), kind.rawValue, flags]
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: stream >> $0) } + body
    }

    /// Preface, SETTINGS with the largest window for each stream, and as much for the connection.
    static func opening() -> [UInt8] {
        let initialWindow: [UInt8] = [0, 4, 0x7f, 0xff, 0xff, 0xff]
        let connectionMore: [UInt8] = [0x7f, 0xff, 0, 0]
        return Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
            + Self.frame(.settings, flags: 0, stream: 0, initialWindow)
            + Self.frame(.windowUpdate, flags: 0, stream: 0, connectionMore)
    }

    /// A gRPC request's head, in HPACK without a table and without Huffman's code (RFC 7541): literals only, so that the bytes
    /// are the same for every request.
    static func requestHead(path: String) -> [UInt8] {
        func text(_ text: String) -> [UInt8] {
            precondition(text.utf8.count < 127, "a length of one byte")
            return [UInt8(text.utf8.count)] + Array(text.utf8)
        }
        // Names by their index in the static table: 3 and 6 with the values POST and http, 4 is :path, 1 is :authority.
        return [0x83, 0x86, 0x04] + text(path) + [0x01] + text("localhost") + [0x00] + text("te") + text("trailers")
            + [0x00] + text("content-type") + text("application/grpc")
    }

    /// A request with one message, in as many DATA frames as it takes.
    static func request(stream: UInt32, head: [UInt8], message: [UInt8], ends: Bool) -> [UInt8] {
        var bytes = Self.frame(.headers, flags: 4, stream: stream, head)
        let data = [0] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: message.count >> $0) } + message
        var offset = 0
        while offset < data.count {
            let end = min(offset + 16_384, data.count)
            bytes += Self.frame(
                .data,
                flags: ends && end == data.count ? 1 : 0,
                stream: stream,
                Array(data[offset..<end])
            )
            offset = end
        }
        return bytes
    }
}

/// The five bytes before each message of gRPC.
struct GRPCHeader: FrameHeader {
    static let byteCount = 5
    let bodyBytes: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bodyBytes = Int(bytes.bigEndian(UInt32.self, at: 1))
    }

    var keptBytes: Int { self.bodyBytes }
}
