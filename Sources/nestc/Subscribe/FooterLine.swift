/// The last line of the screen: the keys, a message, or the text to find.
enum FooterLine {
    /// The keys of a list, from the longest form to the shortest.
    static let list = [
        "↑ ↓ PgUp PgDn Home End  / find  n next  p pause  ? help  q quit",
        "↑ ↓ PgUp PgDn Home End  / find  p pause  ? help  q quit",
        "↑ ↓ PgUp PgDn  / find  ? help  q quit",
        "/ find  ? help  q quit", "? help  q quit", "q quit",
    ]

    /// The keys of an outline.
    static let outline = [
        "↑ ↓ move  → ← unfold, fold  Enter u zoom in, out  / find  ? help  q quit",
        "↑ ↓  → ← unfold, fold  Enter u zoom  ? help  q quit", "→ ← Space fold  u out  ? help  q quit",
        "? help  q quit", "q quit",
    ]

    /// Returns the keys, in the longest form that fits after the note.
    static func keys(_ forms: [String], note: String, columns: Int) -> ScreenLine {
        let start = note == "" ? 0 : DisplayWidth.of(note) + 2
        var line = ScreenLine()
        if note != "" { line.add(StyledText(note, .cyan)) }
        if let keys = forms.first(where: { start + DisplayWidth.of($0) <= columns }) {
            line.add(StyledText(keys, .dim), at: start)
        }
        return line
    }

    static func message(_ text: String) -> ScreenLine { ScreenLine(text, .yellow) }

    /// Returns the prompt with the end of the text, as much as fits. The line's end is the cursor's place.
    static func prompt(_ text: String, columns: Int) -> ScreenLine {
        var shown = escapingControls(text)
        while shown != "", DisplayWidth.of(shown) > columns - 2 { shown.removeFirst() }
        return ScreenLine("/\(shown)")
    }
}
