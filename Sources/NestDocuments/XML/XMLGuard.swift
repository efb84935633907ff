/// Looks at the bytes of an XML document before the parser does.
///
/// - A document type declaration is refused: so there are no entities to expand, and nothing outside the file is opened.
/// - Processing instructions are blanked out: they say nothing of an outline, and `XMLParser` of Swift 6.3 ends the
///   process at one that is nothing but a name (`<?name?>`).
/// - What is not UTF-8, where nothing else is declared, is refused: the parser takes it for Latin-1 from there on, and
///   `XMLParser` of Swift 6.3 ends the process at a name in it.
/// - Encodings in which ASCII has other bytes than its own are refused: these two could hide in them.
struct XMLGuard: Sendable {
    private static let instructionBytesMax = 64 << 10
    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
    private static let doctype = Array("<!DOCTYPE".utf8)

    private var position = TextPosition()
    private var isAtStart = true
    private var isUTF8 = true
    /// The beginning of something whose end has not come yet.
    private var held: [UInt8] = []

    /// The bytes that the parser may see; `isLast` when there are no more.
    mutating func pass(_ piece: [UInt8], isLast: Bool) throws(FormatError) -> [UInt8] {
        var bytes = self.held + piece
        self.held = []
        if self.isAtStart {
            guard bytes.count >= 4 || isLast else {
                self.held = bytes
                return []
            }
            try self.refuseWideEncodings(bytes)
        }
        var index = self.isAtStart && bytes.starts(with: Self.byteOrderMark) ? 3 : 0
        let start = self.isAtStart ? index : -1
        while let open = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            guard let end = try self.endOfMarkup(bytes, open, isAtStart: open == start) else {
                // Without its end at the end of the file: the parser says what is missing.
                guard !isLast else { break }
                self.held = Array(bytes[open...])
                bytes.removeSubrange(open...)
                break
            }
            let isInstruction = end - open > 1
            if isInstruction, open != start || !Self.isDeclaration(bytes[open..<end]) {
                for place in open..<end where bytes[place] != UInt8(ascii: "\n") { bytes[place] = UInt8(ascii: " ") }
            }
            index = end
        }
        if self.isUTF8 { try self.checkText(&bytes, isLast: isLast) }
        if !bytes.isEmpty { self.isAtStart = false }
        self.position.advance(over: bytes[...])
        return bytes
    }

    /// The end of what is looked at from a `<`: of an instruction its own, otherwise the next byte. `nil` when it takes
    /// more bytes to tell.
    private mutating func endOfMarkup(_ bytes: [UInt8], _ open: Int, isAtStart: Bool) throws(FormatError) -> Int? {
        guard open + 1 < bytes.count else { return nil }
        if bytes[open + 1] == UInt8(ascii: "!") {
            let known = bytes[open...].prefix(Self.doctype.count)
            guard Self.doctype.starts(with: known) else { return open + 1 }
            guard known.count == Self.doctype.count else { return nil }
            throw self.failure(at: open, in: bytes, "a document type declaration is not read; no outline needs one")
        }
        guard bytes[open + 1] == UInt8(ascii: "?") else { return open + 1 }
        var close = open + 2
        while let mark = bytes[close...].firstIndex(of: UInt8(ascii: "?")), mark + 1 < bytes.count {
            if bytes[mark + 1] == UInt8(ascii: ">") {
                let end = mark + 2
                if isAtStart, Self.isDeclaration(bytes[open..<end]) {
                    try self.checkEncoding(bytes[open..<end], open, bytes)
                }
                return end
            }
            close = mark + 1
        }
        guard bytes.count - open <= Self.instructionBytesMax else {
            throw self.failure(
                at: open,
                in: bytes,
                "a processing instruction of more than \(Self.instructionBytesMax) bytes"
            )
        }
        return nil
    }

    private static func isDeclaration(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.starts(with: Array("<?xml".utf8)) else { return false }
        return [0x20, 0x09, 0x0a, 0x0d].contains(bytes[bytes.startIndex + 5])
    }

    private func refuseWideEncodings(_ bytes: [UInt8]) throws(FormatError) {
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) || bytes.prefix(4).contains(0) {
            throw FormatError(line: 1, column: 1, "the text is UTF-16; convert it to UTF-8 first")
        }
    }

    /// Refuses bytes that are not UTF-8; the beginning of a scalar at the end is held back.
    private mutating func checkText(_ bytes: inout [UInt8], isLast: Bool) throws(FormatError) {
        if !isLast, self.held.isEmpty, let lead = bytes.indices.suffix(3).last(where: { bytes[$0] >= 0xc0 }) {
            let length = bytes[lead] >= 0xf0 ? 4 : bytes[lead] >= 0xe0 ? 3 : 2
            if bytes.count - lead < length {
                self.held = Array(bytes[lead...])
                bytes.removeSubrange(lead...)
            }
        }
        guard String(validating: bytes, as: UTF8.self) == nil else { return }
        var index = 0
        while let length = Self.scalarLength(bytes[index...]) { index += length }
        throw self.failure(at: index, in: bytes, "a character that XML does not allow")
    }

    /// The bytes of the first scalar; `nil` when it is none.
    private static func scalarLength(_ bytes: ArraySlice<UInt8>) -> Int? {
        (1...4).first { String(validating: bytes.prefix($0), as: UTF8.self)?.unicodeScalars.count == 1 }
    }

    private mutating func checkEncoding(_ declaration: ArraySlice<UInt8>, _ open: Int, _ bytes: [UInt8])
        throws(FormatError)
    {
        let text = String(decoding: declaration, as: UTF8.self)
        guard let encoding = text.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.1.lowercased() else { return }
        self.isUTF8 = encoding == "utf-8" || encoding == "us-ascii"
        guard
            encoding == "utf-8" || encoding == "us-ascii" || encoding.hasPrefix("iso-8859-")
                || encoding.hasPrefix("windows-125")
        else {
            throw self.failure(at: open, in: bytes, "the encoding is \(encoding); convert it to UTF-8 first")
        }
    }

    private func failure(at index: Int, in bytes: [UInt8], _ message: String) -> FormatError {
        var position = self.position
        position.advance(over: bytes[..<index])
        return position.failure(message)
    }
}
