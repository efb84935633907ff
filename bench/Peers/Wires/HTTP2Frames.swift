import NestProtocol

/// The header of an HTTP/2 frame (RFC 9113, section 4.1).
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
    /// Whether a DATA or HEADERS frame ends its stream.
    var endsStream: Bool { self.flags & 1 != 0 && (self.kind == .data || self.kind == .headers) }
    /// Whether a SETTINGS or PING frame is an acknowledgement.
    var isAcknowledgement: Bool { self.flags & 1 != 0 }
}

/// The connection level of HTTP/2 with prior knowledge, as far as a gRPC client needs it.
///
/// It opens its own receive window to the maximum at the start. It does not track the server's window, because it never
/// has that many bytes outstanding (64 kB).
struct HTTP2Frames {
    private var scanner = FrameScanner<HTTP2Header>()

    /// Answers SETTINGS and PING. Passes SETTINGS, DATA and HEADERS to `onFrame`.
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
            case .goAway: throw PeerRefusal("the server sent GOAWAY: \(body.part(8, max(body.count - 8, 0)).text)")
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

    /// The preface, SETTINGS with the maximum window for each stream, and the same window for the connection.
    static func opening() -> [UInt8] {
        let initialWindow: [UInt8] = [0, 4, 0x7f, 0xff, 0xff, 0xff]
        let connectionMore: [UInt8] = [0x7f, 0xff, 0, 0]
        return Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
            + Self.frame(.settings, flags: 0, stream: 0, initialWindow)
            + Self.frame(.windowUpdate, flags: 0, stream: 0, connectionMore)
    }

    /// Returns the header block of a gRPC request, in HPACK with literals only, without dynamic table and Huffman code
    /// (RFC 7541). So its bytes are the same for every request.
    static func requestHead(path: String) -> [UInt8] {
        func text(_ text: String) -> [UInt8] {
            precondition(text.utf8.count < 127, "the length must fit into one byte")
            return [UInt8(text.utf8.count)] + Array(text.utf8)
        }
        // Indexes of the static table: 3 is :method POST, 6 is :scheme http, 4 is :path, 1 is :authority.
        return [0x83, 0x86, 0x04] + text(path) + [0x01] + text("localhost") + [0x00] + text("te") + text("trailers")
            + [0x00] + text("content-type") + text("application/grpc")
    }

    /// Returns a request with one message, in as many DATA frames as needed.
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

/// The five-byte header of a gRPC message.
struct GRPCHeader: FrameHeader {
    static let byteCount = 5
    let bodyBytes: Int

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bodyBytes = Int(bytes.bigEndian(UInt32.self, at: 1))
    }

    var keptBytes: Int { self.bodyBytes }
}
