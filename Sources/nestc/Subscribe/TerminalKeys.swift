/// The keys that a live view handles.
enum TerminalKey: Equatable {
    case up
    case down
    case pageUp
    case pageDown
    case home
    case end
    case space

    /// The bytes that a terminal sends for the keys.
    private static let sequences: KeyValuePairs<String, TerminalKey> = [
        "\u{1b}[5~": .pageUp, "\u{1b}[6~": .pageDown, "\u{1b}[1~": .home, "\u{1b}[4~": .end,
        "\u{1b}[A": .up, "\u{1b}[B": .down, "\u{1b}[H": .home, "\u{1b}[F": .end,
        "\u{1b}OA": .up, "\u{1b}OB": .down, "\u{1b}OH": .home, "\u{1b}OF": .end,
        " ": .space,
    ]

    /// Returns the keys in a sequence of bytes. Skips the bytes of other keys.
    static func keys(_ bytes: [UInt8]) -> [TerminalKey] {
        var keys: [TerminalKey] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            if let (sequence, key) = Self.sequences.first(where: { rest.starts(with: $0.key.utf8) }) {
                keys.append(key)
                rest = rest.dropFirst(sequence.utf8.count)
            } else {
                rest = rest.dropFirst()
            }
        }
        return keys
    }
}

/// The terminal's keyboard, read key by key and without echo.
struct TerminalKeyboard {
    private let before: termios

    /// Returns `nil` if standard input is not a terminal.
    init?() {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        self.before = settings
        // Ctrl-C stays a signal.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
    }

    func restore() {
        var settings = self.before
        _ = tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    /// Returns the keys typed since the last call, without waiting.
    func typed() -> [TerminalKey] {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&input, 1, 0) == 1, input.revents & Int16(POLLIN) != 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = readBytes(STDIN_FILENO, &bytes)
        return count > 0 ? TerminalKey.keys(Array(bytes[..<count])) : []
    }
}
