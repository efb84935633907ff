import Glibc
import NestProtocol

/// Shows progress on standard error if it is a terminal.
enum Progress {
    private static let isTerminal = isatty(STDERR_FILENO) == 1

    static func show(_ text: String) {
        if Self.isTerminal { Self.write("\r\u{1b}[K\(text)") }
    }

    static func show(_ text: String, _ done: Int, of total: Int) {
        Self.show("\(text) \(100 * done / max(total, 1)) %")
    }

    static func clear() {
        if Self.isTerminal { Self.write("\r\u{1b}[K") }
    }

    private static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
