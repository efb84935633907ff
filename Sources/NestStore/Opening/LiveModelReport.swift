import NestModel

/// What giving a store another model does while clients use it, or would do.
package struct LiveModelReport: Sendable {
    /// The hash of the new model, with the store's numbers.
    package var modelHash: UInt64 = 0
    /// All changes. Empty: the store has the model already.
    package var changes: [ModelChange] = []
    /// The rows that get a value or are indexed; a row counts once for each of these.
    package var rowCount = 0

    package init() {}

    /// Whether every change can be made live.
    package var isLive: Bool { self.changes.allSatisfy(\.isLive) }
}
