/// Spaces and tabs in a line's bytes.
enum LineBytes {
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")

    static func isBlank(_ byte: UInt8) -> Bool { byte == Self.space || byte == Self.tab }

    static func isBlank(_ line: some Sequence<UInt8>) -> Bool { line.allSatisfy(Self.isBlank) }

    /// Returns the bytes without spaces and tabs at both ends.
    static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var line = line.drop(while: Self.isBlank)
        while let last = line.last, Self.isBlank(last) { line.removeLast() }
        return line
    }

    /// Returns the bytes up to the first space or tab, and the rest without spaces and tabs at its beginning.
    static func word(_ line: ArraySlice<UInt8>) -> (word: ArraySlice<UInt8>, rest: ArraySlice<UInt8>) {
        let word = line.prefix { !Self.isBlank($0) }
        return (word, line[word.endIndex...].drop(while: Self.isBlank))
    }

    /// Returns the lines without blank ones at both ends.
    static func trimmed(_ lines: ArraySlice<[UInt8]>) -> ArraySlice<[UInt8]> {
        var lines = lines.drop { Self.isBlank($0) }
        while let last = lines.last, Self.isBlank(last) { lines.removeLast() }
        return lines
    }

    static func text(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    static func lines(_ text: String) -> [[UInt8]] {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Array($0) }
    }

    /// The reverse of `lines`.
    static func text(ofLines lines: some Sequence<[UInt8]>) -> String {
        self.text(Array(lines.joined(separator: [UInt8(ascii: "\n")])))
    }
}
