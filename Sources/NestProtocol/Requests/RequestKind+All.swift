import NestModel

extension RequestKind {
    /// Every kind of request.
    package static let all: [RequestKind] = [
        // What clients read.
        RequestKind(.getModel, .read, .server, answer: .model, dependsOnModel: false),
        RequestKind(.fetch, .read, .fair, asksForResult: true),
        RequestKind(.getObject, .read, .whenDrained, answer: .object),
        RequestKind(.explain, .read, .whenDrained, answer: .explanation, isWhole: true),
        RequestKind(.getStatistics, .read, .immediate, answer: .statistics, isWhole: true, dependsOnModel: false),
        RequestKind(.fetchSubtree, .read, .transfer),

        // Subscriptions.
        RequestKind(.subscribe, .read, .fair, answer: .subscribed, asksForResult: true),
        RequestKind(.resubscribe, .read, .fair, answer: .subscribed, asksForResult: true),
        RequestKind(.unsubscribe, .read, .inOrder, answer: .done),
        RequestKind(.subscribeChanges, .read, .whenDrained, answer: .subscribed, isWhole: true),

        // Writes.
        RequestKind(.transaction, .write, .commit, answer: .receipt),
        // A stream until its end has come, then a write.
        RequestKind(.importSubtree, .write, .commit, answer: .receipt),
        RequestKind(.beginGroup, .write, .commit, answer: .group, dependsOnModel: false),
        RequestKind(.endGroup, .write, .commit, answer: .done, dependsOnModel: false),

        // Undo. What these ask for is the same under any model; only conflicts in their answers have numbers.
        RequestKind(.undo, .write, .commit, answer: .receipt, dependsOnModel: false),
        RequestKind(.redo, .write, .commit, answer: .receipt, dependsOnModel: false),
        // Its answer says whose a revision is.
        RequestKind(.revert, .write, .commit, answer: .receipt, isWhole: true, dependsOnModel: false),
        RequestKind(.previewUndo, .read, .fair, answer: .undoPreview),
        RequestKind(.getUndoState, .read, .immediate, answer: .undoState, dependsOnModel: false),
        RequestKind(.getHistory, .read, .fair, answer: .history, dependsOnModel: false),

        // What operators do.
        RequestKind(.createToken, .admin, .immediate, answer: .tokenCreated, isWhole: true, dependsOnModel: false),
        RequestKind(.listTokens, .admin, .immediate, answer: .tokenList, isWhole: true, dependsOnModel: false),
        RequestKind(.revokeToken, .admin, .immediate, answer: .done, isWhole: true, dependsOnModel: false),
        RequestKind(.backup, .admin, .transfer, isWhole: true),
        RequestKind(.check, .admin, .transfer, isWhole: true),
        RequestKind(.getClients, .admin, .server, answer: .clients, isWhole: true, dependsOnModel: false),
        RequestKind(.kick, .admin, .server, answer: .done, isWhole: true, dependsOnModel: false),
    ]

    private init(
        _ type: MessageType,
        _ role: AccessRole,
        _ turn: Turn,
        answer: MessageType? = nil,
        isWhole: Bool = false,
        asksForResult: Bool = false,
        dependsOnModel: Bool = true
    ) {
        self.type = type
        self.answer = answer
        self.role = role
        self.isWhole = isWhole
        self.turn = turn
        self.asksForResult = asksForResult
        self.dependsOnModel = dependsOnModel
    }

    /// By the number of the type; a dictionary would cost a hash at each request.
    fileprivate static let byNumber: [RequestKind?] = {
        var kinds = [RequestKind?](repeating: nil, count: Int(UInt8.max) + 1)
        for kind in all { kinds[Int(kind.type.rawValue)] = kind }
        return kinds
    }()
}

extension MessageType {
    /// The kind of request that a message of this type is; `nil` when it is not a request.
    package var request: RequestKind? { RequestKind.byNumber[Int(self.rawValue)] }
}
