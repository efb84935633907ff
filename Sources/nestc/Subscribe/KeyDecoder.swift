/// The keys that the browser of a list handles.
enum TerminalKey: Equatable {
    case up
    case down
    case left
    case right
    case pageUp
    case pageDown
    case home
    case end
    case enter
    case escape
    case backspace
    /// Ctrl-U, which deletes the typed text.
    case deleteText
    /// Ctrl-L, which draws the screen again.
    case redraw
    case character(Character)
}

/// Converts the bytes that a terminal sends to keys. A sequence may arrive in several pieces.
struct KeyDecoder {
    /// The longest sequence that is waited for. No terminal's keys are longer.
    private static let sequenceMax = 32
    private static let escape: UInt8 = 0x1b

    /// The beginning of a sequence whose end has not arrived.
    private var rest: [UInt8] = []

    /// Whether bytes wait for more. If no more come soon, call `flush`.
    var isWaiting: Bool { !self.rest.isEmpty }

    mutating func decode(_ bytes: [UInt8]) -> [TerminalKey] {
        self.rest += bytes
        var keys: [TerminalKey] = []
        while let (count, key) = Self.first(self.rest[...]) {
            self.rest.removeFirst(count)
            if let key { keys.append(key) }
        }
        if self.rest.count > Self.sequenceMax { self.rest = [] }
        return keys
    }

    /// Returns the keys of the bytes that wait: the key Esc sends a byte that also begins the sequences of other keys.
    mutating func flush() -> [TerminalKey] {
        guard self.rest.first == Self.escape else {
            self.rest = []
            return []
        }
        let others = Array(self.rest.dropFirst())
        self.rest = []
        return [.escape] + self.decode(others)
    }

    /// Returns the number of bytes of the first key, and the key unless the browser has no use for it. Returns `nil` if
    /// the key is not complete.
    private static func first(_ bytes: ArraySlice<UInt8>) -> (count: Int, key: TerminalKey?)? {
        guard let byte = bytes.first else { return nil }
        switch byte {
        case Self.escape: return Self.sequence(bytes)
        case 0x0d, 0x0a: return (1, .enter)
        case 0x08, 0x7f: return (1, .backspace)
        case 0x15: return (1, .deleteText)
        case 0x0c: return (1, .redraw)
        case 0..<0x20: return (1, nil)
        case 0x20..<0x80: return (1, .character(Character(Unicode.Scalar(byte))))
        default: return Self.scalar(bytes)
        }
    }

    /// Decodes a scalar of UTF-8. Skips a byte that begins none.
    private static func scalar(_ bytes: ArraySlice<UInt8>) -> (count: Int, key: TerminalKey?)? {
        let count =
            switch bytes.first! {
            case 0xc2...0xdf: 2
            case 0xe0...0xef: 3
            case 0xf0...0xf4: 4
            default: 1
            }
        let complete = bytes.prefix(count)
        guard complete.dropFirst().allSatisfy({ $0 & 0xc0 == 0x80 }) else { return (1, nil) }
        guard complete.count == count else { return nil }
        guard let text = String(validating: complete, as: UTF8.self), let character = text.first else {
            return (1, nil)
        }
        return (count, .character(character))
    }

    /// Decodes what follows Esc: `[` with parameters and a final byte, or `O` with a final byte in the terminal's
    /// application mode. Before anything else it is the key Esc.
    private static func sequence(_ bytes: ArraySlice<UInt8>) -> (count: Int, key: TerminalKey?)? {
        let body = bytes.dropFirst(2)
        switch bytes.dropFirst().first {
        case nil: return nil
        case UInt8(ascii: "["):
            // The Linux console sends ESC [ [ A for the key F1.
            if body.first == UInt8(ascii: "[") { return body.count < 2 ? nil : (4, nil) }
            guard let final = body.firstIndex(where: { !(0x20..<0x40).contains($0) }) else { return nil }
            let count = final - bytes.startIndex
            // Another key interrupts the sequence.
            guard (0x40..<0x7f).contains(bytes[final]) else { return (count, nil) }
            return (count + 1, Self.key(final: bytes[final], parameters: body[..<final]))
        case UInt8(ascii: "O"):
            guard let final = body.first else { return nil }
            return (3, Self.key(final: final, parameters: []))
        default: return (1, .escape)
        }
    }

    /// Parameters after the first say which of Shift, Alt and Ctrl were held. That makes no difference.
    private static func key(final: UInt8, parameters: ArraySlice<UInt8>) -> TerminalKey? {
        switch final {
        case UInt8(ascii: "A"): return .up
        case UInt8(ascii: "B"): return .down
        case UInt8(ascii: "C"): return .right
        case UInt8(ascii: "D"): return .left
        case UInt8(ascii: "H"): return .home
        case UInt8(ascii: "F"): return .end
        case UInt8(ascii: "M") where parameters.isEmpty: return .enter
        case UInt8(ascii: "~"): break
        default: return nil
        }
        switch String(decoding: parameters.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self) {
        case "1", "7": return .home
        case "4", "8": return .end
        case "5": return .pageUp
        case "6": return .pageDown
        default: return nil
        }
    }
}
