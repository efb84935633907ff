import NestModel
import NestProtocol

/// What a request needs: the one place that says what each role may do.
struct AccessDemand: Equatable {
    var role: AccessRole
    /// About more than a sub-tree: refused to who is confined to one.
    var isWhole = false
}

extension MessageType {
    /// What a client's request needs; `nil` for what is no request.
    var demand: AccessDemand? {
        switch self {
        case .fetch, .getObject, .fetchSubtree, .subscribe, .resubscribe, .unsubscribe, .getModel, .getUndoState,
            .getHistory, .previewUndo:
            AccessDemand(role: .read)
        // Of all revisions, all objects and all clients.
        case .subscribeChanges, .getStatistics, .explain:
            AccessDemand(role: .read, isWhole: true)
        case .transaction, .importSubtree, .undo, .redo, .beginGroup, .endGroup:
            AccessDemand(role: .write)
        // Says whose a revision is.
        case .revert:
            AccessDemand(role: .write, isWhole: true)
        case .createToken, .listTokens, .revokeToken, .backup, .check, .getClients, .kick:
            AccessDemand(role: .admin, isWhole: true)
        case .hello, .welcome, .error, .goAway, .ping, .pong, .cancel, .credit, .done, .receipt, .history, .object,
            .subtreeStart, .subtreeChunk, .subtreeEnd, .subscribed, .diff, .snapshot, .snapshotRows, .progress,
            .subscriptionEnd, .snapshotSections, .totals, .changeSet, .own, .model, .statistics, .explanation,
            .group, .undoPreview, .undoState, .tokenCreated, .tokenList, .backupStart,
            .backupChunk, .backupEnd, .checkProgress, .checked, .clients:
            nil
        }
    }
}

extension Access {
    /// Refuses what the token does not allow.
    func check(_ type: MessageType) throws(NestError) {
        guard let demand = type.demand else { return }
        guard self.role >= demand.role else {
            throw NestError(
                .notPermitted,
                "this needs a token of role \(demand.role); the role of this one is \(self.role)"
            )
        }
        guard self.confinement == nil || !demand.isWhole else {
            throw NestError(.notPermitted, "a token that is confined to a sub-tree does not allow this")
        }
    }
}
