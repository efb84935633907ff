/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.enumerated().reduce(UInt32(0)) { $0 | UInt32($1.element) << (16 - 8 * UInt32($1.offset)) }
            for index in 0..<4 {
                let digit = Int(bits >> (18 - 6 * UInt32(index)) & 0x3f)
                text.append(index <= group.count ? Self.alphabet[digit] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    package static func bytes(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        for start in stride(from: 0, to: characters.count, by: 4) {
            let group = characters[start..<start + 4]
            let digits = group.prefix { $0 != UInt8(ascii: "=") }
            let isLast = start + 4 == characters.count
            guard digits.count == 4 || (isLast && digits.count >= 2),
                group.dropFirst(digits.count).allSatisfy({ $0 == 0x3d })
            else { return nil }
            var bits: UInt32 = 0
            for digit in digits {
                guard let value = Self.alphabet.firstIndex(of: digit) else { return nil }
                bits = bits << 6 | UInt32(value)
            }
            bits <<= 6 * UInt32(4 - digits.count)
            bytes += [UInt8(bits >> 16 & 0xff), UInt8(bits >> 8 & 0xff), UInt8(bits & 0xff)].prefix(digits.count - 1)
        }
        return bytes
    }
}
