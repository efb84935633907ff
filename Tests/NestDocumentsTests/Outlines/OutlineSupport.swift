import NestDocuments
import NestModel
import NestTestSupport
import NestProtocol

/// Reads `bytes` in pieces of the given size.
func readOutline(
    _ bytes: [UInt8],
    _ format: OutlineFormat,
    pieceBytes: Int = .max,
    _ options: ReadingOptions = ReadingOptions()
) throws(FormatError) -> (rows: [OutlineRow], warnings: [String]) {
    var reader = format.reader(options)
    var rows: [OutlineRow] = []
    var start = 0
    while start < bytes.count {
        let end = start + min(pieceBytes, bytes.count - start)
        try reader.read(Array(bytes[start..<end]), into: &rows)
        start = end
    }
    try reader.finish(into: &rows)
    return (rows, reader.warnings)
}

/// Returns each row in short: depth, title, `x` if done, then note and extra.
func brief(_ text: String, _ format: OutlineFormat) throws -> [String] {
    try readOutline(Array(text.utf8), format).rows.map(brief)
}

func brief(_ row: OutlineRow) -> String {
    var text = "\(row.depth)|\(row.title)"
    if row.done { text += "|x" }
    if let note = row.note { text += "|note:\(note)" }
    if let extra = row.extra { text += "|\(extra)" }
    return text
}

/// Returns the error of reading the bytes, or `nil` if they are read.
func fault(_ bytes: [UInt8], _ format: OutlineFormat) -> FormatError? {
    do throws(FormatError) {
        _ = try readOutline(bytes, format)
        return nil
    } catch {
        return error
    }
}

func fault(_ text: String, _ format: OutlineFormat) -> FormatError? { fault(Array(text.utf8), format) }

func writeOutline(
    _ rows: [OutlineRow],
    _ format: OutlineFormat,
    _ options: WritingOptions = WritingOptions()
) throws(FormatError) -> (bytes: [UInt8], warnings: [String]) {
    var writer = format.writer(options)
    var bytes: [UInt8] = []
    for row in rows {
        try writer.write(row)
        if writer.byteCount > 1 << 16 { bytes += writer.take() }
    }
    try writer.finish()
    return (bytes + writer.take(), writer.warnings)
}

func writtenText(_ rows: [OutlineRow], _ format: OutlineFormat) throws -> String {
    String(decoding: try writeOutline(rows, format).bytes, as: UTF8.self)
}

/// Random outlines with texts that are hard to write in one format or another.
enum HardOutlines {
    private static let pieces = [
        "", " ", "\t", "\n", "\r", "\r\n", "\\", "\\n", "a", "b c", "é", "e\u{301}", "😀", "\u{feff}", "\u{a0}",
        "\u{2028}", "- ", "-", "* x", "+", "1. ", "1", ".", ")", "# ", "#", "[x] ", "[ ]", "---", "===", "```", "~~~",
        "\"",
        "'", ",", ";", "<b>", "</b>", "<", ">", "&", "&amp;", "&#10;", "&amp;#10;", "&amp;amp;#9;", "]]>", "{", "}",
        "[",
        "]", ":", "|", "`", "\u{7f}", "\u{85}", "漢字", "> ", "key: value", "\\- ", "\\\\", "null", "0",
    ]

    static func text(_ random: inout SeededRandom) -> String {
        (0..<random.below(6)).map { _ in Self.pieces[random.below(Self.pieces.count)] }.joined()
    }

    private static func extra(_ random: inout SeededRandom) -> String {
        if random.oneIn(4) { return Self.text(&random) }
        let names = ["created", "_color", "a b", "text", "complete", "note", "id", "1x", "done"]
        var members: [JSONElement.Member] = []
        for name in names.sorted() where random.oneIn(3) {
            let values: [JSONElement] = [
                .string(Self.text(&random)), .number("12"), .null, .boolean(true),
                .array([.number("1.5"), .string("x")]),
            ]
            members.append(JSONElement.Member(name, values[random.below(values.count)]))
        }
        return JSONElement.object(members).text
    }

    static func rows(_ random: inout SeededRandom, count: Int = 20) -> [OutlineRow] {
        var depth = -1
        return (0..<random.below(count)).map { _ in
            depth = random.below(depth + 2)
            return OutlineRow(
                depth: depth,
                title: Self.text(&random),
                note: random.oneIn(3) ? Self.text(&random) : nil,
                done: random.oneIn(3),
                extra: random.oneIn(3) ? Self.extra(&random) : nil
            )
        }
    }
}
