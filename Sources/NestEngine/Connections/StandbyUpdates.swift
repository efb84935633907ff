import NestModel
import NestStore
import NestProtocol

/// Keeps `EngineShare`, the state that a standby sees, up to date.
package struct StandbyUpdates {
    package let share: EngineShare
    /// The values that the share was given last.
    private var oldest: Revision
    private var head: Revision
    private var modelHash: UInt64
    private var tokenChangeCount = 0

    package init(_ share: EngineShare, oldest: Revision, head: Revision) {
        self.share = share
        self.oldest = oldest
        self.head = head
        self.modelHash = share.model.hash
    }

    /// Returns what the effects of a batch change in the standby's state. If nothing has changed that a standby must
    /// know, this costs a comparison. Otherwise handing out costs a lock, which is uncontended while the engine is
    /// fast.
    ///
    /// `hasWrites`: whether the batch had writes. `client`: returns the standby's state of a connection, `nil` if the
    /// connection is gone.
    package mutating func takeHandOut(
        _ progress: EngineShare.Progress,
        hasWrites: Bool,
        changed: [ConnectionID],
        _ tokens: EngineTokens,
        model: ServedModel,
        client: (ConnectionID) -> EngineShare.Client?
    ) -> EngineHandOut {
        let hasNewTokens = tokens.changeCount != self.tokenChangeCount
        // Writes that had waited since an earlier batch may also have moved the head.
        let hasWrites = hasWrites || progress.head != self.head
        self.head = progress.head
        guard
            hasWrites || hasNewTokens || !changed.isEmpty || progress.oldestRevision != self.oldest
                || model.hash != self.modelHash
        else { return EngineHandOut(share: self.share, update: nil) }
        self.modelHash = model.hash
        self.tokenChangeCount = tokens.changeCount
        self.oldest = progress.oldestRevision
        return EngineHandOut(
            share: self.share,
            update: EngineShare.Update(
                progress: progress,
                clients: changed.map { ($0, client($0)) },
                tokens: hasNewTokens ? Set(tokens.all.keys) : nil,
                model: model
            )
        )
    }
}

/// Hands out the effects of one batch, on any thread, in the order of the batches.
package struct EngineHandOut: Sendable {
    fileprivate let share: EngineShare
    fileprivate let update: EngineShare.Update?

    /// Whether the batch changes what the standby knows. A batch with writes does.
    package var hasUpdate: Bool { self.update != nil }

    /// Calls `deliver` before the effects may be handed out, for a gate that holds them back. The standby answers none
    /// of the recipients until then. Precondition: `hasUpdate`.
    package func ahead(to recipients: [ConnectionID], _ deliver: () -> Void) {
        precondition(self.hasUpdate, "only an update ends it")
        self.share.ahead(to: recipients, deliver)
    }

    /// Calls `deliver` and updates the standby's state, as one atomic step.
    package func callAsFunction(_ deliver: () -> Void) {
        if let update { self.share.handOut(update, deliver) } else { deliver() }
    }
}
