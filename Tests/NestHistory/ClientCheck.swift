import NestModel

/// Checks that a client never goes back in time, whatever connections and nodes it uses: what it asks for after it has
/// seen a revision is answered at that revision or a later one, as long as the store has the same history.
struct ClientCheck {
    private let name: String
    private var historyID: Identifier128?
    /// The highest revision that the client has seen.
    private var seen = Revision(0)
    /// What the client had seen when it sent each question that is not answered yet.
    private var asked: [Int: Revision] = [:]
    /// Set after the first violation: later ones would only repeat it.
    private var isOver = false

    init(_ record: ClientRecord) {
        self.name = record.name
    }

    /// Returns the violations of the record in one piece.
    mutating func violations(_ record: ClientRecord) -> [Violation] {
        for event in record.events where !self.isOver {
            guard let message = self.take(event) else { continue }
            self.isOver = true
            return [Violation(.monotonic, "client \(self.name) \(message)")]
        }
        return []
    }

    private mutating func take(_ event: ClientRecord.Event) -> String? {
        switch event {
        case .asked(let question): self.asked[question] = self.seen
        case .gaveUp(let question): self.asked[question] = nil
        case .saw(let revision): self.seen = max(self.seen, revision)
        case .answered(let question, let revision):
            guard let floor = self.asked.removeValue(forKey: question) else {
                return "received an answer at \(revision) that it did not ask for"
            }
            guard revision >= floor else { return "had seen \(floor) and was then answered at \(revision)" }
            self.seen = max(self.seen, revision)
        case .history(let history, let reason):
            guard history != self.historyID else { return nil }
            if let known = self.historyID, reason == nil {
                return "went from the history \(known) to \(history) without a reason"
            }
            // The revisions of another history are other revisions. What was asked before may be answered in either.
            (self.historyID, self.seen) = (history, Revision(0))
            for question in self.asked.keys { self.asked[question] = Revision(0) }
        }
        return nil
    }
}
