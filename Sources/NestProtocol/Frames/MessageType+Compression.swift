/// Frames whose body was compressed: what may carry the flag.
extension MessageType {
    /// Whether a server may compress its body: of what may be large, all but diffs, which grow by it, and chunks, which say
    /// themselves whether they are.
    package var mayBeCompressed: Bool {
        switch self {
        case .snapshot, .snapshotSections, .snapshotRows, .history, .object, .model, .statistics, .explanation,
            .undoPreview, .changeSet:
            true
        case .hello, .welcome, .error, .goAway, .ping, .pong, .cancel, .credit, .done, .transaction, .receipt, .undo,
            .redo, .getHistory, .fetch, .getObject, .fetchSubtree, .importSubtree, .subtreeStart, .subtreeChunk,
            .subtreeEnd, .subscribe, .subscribed, .diff, .progress, .unsubscribe, .subscriptionEnd, .subscribeChanges,
            .totals, .resubscribe, .getModel, .getStatistics, .explain, .revert, .beginGroup, .group, .endGroup,
            .previewUndo, .getUndoState, .undoState, .own, .backup, .backupStart, .backupChunk, .backupEnd, .check,
            .checkProgress, .checked, .createToken, .tokenCreated, .listTokens, .tokenList, .revokeToken,
            .getClients, .clients, .kick:
            false
        }
    }
}
