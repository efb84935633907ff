extension OutlineFormat {
    /// Guesses the format from a file's first bytes: indented text when no other format matches.
    package init(guessing bytes: [UInt8]) {
        let bytes = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes.dropFirst(3) : bytes[...]
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0d).contains(byte) }
        let start = bytes.drop(while: isSpace)
        let line = start.prefix { $0 != 0x0a && $0 != 0x0d }
        switch start.first {
        case UInt8(ascii: "<") where Self.isMarkup(start): self = .opml
        case UInt8(ascii: "["):
            let next = start.dropFirst().first { !isSpace($0) }
            self = next == UInt8(ascii: "{") || next == UInt8(ascii: "]") ? .json : .text
        case UInt8(ascii: "{"): self = Self.ofObject(line)
        default: self = Self.ofLine(line)
        }
    }

    private static func isMarkup(_ bytes: ArraySlice<UInt8>) -> Bool {
        ["<?xml", "<opml", "<!--"].contains { bytes.starts(with: Array($0.utf8)) }
    }

    /// Returns JSON lines for a line that is a whole object without children.
    private static func ofObject(_ line: ArraySlice<UInt8>) -> OutlineFormat {
        guard let item = try? JSONItem.parse(line, hasPosition: true, start: TextLocation(), isWhole: true) else {
            return .json
        }
        return item.hasChildren ? .json : .jsonl
    }

    private static func ofLine(_ line: ArraySlice<UInt8>) -> OutlineFormat {
        guard let text = String(validating: line, as: UTF8.self) else { return .text }
        for (delimiter, format) in [("\t", OutlineFormat.tsv), (",", .csv), (";", .csv)] {
            if TableColumns.isHeader(text.split(separator: delimiter).map { String($0) }) { return format }
        }
        if Self.isOrg(text) { return .org }
        switch MarkdownLine(text) {
        case .item(_, let isNumbered, _): return isNumbered ? .text : .md
        case .heading: return .md
        case .rule, .text: return .text
        }
    }

    /// Whether a line is a setting of Org such as `#+TITLE:`, or a headline with a keyword.
    private static func isOrg(_ line: String) -> Bool {
        if line.hasPrefix("#+"), line.contains(":") { return true }
        let words = line.split(separator: " ", maxSplits: 2)
        return words.count > 1 && words[0].allSatisfy { $0 == "*" } && ["TODO", "DONE"].contains(words[1])
    }
}
