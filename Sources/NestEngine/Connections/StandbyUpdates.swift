import NestModel
import NestStore
import NestProtocol

/// Keeps `EngineShare` up to date: what a standby knows of the engine.
package struct StandbyUpdates {
    package let share: EngineShare
    /// What the share was given last.
    private var oldest: Revision
    private var head: Revision
    private var tokenChangeCount = 0

    package init(_ share: EngineShare, oldest: Revision, head: Revision) {
        self.share = share
        self.oldest = oldest
        self.head = head
    }

    /// Has `deliver` hand out the effects of a batch, in one step with what a standby knows of the engine. Costs a
    /// comparison when nothing has changed that a standby must know; otherwise a lock, which is free while the engine
    /// is quick.
    ///
    /// `hasWrites`: the batch had writes; `client`: what a standby is to know of a connection, `nil` when it is gone.
    package mutating func handOut(
        _ progress: EngineShare.Progress,
        hasWrites: Bool,
        changed: [ConnectionID],
        _ tokens: EngineTokens,
        client: (ConnectionID) -> EngineShare.Client?,
        _ deliver: () -> Void
    ) {
        let hasNewTokens = tokens.changeCount != self.tokenChangeCount
        // Writes that had waited since an earlier batch may also have moved the head.
        let hasWrites = hasWrites || progress.head != self.head
        self.head = progress.head
        guard hasWrites || hasNewTokens || !changed.isEmpty || progress.oldestRevision != self.oldest else {
            return deliver()
        }
        self.tokenChangeCount = tokens.changeCount
        self.oldest = progress.oldestRevision
        self.share.handOut(
            progress,
            clients: changed.map { ($0, client($0)) },
            tokens: hasNewTokens ? Set(tokens.all.keys) : nil,
            deliver
        )
    }
}
