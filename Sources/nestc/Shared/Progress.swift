/// A line on standard error that is drawn over itself: how far a transfer is. Only on a terminal.
struct Progress {
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

    mutating func update(items: Int, of total: Int? = nil, bytes: Int) {
        guard self.isShown else { return }
        let now = ContinuousClock().now
        guard now - self.start >= Self.quietAtFirst else { return }
        if let drawn = self.drawn, now - drawn < Self.interval { return }
        self.drawn = now
        self.draw(items: items, total: total, bytes: bytes, end: "")
    }

    /// The last line stays.
    mutating func finish(items: Int, bytes: Int) {
        guard self.drawn != nil else { return }
        self.draw(items: items, total: nil, bytes: bytes, end: "\n")
        self.drawn = nil
    }

    /// Takes the line away, so that an error can be read.
    mutating func clear() {
        guard self.drawn != nil else { return }
        try? writeAll(Array("\r\u{1b}[K".utf8), to: STDERR_FILENO)
        self.drawn = nil
    }

    private func draw(items: Int, total: Int?, bytes: Int, end: String) {
        let elapsed = ContinuousClock().now - self.start
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let rate = seconds > 0 ? Int(Double(items) / seconds) : 0
        let share = total.map { $0 > 0 ? " of \($0) (\(items * 100 / $0) %)" : "" } ?? ""
        let text = "\r\u{1b}[K\(self.verb) \(items) items\(share), \(rate)/s, \(Self.size(bytes))\(end)"
        try? writeAll(Array(text.utf8), to: STDERR_FILENO)
    }

    static func size(_ bytes: Int) -> String {
        switch bytes {
        case ..<1_000: "\(bytes) B"
        case ..<1_000_000: "\(bytes / 1_000) kB"
        default: "\(bytes / 1_000_000).\(bytes / 100_000 % 10) MB"
        }
    }
}
