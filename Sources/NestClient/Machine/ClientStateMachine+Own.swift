import NestModel
import NestProtocol

/// Tracks which diffs contain the connection's own writes. OWN names the revisions before the diffs arrive. Revisions
/// from before the first subscription are known from receipts.
extension ClientStateMachine {
    /// The maximum number of remembered revisions. A subscription may be paused for a long time.
    private static let ownRevisionsMax = 1_000

    /// Handles OWN. With the feature it names the requests, which are still under way.
    mutating func received(_ own: OwnMessage) -> [ClientAction] {
        self.noteOwn(own.writes.map(\.revision))
        let named = own.writes.compactMap { write -> OwnRevision? in
            guard case .caller(let token)? = self.requests[write.requestID]?.request.owner else { return nil }
            return OwnRevision(revision: write.revision, request: token)
        }
        return named.isEmpty ? [] : [.own(named)]
    }

    /// Remembers revisions until every subscription has reached them.
    mutating func noteOwn(_ revisions: [Revision]) {
        guard !self.subscriptions.isEmpty else {
            self.ownRevisions = []
            return
        }
        // A subscription without a state may start before all revisions.
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
