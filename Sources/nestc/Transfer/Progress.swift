import NestDocuments

/// A line on standard error that shows the progress of a transfer and is redrawn in place. Only on a terminal.
struct Progress {
    /// The total of the counted quantity, if it is known.
    enum Total {
        case unknown
        case items(Int)
        case bytes(Int)
    }

    private let isShown: Bool
    private let verb: String
    private let start = ContinuousClock().now
    private var drawn: ContinuousClock.Instant?

    private static let quietAtFirst = Duration.milliseconds(300)
    private static let interval = Duration.milliseconds(100)

    init(_ verb: String, isShown: Bool) {
        self.verb = verb
        self.isShown = isShown && isatty(STDERR_FILENO) == 1
    }

    mutating func update(items: Int, bytes: Int, of total: Total = .unknown) {
        self.update { [verb] in Self.text(verb: verb, items: items, bytes: bytes, of: total, after: $0) }
    }

    /// Updates the progress for a file that does not consist of items.
    mutating func update(bytes: Int, of total: Int) {
        let percent = total > 0 ? bytes * 100 / total : 100
        self.update { [verb] _ in "\(verb) \(Self.size(bytes)) of \(Self.size(total)) (\(percent) %)" }
    }

    /// `text` returns the line for the elapsed time. It is called only when the line is drawn.
    private mutating func update(_ text: (Duration) -> String) {
        guard self.isShown else { return }
        let now = ContinuousClock().now
        guard now - self.start >= Self.quietAtFirst else { return }
        if let drawn = self.drawn, now - drawn < Self.interval { return }
        let line = text(now - self.start)
        self.drawn = now
        self.draw(line)
    }

    /// Draws the line for the last time. It stays.
    mutating func finish(items: Int, bytes: Int) {
        guard self.drawn != nil else { return }
        let elapsed = ContinuousClock().now - self.start
        self.draw(Self.text(verb: self.verb, items: items, bytes: bytes, of: .unknown, after: elapsed) + "\n")
        self.drawn = nil
    }

    /// Removes the line, so that an error is readable.
    mutating func clear() {
        guard self.drawn != nil else { return }
        self.draw("")
        self.drawn = nil
    }

    private func draw(_ text: String) {
        try? writeAll(Array("\r\u{1b}[K\(text)".utf8), to: STDERR_FILENO)
    }

    static func text(verb: String, items: Int, bytes: Int, of total: Total, after elapsed: Duration) -> String {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let rate = seconds > 0 ? Int(Double(items) / seconds) : 0
        var text = "\(verb) \(Counted.text(items, "item", isGrouped: true))"
        let share: Double?
        switch total {
        case .unknown: share = nil
        case .items(let total):
            share = total > 0 ? min(Double(items) / Double(total), 1) : nil
            text += " of \(Counted.grouped(total))"
        case .bytes(let total): share = total > 0 ? min(Double(bytes) / Double(total), 1) : nil
        }
        if let share { text += " (\(Int(share * 100)) %)" }
        text += bytes > 0 ? ", \(rate)/s, \(Self.size(bytes))" : ", \(rate)/s"
        if let share, share > 0, share < 1 { text += ", \(Self.time(seconds / share - seconds)) left" }
        return text
    }

    private static func size(_ bytes: Int) -> String {
        switch bytes {
        case ..<1_000: "\(bytes) B"
        case ..<1_000_000: "\(bytes / 1_000) kB"
        default: "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
        }
    }

    private static func time(_ seconds: Double) -> String {
        let seconds = Int(seconds.rounded(.up))
        return seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    }
}
