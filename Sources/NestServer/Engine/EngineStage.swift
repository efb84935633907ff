/// How far the engine's thread is with a batch.
package enum EngineStage: Sendable {
    /// Taken out of the mailbox.
    case begun
    /// Committed and evaluated; nobody has been told.
    case performed
    /// On its way to the connections; what follows is the checkpoint.
    case handedOut
}
