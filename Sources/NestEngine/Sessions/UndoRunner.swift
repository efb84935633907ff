import NestModel
import NestStore
import NestProtocol

/// Performs undo, redo and revert: finds the transactions to revert, and reverts them in as few transactions as
/// possible.
struct UndoRunner {
    /// The transactions to revert, newest first.
    struct Work {
        var transactions: [PastTransaction]
        /// The name of the entry.
        var name: String
        var scope: WriteScope
        /// The name as the requesting connection may see it.
        var shownName: String
        var kind: HistoryEntry.Kind
        var options: UndoOptions
        /// The newest revision of the entry, if it is on one of the session's stacks.
        var entry: Revision?

        /// About how many objects were changed in bulk.
        var streamedEstimate: Int { self.transactions.reduce(0) { $0 + $1.streamedEstimate } }
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
                    "revision \(revision) belongs to another session (s\(transaction.header.sessionNumber)), "
                    + "and the request is only for transactions of its own session"
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

    /// Refuses to revert transactions that a confined client may not revert.
    func check(_ work: Work, _ confinement: Confinement) throws(StoreError) {
        try self.namingEntry(work) { () throws(StoreError) in try confinement.check(work.transactions, work.options) }
    }

    /// Performs the work. `request` runs its body as one transaction; it returns `nil` if that changed nothing.
    ///
    /// Transactions with few changes are reverted together, in one transaction. A bulk change is reverted in a
    /// transaction of its own: it is streamed, and streamed objects cannot be changed twice. `confinement`: that of the
    /// connection. `preparation`: the prepared revert of the transactions.
    func run(
        _ work: Work,
        _ description: WriteDescription,
        _ confinement: Confinement?,
        _ preparation: Preparation? = nil,
        request: ((ObjectGraph) throws(StoreError) -> WriteDescription) throws(StoreError) -> WriteResult?
    ) throws(StoreError) -> (results: [WriteResult], conflicts: UndoConflicts) {
        let context = UndoContext(
            work.options,
            confinement,
            session: work.kind == .revert ? nil : description.sessionNumber
        )
        var results: [WriteResult] = []
        for part in try self.parts(work.transactions) {
            let result = try request { (graph) throws(StoreError) in
                graph.preparation = preparation
                try graph.prepare(work.transactions, context)
                for transaction in part {
                    try self.namingEntry(work) { () throws(StoreError) in try graph.revert(transaction, context) }
                }
                description.kind = work.kind
                description.reverted = part[0].revision
                description.name = work.name
                description.entry = results.first?.header.revision
                return description
            }
            if let result { results.append(result) }
        }
        let conflicts = try self.namingEntry(work) { () throws(StoreError) in
            try context.finish(self.store.layout) { (conflict, base) throws(StoreError) in
                guard let last = conflict.revision else { return nil }
                let property = conflict.property
                let author = try self.store.author(of: property, of: conflict.object, from: last, after: base)
                // An author that is not exact is that of the object's last change, which a confined client may not be
                // allowed to see.
                return confinement == nil || author?.isExact == true
                    ? author.map { ($0.revision, $0.sessionNumber) } : nil
            }
        }
        return (results, conflicts)
    }

    private func parts(_ transactions: [PastTransaction]) throws(StoreError) -> [[PastTransaction]] {
        guard transactions.count > 1 else { return [transactions] }
        // Half of the number from which changes are streamed: a revert may change other objects than the transaction
        // did.
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

    /// Adds to a refusal what cannot be reverted.
    private func namingEntry<Result>(
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
