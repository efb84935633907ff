/// What begins at an `&`: for a lenient reader, which asks what the author meant.
enum XMLReference: Equatable {
    /// A reference that XML knows, or that libxml2 must decide on.
    case valid
    /// No reference: a single `&`.
    case single
    /// A reference without its `;`: `byteCount` bytes, and the reference to write instead.
    case unfinished(byteCount: Int, text: String)
    /// One of HTML's named characters, with its `;`.
    case html(byteCount: Int, number: Int)

    /// The maximum number of digits that are read. A well-formed reference may have more, as zeros.
    private static let digitsMax = 32
    /// The characters of Latin-1. HTML's references to them are valid without a `;`.
    private static let latin = 160...255

    /// Reads what begins at the `&` of `bytes[index]`. Returns `nil` if the bytes that decide have not arrived.
    /// `isLast`: whether no more bytes follow.
    init?(_ bytes: [UInt8], at index: Int, isLast: Bool) {
        let start = index + 1
        guard start < bytes.count || isLast else { return nil }
        let isNumber = start < bytes.count && bytes[start] == UInt8(ascii: "#")
        guard let found = isNumber ? Self.number(bytes, start + 1, isLast) : Self.name(bytes, start, isLast) else {
            return nil
        }
        self = found
    }

    private static func number(_ bytes: [UInt8], _ start: Int, _ isLast: Bool) -> XMLReference? {
        let isHexadecimal = start < bytes.count && bytes[start] == UInt8(ascii: "x")
        let first = isHexadecimal ? start + 1 : start
        let digits = bytes[first...].prefix(Self.digitsMax + 1).prefix { byte in
            Self.isDigit(byte) || isHexadecimal && Self.isHexadecimalLetter(byte)
        }
        guard digits.count <= Self.digitsMax else { return .valid }
        guard digits.endIndex < bytes.count || isLast else { return nil }
        guard let value = Int(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10),
            Self.isCharacter(value)
        else {
            return .single
        }
        if digits.endIndex < bytes.count, bytes[digits.endIndex] == UInt8(ascii: ";") { return .valid }
        let text = String(decoding: bytes[start..<digits.endIndex], as: UTF8.self)
        return .unfinished(byteCount: digits.endIndex - start + 2, text: "&#\(text);")
    }

    private static func name(_ bytes: [UInt8], _ start: Int, _ isLast: Bool) -> XMLReference? {
        let letters = bytes[start...].prefix(HTMLEntity.nameBytesMax + 1).prefix { byte in
            Self.isDigit(byte) || Self.isLetter(byte)
        }
        guard letters.count <= HTMLEntity.nameBytesMax else { return .single }
        guard letters.endIndex < bytes.count || isLast else { return nil }
        let next = letters.endIndex < bytes.count ? bytes[letters.endIndex] : nil
        let name = String(decoding: letters, as: UTF8.self)
        let isXML = HTMLEntity.isXML(name)
        if isXML, next == UInt8(ascii: ";") { return .valid }
        guard let number = HTMLEntity.number(name) else { return .single }
        if next == UInt8(ascii: ";") { return .html(byteCount: letters.count + 2, number: number) }
        // In an address like `?a=1&copy=2` it is a parameter.
        guard next != UInt8(ascii: "="), isXML || Self.latin.contains(number) else { return .single }
        return .unfinished(byteCount: letters.count + 1, text: isXML ? "&\(name);" : "&#\(number);")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isHexadecimalLetter(_ byte: UInt8) -> Bool { (0x61...0x66).contains(byte | 0x20) }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) }

    /// `Char` of XML 1.0.
    private static func isCharacter(_ number: Int) -> Bool {
        switch number {
        case 0x9, 0xa, 0xd, 0x20...0xd7ff, 0xe000...0xfffd, 0x1_0000...0x10_ffff: true
        default: false
        }
    }
}
