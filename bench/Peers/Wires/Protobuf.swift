/// The part of the Protocol Buffers encoding that etcd's messages need.
enum Protobuf {
    static func number(_ field: Int, _ value: Int) -> [UInt8] { Self.varint(field << 3) + Self.varint(value) }

    static func bytes(_ field: Int, _ value: some Collection<UInt8>) -> [UInt8] {
        Self.varint(field << 3 | 2) + Self.varint(value.count) + value
    }

    static func text(_ field: Int, _ value: String) -> [UInt8] { Self.bytes(field, Array(value.utf8)) }

    private static func varint(_ value: Int) -> [UInt8] {
        var rest = value
        var bytes: [UInt8] = []
        while rest > 0x7f {
            bytes.append(UInt8(rest & 0x7f) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// Calls `body` for each field of a message, with its field number and its number or its bytes.
    static func forEachField(
        _ message: UnsafeRawBufferPointer,
        _ body: (Int, Int, UnsafeRawBufferPointer) throws -> Void
    ) throws {
        var offset = 0
        func varint() throws -> Int {
            var value = 0
            for shift in stride(from: 0, to: 63, by: 7) {
                guard offset < message.count else { throw PeerRefusal("a message ends too early") }
                let byte = message[offset]
                offset += 1
                value |= Int(byte & 0x7f) << shift
                if byte < 0x80 { return value }
            }
            // A number of ten bytes. No caller uses one.
            offset += 1
            return value
        }
        while offset < message.count {
            let key = try varint()
            switch key & 7 {
            case 0: try body(key >> 3, try varint(), UnsafeRawBufferPointer(start: nil, count: 0))
            case 2:
                let count = try varint()
                guard count <= message.count - offset else { throw PeerRefusal("a message ends too early") }
                try body(key >> 3, 0, message.part(offset, count))
                offset += count
            default: throw PeerRefusal("a message with an unknown wire type")
            }
        }
    }
}
