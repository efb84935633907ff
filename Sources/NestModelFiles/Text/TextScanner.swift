/// Goes through UTF-8 text byte by byte.
struct TextScanner {
    private let bytes: [UInt8]
    private(set) var index: Int

    /// Refuses what is not UTF-8. A byte order mark is passed over.
    init(_ bytes: [UInt8]) throws(SyntaxFault) {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw SyntaxFault("it is not UTF-8 text") }
        self.bytes = bytes
        self.index = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
    }

    /// The next byte; `nil` at the end.
    var peek: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    mutating func next() -> UInt8? {
        guard let byte = self.peek else { return nil }
        self.index += 1
        return byte
    }

    func isAt(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard self.index + count <= self.bytes.count else { return false }
        return text.withUTF8Buffer { self.bytes[self.index..<self.index + count].elementsEqual($0) }
    }

    /// Passes over a text if it comes next.
    mutating func skip(_ text: StaticString) -> Bool {
        guard self.isAt(text) else { return false }
        self.index += text.utf8CodeUnitCount
        return true
    }

    mutating func skipSpace() {
        while let byte = self.peek, Self.isSpace(byte) { self.index += 1 }
    }

    /// The bytes up to a text, which is passed over too; `nil` when it does not come.
    mutating func take(until end: StaticString) -> ArraySlice<UInt8>? {
        let start = self.index
        while self.index < self.bytes.count {
            if self.isAt(end) {
                defer { self.index += end.utf8CodeUnitCount }
                return self.bytes[start..<self.index]
            }
            self.index += 1
        }
        return nil
    }

    mutating func take(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = self.index
        while let byte = self.peek, isWanted(byte) { self.index += 1 }
        return self.bytes[start..<self.index]
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

    /// A fault at the byte of this index, or at the next one.
    func fault(at index: Int? = nil, _ message: String) -> SyntaxFault {
        let before = self.bytes[..<min(index ?? self.index, self.bytes.count)]
        let lineStart = before.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0
        // Bytes that go on with a character begin with the bits 10.
        let column = before[lineStart...].count { $0 & 0xc0 != 0x80 } + 1
        return SyntaxFault(line: before.count { $0 == 0x0a } + 1, column: column, message)
    }

}
