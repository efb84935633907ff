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
        var lines = LineBytes.lines(note)
        // Whether the first line is plain depends on the others.
        for index in lines.indices.reversed() {
            let known = lines
            lines[index] = LineEscape.line(for: known[index]) { Self.isPlain($0, index, known, place) }
        }
        return lines
    }

    private static func isPlain(_ line: [UInt8], _ index: Int, _ lines: [[UInt8]], _ place: OrgSection.Place) -> Bool {
        if OrgHeadline.isHeadline(line) { return false }
        if index == 0 || index == lines.count - 1, LineBytes.isBlank(line) { return false }
        guard index == 0, place != .text else { return true }
        var all = lines[...]
        all[0] = line
        let section = OrgSection(all, from: place)
        return section.text.count == lines.count
    }
}
