/// Checks the bytes of an XML document before libxml2 parses them.
///
/// - Refuses bytes that are not UTF-8, unless the document declares another encoding: libxml2 would take them for
///   Latin-1 from there on. Refuses encodings in which ASCII has other bytes, so that markup can be found in the bytes.
/// - Records where a document type declaration begins; `XMLReader` refuses it there.
/// - Refuses processing instructions, unless the rules skip them, and white space before the XML declaration: without
///   the declaration, the encoding would be unknown.
struct XMLGuard: Sendable {
    private static let instructionBytesMax = 64 << 10
    private static let doctypeStart = Array("<!DOCTYPE".utf8)

    private let rules: XMLRules
    /// Where the first document type declaration begins.
    private(set) var doctype: TextLocation?
    /// The location after the bytes that were passed to libxml2.
    private(set) var location = TextLocation()
    private var isAtStart = true
    /// Whether only white space has been passed.
    private var isBlank = true
    private var isUTF8 = true
    /// The beginning of markup whose end has not arrived yet.
    private var held: [UInt8] = []

    init(_ rules: XMLRules) {
        self.rules = rules
    }

    /// Returns the bytes to pass to libxml2. `isLast`: whether no more bytes follow.
    mutating func pass(_ piece: [UInt8], isLast: Bool) throws(FormatError) -> [UInt8] {
        var bytes = self.held + piece
        self.held = []
        if self.isAtStart {
            guard bytes.count >= 4 || isLast else {
                self.held = bytes
                return []
            }
            if bytes.prefix(4).contains(0) { throw UTF8Text.wide }
        }
        var index = self.isAtStart ? try UTF8Text.markCount(bytes) : 0
        let start = self.isAtStart ? index : -1
        while let open = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
            guard let end = try self.endOfMarkup(bytes, open, isAtStart: open == start) else {
                // libxml2 reports what is missing when the file ends here.
                guard !isLast else { break }
                // With the byte order mark, so that the next call is at the start too.
                let first = open == start ? 0 : open
                self.held = Array(bytes[first...])
                bytes.removeSubrange(first...)
                break
            }
            index = end
        }
        self.isBlank = self.isBlank && bytes.allSatisfy(Self.isSpace)
        if self.isUTF8 { try self.checkText(&bytes, isLast: isLast) }
        if !bytes.isEmpty { self.isAtStart = false }
        self.location.advance(over: bytes[...])
        return bytes
    }

    /// Returns where to continue after a `<`: at the end of an instruction, otherwise at the next byte. Returns `nil`
    /// when more bytes are needed.
    private mutating func endOfMarkup(_ bytes: [UInt8], _ open: Int, isAtStart: Bool) throws(FormatError) -> Int? {
        guard open + 1 < bytes.count else { return nil }
        if bytes[open + 1] == UInt8(ascii: "!") {
            let known = bytes[open...].prefix(Self.doctypeStart.count)
            guard Self.doctypeStart.starts(with: known) else { return open + 1 }
            guard known.count == Self.doctypeStart.count else { return nil }
            if self.doctype == nil { self.doctype = self.location(of: open, in: bytes) }
            return open + 1
        }
        guard bytes[open + 1] == UInt8(ascii: "?") else { return open + 1 }
        if !isAtStart, self.rules.skipsInstructions {
            guard self.isBlank, bytes[..<open].allSatisfy(Self.isSpace) else { return open + 1 }
            guard bytes.count - open > Self.declarationStart.count else { return nil }
            guard Self.isDeclaration(bytes[open...]) else { return open + 1 }
            var fault = self.location(of: open, in: bytes).failure(
                "white space before the XML declaration; remove it"
            )
            fault.isRepairable = true
            throw fault
        }
        var close = open + 2
        while let mark = bytes[close...].firstIndex(of: UInt8(ascii: "?")), mark + 1 < bytes.count {
            if bytes[mark + 1] == UInt8(ascii: ">") {
                let end = mark + 2
                if isAtStart, Self.isDeclaration(bytes[open..<end]) {
                    try self.checkEncoding(bytes[open..<end], open, bytes)
                } else if !self.rules.skipsInstructions {
                    let message = "a processing instruction (<? … ?>) is not read; no \(self.rules.subject) needs one"
                    throw self.location(of: open, in: bytes).failure(message)
                }
                return end
            }
            close = mark + 1
        }
        guard bytes.count - open <= Self.instructionBytesMax else {
            let message = "a processing instruction of more than \(Self.instructionBytesMax) bytes"
            throw self.location(of: open, in: bytes).failure(message)
        }
        return nil
    }

    private static let declarationStart = Array("<?xml".utf8)

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0a, 0x0d].contains(byte) }

    /// `bytes` has more than `declarationStart`.
    private static func isDeclaration(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.starts(with: Self.declarationStart) else { return false }
        return Self.isSpace(bytes[bytes.startIndex + Self.declarationStart.count])
    }

    /// Refuses bytes that are not UTF-8; holds back the beginning of a scalar at the end.
    private mutating func checkText(_ bytes: inout [UInt8], isLast: Bool) throws(FormatError) {
        if !isLast, self.held.isEmpty, let lead = bytes.indices.suffix(3).last(where: { bytes[$0] >= 0xc0 }) {
            let length = bytes[lead] >= 0xf0 ? 4 : bytes[lead] >= 0xe0 ? 3 : 2
            if bytes.count - lead < length {
                self.held = Array(bytes[lead...])
                bytes.removeSubrange(lead...)
            }
        }
        guard let index = UTF8Text.firstInvalid(bytes) else { return }
        throw self.location(of: index, in: bytes).failure(
            "bytes that are not UTF-8; convert the file to UTF-8, or declare its encoding, such as "
                + "encoding=\"windows-1252\""
        )
    }

    private mutating func checkEncoding(_ declaration: ArraySlice<UInt8>, _ open: Int, _ bytes: [UInt8])
        throws(FormatError)
    {
        let text = String(decoding: declaration, as: UTF8.self)
        guard let name = text.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.1 else { return }
        let encoding = name.lowercased()
        self.isUTF8 = encoding == "utf-8" || encoding == "us-ascii"
        // libxml2 would follow the declaration, which is more often wrong than the mark.
        guard self.isUTF8 || open == 0 else {
            throw self.location(of: open, in: bytes).failure(
                "the file has the mark of UTF-8, but declares the encoding \(name); declare encoding=\"UTF-8\""
            )
        }
        guard self.isUTF8 || encoding.hasPrefix("iso-8859-") || encoding.hasPrefix("windows-125") else {
            throw self.location(of: open, in: bytes).failure(
                "the encoding is \(name); convert the file to UTF-8 and declare encoding=\"UTF-8\""
            )
        }
    }

    private func location(of index: Int, in bytes: [UInt8]) -> TextLocation {
        var location = self.location
        location.advance(over: bytes[..<index])
        return location
    }
}
