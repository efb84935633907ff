/// The progress of the engine's thread with a batch.
package enum EngineStage: Sendable {
    /// Taken out of the mailbox.
    case begun
    /// Committed and evaluated; nothing has been delivered.
    case performed
    /// With the event loops, behind a closed gate; not durable yet. Few batches have this stage.
    case ahead
    /// Delivered to the event loops; the checkpoint follows.
    case handedOut
}
