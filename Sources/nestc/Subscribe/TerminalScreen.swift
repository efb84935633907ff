/// The terminal's alternate screen, which preserves the contents of the normal screen.
enum TerminalScreen {
    struct Size: Equatable {
        var rows: Int
        var columns: Int
    }

    /// Switches to the alternate screen, hides the cursor, and cuts long lines at the edge.
    static func enter() throws {
        try writeAll(Array("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[H\u{1b}[2J".utf8), to: STDOUT_FILENO)
    }

    static func leave() {
        try? writeAll(Array("\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l".utf8), to: STDOUT_FILENO)
    }

    static var size: Size {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_row > 0, window.ws_col > 0 else {
            return Size(rows: 24, columns: 80)
        }
        return Size(rows: Int(window.ws_row), columns: Int(window.ws_col))
    }

    /// Draws every line, and clears the rest of the screen.
    static func draw(_ lines: [String], columns: Int) throws {
        let body = lines.map { "\($0)\u{1b}[K" }.joined(separator: "\r\n")
        try writeAll(Array("\u{1b}[H\(body)\u{1b}[J".utf8), to: STDOUT_FILENO)
    }
}
