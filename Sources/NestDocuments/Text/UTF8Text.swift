enum UTF8Text {
    /// Returns the length of the byte order mark at the start of a file. Refuses the marks of UTF-16. `bytes` has at
    /// least three bytes, unless the file has fewer.
    static func markCount(_ bytes: [UInt8]) throws(FormatError) -> Int {
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) { throw Self.wide }
        return bytes.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
    }

    static let wide = FormatError(line: 1, column: 1, "the text is UTF-16; convert it to UTF-8 first")

    /// Returns the index of the first byte that is not UTF-8.
    static func firstInvalid(_ bytes: some Collection<UInt8>) -> Int? {
        guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var count = 0
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { count += UTF8.width(scalar) }
        return count
    }
}
