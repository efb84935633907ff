import NestModel
import NestStore

/// Does the work of one request in the graph, and says what the journal shall tell of it.
struct RequestRunner {
    let store: Store
    /// `at N` by a live tree where there is one.
    let resolvePlace: (Transaction, _ isTouched: (ObjectID) -> Bool) throws -> Transaction

    /// `stacks` are the session's; `isTouched` tells owners that the batch has touched before.
    func run(
        _ request: WriteRequest,
        _ graph: ObjectGraph,
        _ stacks: SessionStacks?,
        isTouched: (ObjectID) -> Bool
    ) throws -> WriteDescription {
        var description = WriteDescription(
            name: "",
            key: request.key,
            requestHash: request.requestHash,
            sessionNumber: request.session
        )
        switch request.operation {
        case .transaction(let transaction):
            let resolved = request.namesIndex ? try self.resolvePlace(transaction, isTouched) : transaction
            description.results = try graph.perform(resolved)
            description.name = try transaction.name ?? graph.defaultName(of: transaction)
        case .importSubtree(let staged):
            let (first, count, label) = try graph.importSubtree(staged)
            guard let layout = self.store.layout[staged.request.entity] else {
                throw NestError(.unknownEntity, "the model has no entity number \(staged.request.entity.rawValue)")
            }
            description.results = [Receipt.Run(first: first, count: count)]
            let kind = layout.kind(staged.request.entity)
            description.name = staged.request.name ?? ObjectGraph.nameOfImport(kind, label: label, count: count)
        case .undo:
            guard let revision = stacks?.undoRevision else {
                throw NestError(.nothingToUndo, "there is nothing to undo in this session")
            }
            try self.revert(revision, graph, .undo, &description)
        case .redo:
            guard let revision = stacks?.redoRevision else {
                throw NestError(.nothingToRedo, "there is nothing to redo in this session")
            }
            try self.revert(revision, graph, .redo, &description)
        }
        return description
    }

    private func revert(
        _ revision: Revision,
        _ graph: ObjectGraph,
        _ kind: HistoryEntry.Kind,
        _ description: inout WriteDescription
    ) throws {
        guard let entry = try self.store.entry(revision) else {
            throw NestError(.undoConflict, "the journal no longer has revision \(revision)")
        }
        do {
            try graph.revert(revision, forEach: entry.forEach)
        } catch let error as NestError where error.code == .undoConflict {
            throw NestError(
                .undoConflict,
                "cannot \(kind) \(entry.header.name): \(error.message)",
                object: error.object
            )
        }
        description.kind = kind
        description.reverted = revision
        description.name = entry.header.name
    }
}
