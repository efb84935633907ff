/// Writes text as XML.
enum XMLText {
    /// Appends the value of an attribute in double quotes. Replaces characters that XML does not allow by U+FFFD, and
    /// returns how many.
    static func append(attribute value: String, to bytes: inout [UInt8]) -> Int {
        var replaced = 0
        for scalar in value.unicodeScalars {
            switch scalar {
            case "&": bytes += Array("&amp;".utf8)
            case "<": bytes += Array("&lt;".utf8)
            case ">": bytes += Array("&gt;".utf8)
            case "\"": bytes += Array("&quot;".utf8)
            // A parser would read these characters as spaces.
            case "\n": bytes += Array("&#10;".utf8)
            case "\r": bytes += Array("&#13;".utf8)
            case "\t": bytes += Array("&#9;".utf8)
            case _ where scalar.value < 0x20 || scalar.value == 0xfffe || scalar.value == 0xffff:
                replaced += 1
                bytes += Array("\u{fffd}".utf8)
            default: bytes += UTF8.encode(scalar)!
            }
        }
        return replaced
    }

    /// Whether an element or attribute may have this name.
    static func isName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, Self.isNameStart(first) else { return false }
        return name.unicodeScalars.allSatisfy { scalar in
            Self.isNameStart(scalar) || ("0"..."9").contains(scalar) || "-.\u{b7}".unicodeScalars.contains(scalar)
                || (0x300...0x36f).contains(scalar.value) || (0x203f...0x2040).contains(scalar.value)
        }
    }

    /// `NameStartChar` of XML 1.0.
    private static let nameStarts: [ClosedRange<UInt32>] = [
        0x3a...0x3a, 0x41...0x5a, 0x5f...0x5f, 0x61...0x7a, 0xc0...0xd6, 0xd8...0xf6, 0xf8...0x2ff, 0x370...0x37d,
        0x37f...0x1fff, 0x200c...0x200d, 0x2070...0x218f, 0x2c00...0x2fef, 0x3001...0xd7ff, 0xf900...0xfdcf,
        0xfdf0...0xfffd, 0x1_0000...0xe_ffff,
    ]

    private static func isNameStart(_ scalar: Unicode.Scalar) -> Bool {
        Self.nameStarts.contains { $0.contains(scalar.value) }
    }
}
