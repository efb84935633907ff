import NestDocuments

/// Buffered standard output, for data. Messages for the user go to standard error.
struct Output {
    private var buffer: [UInt8] = []
    /// The buffer is written when it reaches this size, or when it is flushed.
    private static let bufferBytes = 64 << 10

    let isTerminal: Bool
    let hasColour: Bool

    /// Whether the terminal obeys control sequences that move the cursor.
    var positionsText: Bool { self.isTerminal && TerminalScreen.isUsable }

    /// The width of the terminal, or `nil` if standard output is none.
    var columns: Int? { self.isTerminal ? TerminalScreen.size.columns : nil }

    init() {
        self.isTerminal = isatty(STDOUT_FILENO) == 1
        self.hasColour = self.isTerminal && environment("NO_COLOR") == nil && environment("TERM") != "dumb"
    }

    /// Returns a text that is not nestc's own, such as a title, on one line and without control characters.
    func shown(_ text: String) -> String { escapingControls(text) }

    func dim(_ text: String) -> String { self.hasColour ? "\u{1b}[2m\(text)\u{1b}[0m" : text }
    func bold(_ text: String) -> String { self.hasColour ? "\u{1b}[1m\(text)\u{1b}[0m" : text }

    enum Colour: Int {
        case red = 31
        case green = 32
        case yellow = 33
        case cyan = 36
    }

    func coloured(_ text: String, _ colour: Colour) -> String {
        self.hasColour ? "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m" : text
    }

    mutating func line(_ text: String) throws {
        self.buffer.append(contentsOf: text.utf8)
        self.buffer.append(UInt8(ascii: "\n"))
        if self.buffer.count >= Self.bufferBytes { try self.flush() }
    }

    mutating func line(_ json: JSONWriter) throws {
        try self.write(json.bytes)
        try self.write([UInt8(ascii: "\n")])
    }

    mutating func write(_ bytes: [UInt8]) throws {
        self.buffer.append(contentsOf: bytes)
        if self.buffer.count >= Self.bufferBytes { try self.flush() }
    }

    mutating func flush() throws {
        defer { self.buffer.removeAll(keepingCapacity: true) }
        try writeAll(self.buffer, to: STDOUT_FILENO)
    }
}

/// Writes all bytes. Throws `OutputClosed` if the reader has closed the pipe.
func writeAll(_ bytes: [UInt8], to file: Int32) throws {
    var start = 0
    while start < bytes.count {
        let count = bytes.withUnsafeBytes { write(file, $0.baseAddress! + start, bytes.count - start) }
        if count >= 0 {
            start += count
        } else if errno == EPIPE {
            throw OutputClosed()
        } else if errno == EAGAIN {
            var descriptor = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
            _ = poll(&descriptor, 1, -1)
        } else if errno != EINTR {
            throw CommandFailure(.inputOutput, "cannot write: \(errorText(errno))")
        }
    }
}

/// Prints a message for the user on standard error. Ignores a failure, because it could be reported nowhere.
func printMessage(_ message: String) {
    try? writeAll(Array("nestc: \(EscapedText.message(message))\n".utf8), to: STDERR_FILENO)
}

/// Replaces control characters and backslashes with escapes, so that a title cannot move the cursor, set the window's
/// name or end the line, and reads back as one text.
func escapingControls(_ text: String) -> String { EscapedText.text(text) }
