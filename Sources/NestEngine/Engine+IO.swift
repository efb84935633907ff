import NestModel
import NestStore
import NestProtocol
import NestSchema

/// The interface for the I/O layer, between the engine's turns.
extension Engine {
    package var model: ManagedObjectModel { self.store.layout.model }
    package var head: Revision { self.store.head }
    package var historyID: Identifier128 { self.store.historyID }
    /// Whether the engine takes writes; always, without a cluster.
    package var isLeading: Bool { self.replica?.isLeading ?? true }
    package var share: EngineShare { self.standby.share }
    package var answerMemory: AnswerMemory { self.admission.memory }
    /// The bytes of the answers of the last turn.
    package var answerBytes: Int { self.admission.answerBytes }
    /// Set when nothing may be acknowledged any more: the server must stop.
    package var failure: StoreError? { self.health.failure }
    /// The number of effects so far that are for the I/O layer itself: `read`, `tokensChanged`, `replica` and
    /// `forward`. Counted, so that the caller need not scan, and copy, all effects.
    package var ioEffectCount: Int {
        self.queries.reads.effectCount + self.tokens.changeCount + (self.replica?.eventCount ?? 0)
    }

    /// The work for outlines so far. For tests and measurements.
    package var outlineWork: OutlineWork { self.queries.outlines.work }

    /// Whether there is work left that no input will start: the engine needs another turn.
    package var hasBacklog: Bool {
        let hasWrites = !self.turns.isEmpty && !(self.replica?.delaysWrites ?? false)
        return self.hasResultBacklog || hasWrites || self.hasReservations || self.hasPuts
            || self.preparations.hasBacklog
            || self.scopes.hasBacklog
            || self.replica?.hasBacklog ?? false
    }
    var hasResultBacklog: Bool { self.admission.hasBacklog || self.queries.hasBacklog }

    /// Makes commits durable; `nil`: each one is durable when it returns. No effect may be handed out while it is
    /// pending: the effects may show what would not survive a power loss.
    package var logSync: LogSync? { self.store.logSync }

    /// Call it when nothing may be acknowledged any more.
    package func fail(_ failure: StoreError) { self.health.fail(failure) }

    /// Returns what hands out the effects of the last batch. `hasWrites`: whether the batch had writes.
    package func takeHandOut(turn: UInt64, hasWrites: Bool) -> EngineHandOut {
        self.standby.takeHandOut(
            EngineShare.Progress(
                head: self.store.head,
                oldestRevision: self.store.oldestBase,
                turn: turn,
                modelHash: self.served.hash
            ),
            hasWrites: hasWrites,
            changed: self.connections.changed.take(),
            self.tokens,
            model: self.served,
            client: { id in
                self.connections[id].map { connection in
                    let isHeld = self.turns.holds(id) || self.replica?.forwarding.holds(id) ?? false
                    let isWaiting = connection.isWaiting || isHeld || !connection.waiting.isEmpty
                    return EngineShare.Client(connection, isWaiting: isWaiting)
                }
            }
        )
    }

    /// Whether `checkpointIfDue` has anything to do.
    package var isCheckpointDue: Bool { self.store.isCheckpointDue }

    /// Moves committed changes into the store's file when there are enough. Call it after the effects of a batch have
    /// been handed out, so that no client waits for it.
    package func checkpointIfDue() {
        do throws(StoreError) { try self.store.checkpointIfDue() } catch { self.health.fail(error) }
    }

    /// Checkpoints and closes the store; a store that has failed is abandoned. This must be the last call.
    package func close() throws(StoreError) {
        if let failure { self.store.abandon(failure) } else { try self.store.close() }
    }
}
