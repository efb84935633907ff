import NestModel
import NestStore

/// A write of a batch, and where its answer goes. A class, because it is handed about and holds a whole transaction.
final class WriteRequest {
    enum Operation {
        case transaction(Transaction)
        case undo(UndoOptions, expected: Revision?)
        case redo(UndoOptions, expected: Revision?)
        case revert(UndoOptions, Revision, ofAnyone: Bool)
        case importSubtree(StagedSubtree)
        /// Changes nothing, but must be in order with the writes of its connection.
        case beginGroup(name: String?, joined: UInt64?)
        case endGroup
    }

    let connection: ConnectionID
    let requestID: UInt32
    let session: UInt64
    let key: Identifier128?
    let operation: Operation
    let requestHash: UInt64
    /// Whether a place is given as "at index N".
    let namesIndex: Bool

    init(
        connection: ConnectionID,
        requestID: UInt32,
        session: UInt64,
        key: Identifier128?,
        operation: Operation,
        requestHash: UInt64
    ) {
        self.connection = connection
        self.requestID = requestID
        self.session = session
        self.key = key
        self.operation = operation
        self.requestHash = requestHash
        self.namesIndex = Self.namesIndex(operation)
    }

    /// An undo, redo or revert.
    var isRevert: Bool {
        switch self.operation {
        case .undo, .redo, .revert: true
        case .transaction, .importSubtree, .beginGroup, .endGroup: false
        }
    }

    /// Looks in the journal for what anybody has deleted.
    var rehomes: Bool {
        switch self.operation {
        case .undo(let options, _), .redo(let options, _), .revert(let options, _, _): options.rehomes
        case .transaction, .importSubtree, .beginGroup, .endGroup: false
        }
    }

    var coalescing: Coalescing? {
        if case .transaction(let transaction) = self.operation { transaction.coalescing } else { nil }
    }

    private static func namesIndex(_ operation: Operation) -> Bool {
        guard case .transaction(let transaction) = operation, transaction.mutations.count == 1 else {
            return false
        }
        switch transaction.mutations[0] {
        case .insert(_, _, let placements), .findOrCreate(_, _, _, let placements):
            return placements.contains { $0.place.isIndex }
        case .move(_, let placement): return placement.place.isIndex
        case .relate(_, _, _, let place): return place.isIndex
        case .update, .delete, .unrelate, .setRelated: return false
        }
    }

    /// A request that may be refused, or turn out to change nothing, after it has written. `isJudgedLate`: the model has
    /// rules that only the end of a request can judge.
    func needsSavepoint(isJudgedLate: Bool) -> Bool {
        guard case .transaction(let transaction) = self.operation, transaction.mutations.count == 1, !isJudgedLate
        else {
            return true
        }
        return switch transaction.mutations[0] {
        case .insert, .update, .move, .findOrCreate: false
        case .delete, .relate, .unrelate, .setRelated: true
        }
    }
}
