import NestModel
import NestStore
import NestProtocol

/// Takes undo entries back: finds what is meant, and does it in as few transactions as can be.
struct UndoRunner {
    /// What is to be taken back, newest first.
    struct Work {
        var transactions: [PastTransaction]
        /// The entry's.
        var name: String
        var scope: WriteScope
        /// The name as the connection that asks may see it.
        var shownName: String
        var kind: HistoryEntry.Kind
        var options: UndoOptions
        /// Its newest revision, when it is an entry of the session's stacks.
        var entry: Revision?
    }

    let store: Store

    func work(
        _ target: UndoTarget,
        _ options: UndoOptions,
        expected: Revision?,
        _ session: UInt64,
        _ stacks: SessionStacks,
        _ scope: AuthorisationScope
    )
        throws(StoreError) -> Work
    {
        switch target {
        case .undo:
            guard let entry = stacks.nextUndo else { throw Self.nothing(.nothingToUndo, "undo", stacks) }
            return try self.work(entry, .undo, options, expected: expected, scope)
        case .redo:
            guard let entry = stacks.nextRedo else { throw Self.nothing(.nothingToRedo, "redo", stacks) }
            return try self.work(entry, .redo, options, expected: expected, scope)
        case .revert(let revision, let ofAnyone):
            guard revision <= self.store.head else {
                throw StoreError.refused(
                    .notFound,
                    "there is no revision \(revision) yet: the newest is \(self.store.head)"
                )
            }
            guard let transaction = try self.store.pastTransaction(revision) else { throw self.dropped(revision) }
            guard ofAnyone || transaction.header.sessionNumber == session else {
                let text =
                    "revision \(revision) is of another session (s\(transaction.header.sessionNumber)): "
                    + "say that it may be anyone's to take it back"
                throw StoreError.refused(.forbidden, text)
            }
            return Work(
                transactions: [transaction],
                name: transaction.header.name,
                scope: transaction.header.scope,
                shownName: scope.name(transaction.header.name, madeIn: transaction.header.scope),
                kind: .revert,
                options: options,
                entry: nil
            )
        }
    }

    private func work(
        _ entry: SessionStacks.Entry,
        _ kind: HistoryEntry.Kind,
        _ options: UndoOptions,
        expected: Revision?,
        _ scope: AuthorisationScope
    ) throws(StoreError) -> Work {
        let shownName = scope.name(entry.name, madeIn: entry.scope)
        if let expected, expected != entry.newest {
            let text = "the next \(kind) is of revision \(entry.newest) (\(shownName)), not of \(expected)"
            throw StoreError.refused(.conflict, text)
        }
        let transactions = try entry.revisions.reversed().map { (revision) throws(StoreError) in
            guard let transaction = try self.store.pastTransaction(revision) else { throw self.dropped(revision) }
            return transaction
        }
        return Work(
            transactions: transactions,
            name: entry.name,
            scope: entry.scope,
            shownName: shownName,
            kind: kind,
            options: options,
            entry: entry.newest
        )
    }

    private func dropped(_ revision: Revision) -> StoreError {
        let oldest = self.store.oldestBase.next
        return .refused(.revisionDropped, "the journal begins with revision \(oldest), \(revision) is no longer in it")
    }

    private static func nothing(_ code: ErrorCode, _ verb: String, _ stacks: SessionStacks) -> StoreError {
        let dropped = stacks.droppedCount
        let more =
            verb == "undo" && dropped > 0
            ? ": \(dropped) older entries were dropped, at most \(Limits.undoEntriesPerSessionMax) are kept" : ""
        return .refused(code, "there is nothing to \(verb) in this session\(more)")
    }

    /// Refuses what a confined client cannot take back.
    func check(_ work: Work, _ confinement: Confinement) throws(StoreError) {
        try self.saying(work) { () throws(StoreError) in try confinement.check(work.transactions, work.options) }
    }

    /// Does it. `request` makes one transaction of what happens in its body; `nil` when that changed nothing.
    ///
    /// Transactions whose changes are few are taken back together, as one. A bulk change is one of its own: it is
    /// streamed, and what is streamed cannot be changed twice. `confinement`: of the connection.
    func run(
        _ work: Work,
        _ description: WriteDescription,
        _ confinement: Confinement?,
        request: ((ObjectGraph) throws(StoreError) -> WriteDescription) throws(StoreError) -> WriteResult?
    ) throws(StoreError) -> (results: [WriteResult], conflicts: UndoConflicts) {
        let context = UndoContext(work.options, confinement)
        var results: [WriteResult] = []
        for part in try self.parts(work.transactions) {
            let result = try request { (graph) throws(StoreError) in
                try graph.prepare(work.transactions, context)
                for transaction in part {
                    try self.saying(work) { () throws(StoreError) in try graph.revert(transaction, context) }
                }
                var description = description
                description.kind = work.kind
                description.reverted = part[0].revision
                description.name = work.name
                description.entry = results.first?.header.revision
                return description
            }
            if let result { results.append(result) }
        }
        let conflicts = try self.saying(work) { () throws(StoreError) in
            try context.finish(self.store.layout) { (conflict, base) throws(StoreError) in
                guard let last = conflict.revision else { return nil }
                let property = conflict.property
                let author = try self.store.author(of: property, of: conflict.object, from: last, after: base)
                // The object's last change instead of that of the property may be one that the client may not see.
                return confinement == nil || author?.isExact == true
                    ? author.map { ($0.revision, $0.sessionNumber) } : nil
            }
        }
        return (results, conflicts)
    }

    private func parts(_ transactions: [PastTransaction]) throws(StoreError) -> [[PastTransaction]] {
        guard transactions.count > 1 else { return [transactions] }
        // Half of what is streamed: a revert may change other objects than the transaction did.
        let countMax = self.store.streamedFrom / 2
        var parts: [[PastTransaction]] = []
        var room = 0
        for transaction in transactions {
            let count = try transaction.inlineCount() ?? Int.max
            if count <= room {
                parts[parts.count - 1].append(transaction)
                room -= count
            } else {
                parts.append([transaction])
                room = countMax - count
            }
        }
        return parts
    }

    /// Says in a refusal what cannot be taken back.
    private func saying<Result>(
        _ work: Work,
        _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            guard let refusal = error.refusal, refusal.code == .undoConflict || refusal.code == .ownerGone else {
                throw error
            }
            let message = "cannot \(work.kind) \(work.shownName): \(refusal.message)"
            throw .refused(refusal.code, message, object: refusal.object)
        }
    }
}
