/// Repairs faults in XML that many programs write, before `XMLGuard` and libxml2 read it, and counts them:
///
/// - an `&` that begins no reference, in text and in the values of attributes: `&amp;`;
/// - a `<` in the value of an attribute, or in text where no markup begins: `&lt;`;
/// - a reference without its `;`: `&#233 `, one of XML's five, or one of HTML's to a character of Latin-1, unless a
///   letter, a digit or `=` follows;
/// - one of HTML's named characters, such as `&nbsp;`: `&#160;`;
/// - white space before the XML declaration: removed.
///
/// Well-formed text passes unchanged, byte for byte. Comments, CDATA sections, processing instructions and everything
/// else pass unchanged too. Bytes arrive in pieces of any size, and the result does not depend on the pieces. Memory
/// grows only with the repairs in text that libxml2 has not read yet.
///
/// All changes are in ASCII and add or remove only whole characters, so they are right in every encoding that
/// `XMLGuard` accepts: UTF-8, ISO 8859 and the code pages of Windows.
struct XMLRepair: Sendable {
    /// White space before the XML declaration is removed up to this size.
    private static let spaceBytesMax = 4 << 10

    private enum Part: Equatable {
        /// Nothing has been passed yet.
        case start
        /// Between the tags.
        case text
        /// In a start tag, outside of the values.
        case tag
        /// In the value of an attribute, up to this quote.
        case value(UInt8)
        /// In markup that passes unchanged, up to these bytes.
        case markup(end: [UInt8])
    }

    private enum Step {
        case pass(Int)
        case replace(Int, by: [UInt8], RepairKind)
        /// More bytes are needed.
        case wait
    }

    private(set) var counts = RepairCounts()
    private var part = Part.start
    /// Bytes whose meaning the next bytes decide.
    private var held: [UInt8] = []
    private var map = SourceMap()
    /// The locations after the bytes that have passed, in the original and in the repaired text.
    private var original = TextLocation()
    private var repaired = TextLocation()

    /// Returns the location in the original text.
    func original(_ location: TextLocation) -> TextLocation { self.map.original(location) }

    /// Drops what only locations before this one need, in the repaired text.
    mutating func forget(before location: TextLocation) { self.map.forget(before: location) }

    /// Returns the repaired bytes. `isLast`: whether no more bytes follow.
    mutating func pass(_ piece: [UInt8], isLast: Bool) -> [UInt8] {
        let bytes = self.held.isEmpty ? piece : self.held + piece
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 64)
        var index = 0
        var copied = 0
        reading: while index < bytes.count {
            switch self.step(bytes, index, isLast) {
            case .pass(let count): index += count
            case .replace(let count, let text, let kind):
                output += bytes[copied..<index]
                output += text
                self.advance(over: bytes[copied..<index])
                index += count
                self.note(kind, bytes[index - count..<index], text)
                copied = index
            case .wait: break reading
            }
        }
        output += bytes[copied..<index]
        self.advance(over: bytes[copied..<index])
        self.held = Array(bytes[index...])
        return output
    }

    private mutating func advance(over bytes: ArraySlice<UInt8>) {
        var end = TextLocation()
        end.advance(over: bytes)
        self.original.advance(by: end)
        self.repaired.advance(by: end)
    }

    private mutating func note(_ kind: RepairKind, _ old: ArraySlice<UInt8>, _ new: [UInt8]) {
        self.counts[kind] += 1
        self.original.advance(over: old)
        self.repaired.advance(over: new[...])
        self.map.append(changed: self.repaired, original: self.original)
    }

    /// Returns what to do at `bytes[index]`. If `isLast`, never `.wait`.
    private mutating func step(_ bytes: [UInt8], _ index: Int, _ isLast: Bool) -> Step {
        switch self.part {
        case .start: return self.start(bytes, isLast)
        case .text:
            let next = bytes[index...].firstIndex { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") } ?? bytes.count
            guard next == index else { return .pass(next - index) }
            return bytes[index] == UInt8(ascii: "&")
                ? Self.reference(bytes, index, isLast) : self.lessThan(bytes, index, isLast)
        case .value(let quote):
            let next =
                bytes[index...].firstIndex { $0 == quote || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }
                ?? bytes.count
            guard next == index else { return .pass(next - index) }
            switch bytes[index] {
            case UInt8(ascii: "&"): return Self.reference(bytes, index, isLast)
            case UInt8(ascii: "<"): return Self.escapedLessThan
            default:
                self.part = .tag
                return .pass(1)
            }
        case .tag:
            let end = bytes[index...].firstIndex {
                $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "'")
            }
            guard let next = end else { return .pass(bytes.count - index) }
            self.part = bytes[next] == UInt8(ascii: ">") ? .text : .value(bytes[next])
            return .pass(next + 1 - index)
        case .markup(let end): return self.markup(bytes, index, end: end, isLast)
        }
    }

    private static let escapedLessThan = Step.replace(1, by: Array("&lt;".utf8), .lessThanSigns)

    private static func reference(_ bytes: [UInt8], _ index: Int, _ isLast: Bool) -> Step {
        switch XMLReference(bytes, at: index, isLast: isLast) {
        case nil: .wait
        case .valid: .pass(1)
        case .single: .replace(1, by: Array("&amp;".utf8), .ampersands)
        case .unfinished(let count, let text): .replace(count, by: Array(text.utf8), .semicolons)
        case .html(let count, let number): .replace(count, by: Array("&#\(number);".utf8), .entities)
        }
    }

    /// Markup that passes unchanged, by its beginning and its end.
    private static let markups: [(start: [UInt8], end: [UInt8])] = [
        ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!DOCTYPE", ">"), ("<?", "?>"), ("</", ">"),
    ].map { (Array($0.0.utf8), Array($0.1.utf8)) }

    /// A `<` between the tags.
    private mutating func lessThan(_ bytes: [UInt8], _ index: Int, _ isLast: Bool) -> Step {
        let rest = bytes[index...]
        for (start, end) in Self.markups {
            let known = rest.prefix(start.count)
            guard start.starts(with: known) else { continue }
            guard known.count == start.count else { return isLast ? .pass(rest.count) : .wait }
            self.part = .markup(end: end)
            return .pass(start.count)
        }
        guard let next = rest.dropFirst().first, Self.beginsName(next) else { return Self.escapedLessThan }
        self.part = .tag
        return .pass(1)
    }

    /// Whether the byte may begin a name. Zero does, so that text in UTF-16 is refused rather than repaired.
    private static func beginsName(_ byte: UInt8) -> Bool {
        (0x61...0x7a).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ":") || byte >= 0x80
            || byte == 0
    }

    private mutating func markup(_ bytes: [UInt8], _ index: Int, end: [UInt8], _ isLast: Bool) -> Step {
        var next = index
        while let mark = bytes[next...].firstIndex(of: end[0]) {
            let known = bytes[mark...].prefix(end.count)
            guard end.starts(with: known) else {
                next = mark + 1
                continue
            }
            guard known.count == end.count else {
                return mark > index ? .pass(mark - index) : isLast ? .pass(bytes.count - index) : .wait
            }
            self.part = .text
            return .pass(mark + end.count - index)
        }
        return .pass(bytes.count - index)
    }

    private mutating func start(_ bytes: [UInt8], _ isLast: Bool) -> Step {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        let declaration = Array("<?xml ".utf8)
        guard bytes.count >= mark.count || !mark.starts(with: bytes) || isLast else { return .wait }
        let markCount = bytes.starts(with: mark) ? mark.count : 0
        let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
        let content = bytes[markCount...].drop(while: isSpace)
        let spaceCount = content.startIndex - markCount
        if spaceCount > 0, spaceCount <= Self.spaceBytesMax {
            let known = content.prefix(declaration.count).map { isSpace($0) ? UInt8(ascii: " ") : $0 }
            if known == declaration {
                self.part = .text
                return .replace(content.startIndex, by: Array(bytes[..<markCount]), .spaces)
            }
            if declaration.starts(with: known), !isLast { return .wait }
        }
        self.part = .text
        return .pass(markCount)
    }
}
