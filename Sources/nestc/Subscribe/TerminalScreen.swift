/// The terminal's alternate screen, which preserves the contents of the normal screen, and its keyboard without echo.
///
/// Several enter and leave in turn: a program that Ctrl-Z stops leaves, and enters again when it continues.
struct TerminalScreen {
    struct Size: Equatable {
        var rows: Int
        var columns: Int
    }

    /// The smallest terminal on which a list can be browsed.
    private static let least = Size(rows: 4, columns: 20)

    /// The settings to restore; `nil` if standard input is not a terminal.
    private var before: termios?
    private(set) var isEntered = false

    static var size: Size {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_row > 0, window.ws_col > 0 else {
            return Size(rows: 24, columns: 80)
        }
        return Size(rows: Int(window.ws_row), columns: Int(window.ws_col))
    }

    /// Whether the terminal obeys control sequences.
    static var isUsable: Bool { environment("TERM").map { $0 != "dumb" } ?? false }

    /// Whether a list can be browsed on the terminal.
    static var isBrowsable: Bool {
        let size = self.size
        return self.isUsable && size.rows >= self.least.rows && size.columns >= self.least.columns
    }

    /// Reads keys one by one, switches to the alternate screen, hides the cursor, and cuts long lines at the edge. If
    /// it has done so already, does it again, in case another program has changed the terminal.
    mutating func enter() throws {
        var settings = termios()
        if isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &settings) == 0 {
            if !self.isEntered { self.before = settings }
            // Ctrl-C and Ctrl-Z stay signals.
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            _ = tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        }
        self.isEntered = true
        try self.write("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[H\u{1b}[2J")
    }

    mutating func leave() {
        guard self.isEntered else { return }
        self.isEntered = false
        try? self.write("\u{1b}[0m\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l")
        if var before { _ = tcsetattr(STDIN_FILENO, TCSANOW, &before) }
    }

    /// Handles a signal: leaves the screen while the program is stopped, and enters it again.
    mutating func take(_ signal: Int32) {
        switch signal {
        case SIGTSTP:
            self.leave()
            Self.stop()
            try? self.enter()
        case SIGCONT: try? self.enter()
        default: break
        }
    }

    /// Draws every line, and clears the rest of the screen.
    func draw(_ frame: ScreenFrame, _ output: Output) throws {
        let body = frame.lines.enumerated().map { "\u{1b}[\($0 + 1)H\u{1b}[2K\($1.sequences(output))" }.joined()
        let rest = frame.lines.count < Self.size.rows ? "\u{1b}[\(frame.lines.count + 1)H\u{1b}[J" : ""
        let cursor = frame.cursor.map { "\u{1b}[\($0.row + 1);\($0.column + 1)H\u{1b}[?25h" } ?? "\u{1b}[?25l"
        try self.write(body + rest + cursor)
    }

    private func write(_ text: String) throws {
        try writeAll(Array(text.utf8), to: STDOUT_FILENO)
    }

    /// Stops this process as Ctrl-Z stops a program that does not handle it. Returns when it continues.
    static func stop() {
        var usual = sigaction()
        usual.__sigaction_handler.sa_handler = SIG_DFL
        var handler = sigaction()
        sigaction(SIGTSTP, &usual, &handler)
        var stopSignal = sigset_t()
        var mask = sigset_t()
        sigemptyset(&stopSignal)
        sigaddset(&stopSignal, SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stopSignal, &mask)
        // Without a shell that could continue it, the kernel ignores this.
        raise(SIGTSTP)
        pthread_sigmask(SIG_SETMASK, &mask, nil)
        sigaction(SIGTSTP, &handler, nil)
    }
}
