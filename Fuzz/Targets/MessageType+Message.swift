import NestProtocol

extension MessageType {
    /// The message that decodes bodies of this type.
    package var message: any Message.Type {
        switch self {
        case .hello: Hello.self
        case .welcome: Welcome.self
        case .error: ErrorMessage.self
        case .goAway: GoAway.self
        case .ping: Ping.self
        case .pong: Pong.self
        case .cancel: Cancel.self
        case .credit: Credit.self
        case .done: Done.self
        case .transaction: TransactionMessage.self
        case .receipt: ReceiptMessage.self
        case .undo: Undo.self
        case .redo: Redo.self
        case .getHistory: GetHistory.self
        case .history: History.self
        case .fetch: Fetch.self
        case .getObject: GetObject.self
        case .object: ObjectMessage.self
        case .fetchSubtree: FetchSubtree.self
        case .importSubtree: ImportSubtree.self
        case .subtreeStart: SubtreeStart.self
        case .subtreeChunk: SubtreeChunk.self
        case .subtreeEnd: SubtreeEnd.self
        case .subscribe: Subscribe.self
        case .subscribed: Subscribed.self
        case .diff: DiffBody.self
        case .snapshot: SnapshotMessage.self
        case .snapshotRows: SnapshotRows.self
        case .snapshotSections: SnapshotSections.self
        case .totals: Totals.self
        case .resubscribe: Resubscribe.self
        case .progress: Progress.self
        case .unsubscribe: Unsubscribe.self
        case .subscriptionEnd: SubscriptionEnd.self
        case .subscribeChanges: SubscribeChanges.self
        case .changeSet: ChangeSetMessage.self
        case .own: Own.self
        case .getModel: GetModel.self
        case .model: ModelMessage.self
        case .getStatistics: GetStatistics.self
        case .statistics: Statistics.self
        case .explain: Explain.self
        case .explanation: ExplanationMessage.self
        case .revert: Revert.self
        case .beginGroup: BeginGroup.self
        case .group: Group.self
        case .endGroup: EndGroup.self
        case .previewUndo: PreviewUndo.self
        case .undoPreview: UndoPreviewMessage.self
        case .getUndoState: GetUndoState.self
        case .undoState: UndoStateMessage.self
        case .backup: BackupRequest.self
        case .backupStart: BackupStart.self
        case .backupChunk: BackupChunk.self
        case .backupEnd: BackupEnd.self
        case .check: CheckRequest.self
        case .checkProgress: CheckProgress.self
        case .checked: Checked.self
        case .createToken: CreateToken.self
        case .tokenCreated: TokenCreated.self
        case .listTokens: ListTokens.self
        case .tokenList: TokenList.self
        case .revokeToken: RevokeToken.self
        case .getClients: GetClients.self
        case .clients: Clients.self
        case .kick: Kick.self
        }
    }
}
