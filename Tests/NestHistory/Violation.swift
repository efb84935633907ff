/// What a server promises its clients.
public enum Rule: String, Sendable, CaseIterable {
    /// The revisions of a subscription only grow.
    case ordered
    /// No change is told twice.
    case unique
    /// Nothing is left out: every state is that of the store at the revision told.
    case reliable
    /// The effects of a transaction are seen together or not at all.
    case atomic
    /// After a reconnect comes exactly what was missing.
    case resumable
    /// "Nothing more up to this revision" is true.
    case bookmarkable
    /// Who has a receipt sees what it wrote.
    case readYourWrites
    /// A write is done once, however often it is sent, and as its receipt says.
    case atMostOnce
    /// An undo or redo takes back what one entry did, once, and nothing that somebody else has done since.
    case reversible
    /// What was acknowledged or told outlives every crash.
    case durable
}

/// A promise that was not kept.
public struct Violation: Hashable, Sendable, CustomStringConvertible {
    public var rule: Rule
    public var message: String

    public init(_ rule: Rule, _ message: String) {
        self.rule = rule
        self.message = message
    }

    public var description: String { "\(self.rule): \(self.message)" }
}
