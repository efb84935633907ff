/// The guarantees that the server gives its clients.
public enum Rule: String, Sendable, CaseIterable {
    /// The revisions of a subscription only grow.
    case ordered
    /// No change is sent twice.
    case unique
    /// No change is missing: every state equals the store's state at its revision.
    case reliable
    /// The effects of a transaction are visible together or not at all.
    case atomic
    /// After a reconnect the client gets exactly the missed changes.
    case resumable
    /// After progress to a revision, no change up to that revision follows.
    case bookmarkable
    /// A client that has a receipt sees its write.
    case readYourWrites
    /// A write is executed once, however often it is sent, and as its receipt reports.
    case atMostOnce
    /// An undo or redo reverts the changes of one entry, once, and no later changes of other sessions.
    case reversible
    /// Acknowledged and notified changes survive every crash.
    case durable
    /// The revisions that a client sees never fall, over connections and nodes too.
    case monotonic
    /// At the end all nodes hold the same rows, and those of the history.
    case equal
}

/// A violated guarantee.
public struct Violation: Hashable, Sendable, CustomStringConvertible {
    public var rule: Rule
    public var message: String

    public init(_ rule: Rule, _ message: String) {
        self.rule = rule
        self.message = message
    }

    public var description: String { "\(self.rule): \(self.message)" }
}
