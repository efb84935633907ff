/// The page that the key `?` shows.
enum HelpPage {
    static let lines: [ScreenLine] = {
        var lines = [ScreenLine("Keys", .bold)]
        for (keys, meaning) in Self.keys { lines.append(Self.line(keys, meaning)) }
        lines += [ScreenLine(), ScreenLine("Marks of the last change", .bold)]
        for (mark, meaning) in Self.marks { lines.append(Self.line(mark, meaning)) }
        return lines
    }()

    private static let keys: KeyValuePairs = [
        "↑ ↓  k j": "one row", "PgUp PgDn": "one page", "Home End  g G": "the ends of the list",
        "/": "find a row by its text", "n N": "the next, the previous", "Esc": "stop following a row",
        "p  Space": "pause, and go on", "?": "this page", "q  Ctrl-C": "quit", "Ctrl-Z": "leave; fg returns",
    ]

    private static let marks: KeyValuePairs = [
        "+": "new in the list", ">": "moved", "~": "another value", "*": "followed when it moves",
    ]

    private static func line(_ left: String, _ right: String) -> ScreenLine {
        var line = ScreenLine()
        line.add(StyledText(left), at: 1)
        line.add(StyledText(right), at: 16)
        return line
    }
}
