/// Writes a note as the text below a headline, and reads it back. `LineEscape` writes the lines that would be read as
/// something else: `* a`, and at the beginning dates, properties and blank lines, and at the end blank lines.
enum OrgNote {
    /// Returns the note of lines without blank ones at both ends; `nil` for none.
    static func note(_ lines: ArraySlice<[UInt8]>, at place: OrgSection.Place) -> String? {
        guard !lines.isEmpty else { return nil }
        let lines = Array(lines)
        let texts = lines.enumerated().map { index, line in
            LineEscape.text(of: line) { Self.isPlain($0, index, lines, place) }
        }
        return LineBytes.text(ofLines: texts)
    }

    static func lines(_ note: String, at place: OrgSection.Place) -> [[UInt8]] {
        let texts = LineBytes.lines(note)
        var lines = texts.enumerated().map { index, text in
            index == 0 ? text : LineEscape.line(for: text) { Self.isPlain($0, index, texts, place) }
        }
        // Whether the first line is plain depends on the others as they are written.
        let written = lines
        lines[0] = LineEscape.line(for: texts[0]) { Self.isPlain($0, 0, written, place) }
        return lines
    }

    /// `lines`: all lines as they are written. The one at `index` is `line` instead.
    private static func isPlain(_ line: [UInt8], _ index: Int, _ lines: [[UInt8]], _ place: OrgSection.Place) -> Bool {
        if OrgHeadline.isHeadline(line) { return false }
        if index == 0 || index == lines.count - 1, LineBytes.isBlank(line) { return false }
        guard index == 0, place != .text else { return true }
        var all = lines[...]
        all[0] = line
        return OrgSection(all, from: place).text.count == lines.count
    }
}
