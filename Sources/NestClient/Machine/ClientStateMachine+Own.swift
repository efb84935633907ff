import NestModel

/// Which diffs contain the connection's own writes. OWN names them before the diffs; what was written before there was
/// anything to follow is known by its receipt.
extension ClientStateMachine {
    /// How many are remembered at most: a subscription may be paused for long.
    private static let ownRevisionsMax = 1_000

    /// Remembers revisions for as long as some subscription is before them.
    mutating func noteOwn(_ revisions: [Revision]) {
        guard !self.subscriptions.isEmpty else {
            self.ownRevisions = []
            return
        }
        // One that has no state yet may begin before any of them.
        let oldest = self.subscriptions.values.map { $0.head?.revision ?? Revision(0) }.min() ?? Revision(0)
        self.ownRevisions.removeAll { $0 <= oldest }
        for revision in revisions where revision > oldest {
            if let last = self.ownRevisions.last, revision <= last { continue }
            self.ownRevisions.append(revision)
        }
        self.ownRevisions.removeFirst(max(0, self.ownRevisions.count - Self.ownRevisionsMax))
    }

    func ownRevisions(after from: Revision, through to: Revision) -> [Revision] {
        self.ownRevisions.filter { $0 > from && $0 <= to }
    }
}
