/// The progress of the engine's thread with a batch.
package enum EngineStage: Sendable {
    /// Taken out of the mailbox.
    case begun
    /// Committed and evaluated; nothing has been delivered.
    case performed
    /// Delivered to the event loops; the checkpoint follows.
    case handedOut
}
