/// A page that the key `?` shows.
struct HelpPage {
    let lines: [ScreenLine]

    private init(_ keys: KeyValuePairs<String, String>, _ marks: KeyValuePairs<String, String>) {
        var lines = [ScreenLine("Keys", .bold)]
        for (keys, meaning) in keys { lines.append(Self.line(keys, meaning)) }
        lines += [ScreenLine(), ScreenLine("Marks of the last change", .bold)]
        for (mark, meaning) in marks { lines.append(Self.line(mark, meaning)) }
        self.lines = lines
    }

    static let list = HelpPage(
        [
            "↑ ↓  k j": "one row", "PgUp PgDn": "one page", "Home End  g G": "the ends of the list",
            "/": "find a row by its text", "n N": "the next, the previous", "Esc": "stop following a row",
            "p  Space": "pause, and go on", "?": "this page", "q  Ctrl-C": "quit", "Ctrl-Z": "leave; fg returns",
        ],
        [
            "+": "new in the list", ">": "moved", "~": "another value", "*": "followed when it moves",
            "◂ Ann": "who else is on the row",
        ]
    )

    static let outline = HelpPage(
        [
            "↑ ↓  k j": "one row", "PgUp PgDn": "one page", "Home End  g G": "the ends",
            "→  l": "unfold, go in", "←  h": "fold, go to the parent", "Space": "fold or unfold",
            "*": "unfold all", "-": "fold all", "Enter": "zoom into the row", "u  Backspace": "zoom out",
            "/": "find a shown row", "n N": "the next, the previous", "p": "pause, and go on",
            "?": "this page", "q  Ctrl-C": "quit", "Ctrl-Z": "leave; fg returns",
        ],
        [
            "+": "new in the outline", ">": "moved", "~": "another value", "*": "the cursor", "▾ ▸": "unfolded, folded",
            "◂ Ann": "who else is on the row",
        ]
    )

    /// Returns the first line to show after a key; `nil`: the page is left.
    func press(_ key: TerminalKey, _ top: Int, rows: Int) -> Int? {
        let last = max(self.lines.count - (rows - 1), 0)
        return switch ScrollKey(key) {
        case .up: max(top - 1, 0)
        case .down: min(top + 1, last)
        case .pageUp, .home: 0
        case .pageDown, .end: last
        case nil: nil
        }
    }

    private static func line(_ left: String, _ right: String) -> ScreenLine {
        var line = ScreenLine()
        line.add(StyledText(left), at: 1)
        line.add(StyledText(right), at: 16)
        return line
    }
}
