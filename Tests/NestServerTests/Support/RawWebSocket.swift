import NIOCore

/// The client's side of a WebSocket, as bytes: so that a test can break every rule.
struct RawWebSocket {
    enum Opcode: UInt8 {
        case continuation = 0
        case text, binary
        case close = 8
        case ping, pong
    }

    /// The key of RFC 6455, section 1.3, whose proof is known.
    static let key = "dGhlIHNhbXBsZSBub25jZQ=="

    private var received = ByteBuffer()
    private var payloads = ByteBuffer()
    private(set) var closeCode: UInt16?
    private(set) var pongs: [[UInt8]] = []

    /// Returns a request for a WebSocket. `fields` replace fields of the same name; an empty value removes one.
    static func request(_ fields: [String: String] = [:], line: String = "GET /nest HTTP/1.1") -> String {
        let usual = [
            "Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": self.key, "Sec-WebSocket-Protocol": "nest.1",
        ]
        let all = usual.merging(fields) { $1 }.filter { $0.value != "" }
        return "\(line)\r\n" + all.map { "\($0): \($1)\r\n" }.sorted().joined() + "\r\n"
    }

    static func frame(_ opcode: Opcode, _ payload: [UInt8] = [], fin: Bool = true, isMasked: Bool = true) -> [UInt8] {
        let mask: [UInt8] = [0x11, 0x22, 0x44, 0x88]
        var buffer = ByteBuffer()
        buffer.writeInteger(opcode.rawValue | (fin ? 0x80 : 0))
        let bit: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case ...125: buffer.writeInteger(bit | UInt8(payload.count))
        case ...0xffff: buffer.writeMultipleIntegers(bit | 126, UInt16(payload.count))
        default: buffer.writeMultipleIntegers(bit | 127, UInt64(payload.count))
        }
        if isMasked { buffer.writeBytes(mask) }
        buffer.writeBytes(isMasked ? payload.enumerated().map { $1 ^ mask[$0 % 4] } : payload)
        return Array(buffer.readableBytesView)
    }

    mutating func received(_ bytes: inout ByteBuffer) {
        self.received.writeBuffer(&bytes)
        while self.closeCode == nil, self.takeFrame() {}
    }

    /// Takes a frame of the server, which is whole and not masked. Returns whether there was one.
    private mutating func takeFrame() -> Bool {
        var rest = self.received
        guard let (first, second) = rest.readMultipleIntegers(as: (UInt8, UInt8).self) else { return false }
        var count = Int(second)
        if second == 126 {
            guard let length = rest.readInteger(as: UInt16.self) else { return false }
            count = Int(length)
        } else if second == 127 {
            guard let length = rest.readInteger(as: UInt64.self) else { return false }
            count = Int(length)
        }
        guard var payload = rest.readSlice(length: count) else { return false }
        switch first {
        case 0x82: self.payloads.writeBuffer(&payload)
        case 0x88: self.closeCode = payload.readInteger(as: UInt16.self) ?? 0
        case 0x8a: self.pongs.append(Array(payload.readableBytesView))
        default: self.closeCode = 0
        }
        self.received = rest
        return true
    }

    /// Removes and returns the payloads of the binary messages so far.
    mutating func takePayloads() -> ByteBuffer {
        defer { self.payloads = ByteBuffer() }
        return self.payloads
    }
}
