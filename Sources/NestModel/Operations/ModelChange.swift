/// One change of a model that `NestClient.apply(_:dryRun:)` makes in a running server, or would make.
public struct ModelChange: Hashable, Sendable {
    /// The change, for people: `Item.note is new`.
    public var text: String
    /// Why a running server cannot make it, for people; empty: it can.
    public var obstacle: String

    public init(text: String, obstacle: String = "") {
        self.text = text
        self.obstacle = obstacle
    }

    public var isLive: Bool { self.obstacle.isEmpty }
}

/// The answer of a server that was asked to serve another model.
public struct AppliedModel: Hashable, Sendable {
    public enum Outcome: UInt8, Sendable {
        /// The server has the model already.
        case unchanged = 0
        /// The server has the model now.
        case applied = 1
        /// A dry run: the server could make all changes.
        case possible = 2
        /// A dry run: the server would refuse some changes.
        case refused = 3
    }

    public var outcome: Outcome
    /// The hash of the model with the server's numbers.
    public var modelHash: UInt64
    /// The rows that got a value or were indexed; a row counts once for each of these.
    public var rowCount: Int
    /// At most `Limits.modelChangesMax`.
    public var changes: [ModelChange]

    public init(outcome: Outcome, modelHash: UInt64, rowCount: Int, changes: [ModelChange]) {
        self.outcome = outcome
        self.modelHash = modelHash
        self.rowCount = rowCount
        self.changes = changes
    }
}
