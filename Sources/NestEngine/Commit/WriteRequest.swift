import NestModel
import NestStore

/// A write of a batch, and where its answer goes. A class, because it is handed about and holds a whole transaction.
final class WriteRequest {
    enum Operation {
        case transaction(WriteTransaction)
        /// `expected`: the entry that is meant, when it is one of the session's stacks.
        case takeBack(UndoTarget, UndoOptions, expected: Revision?)
        case importSubtree(StagedSubtree)
        /// Changes nothing, but must be in order with the writes of its connection.
        case beginGroup(name: String?, joined: UInt64?)
        case endGroup
    }

    let connection: ConnectionID
    let requestID: UInt32
    let session: UInt64
    /// Of the connection.
    let scope: AuthorisationScope
    let key: Identifier128?
    let operation: Operation
    let requestHash: UInt64
    /// What it may cost.
    let stepsMax: Int
    /// Whether a position is given as "at index N".
    let namesIndex: Bool

    init(
        connection: ConnectionID,
        requestID: UInt32,
        session: UInt64,
        scope: AuthorisationScope = .everything,
        key: Identifier128?,
        operation: Operation,
        requestHash: UInt64,
        stepsMax: Int
    ) {
        self.connection = connection
        self.requestID = requestID
        self.session = session
        self.scope = scope
        self.key = key
        self.operation = operation
        self.requestHash = requestHash
        self.stepsMax = stepsMax
        self.namesIndex = Self.namesIndex(operation)
        if case .importSubtree(let staged) = operation { self.isHeavy = staged.rowCount > Self.heavyRowsMin }
    }

    /// The write that a request asks for; `nil` for a request that is no write.
    static func from(
        _ request: consuming EngineRequest,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ limits: EngineLimits
    ) -> WriteRequest? {
        func make(_ key: Identifier128?, _ operation: Operation, _ hash: UInt64 = 0) -> WriteRequest {
            WriteRequest(
                connection: connection.id,
                requestID: requestID,
                session: connection.session,
                scope: connection.scope,
                key: key,
                operation: operation,
                requestHash: hash,
                stepsMax: limits.stepsMax(connection.scope)
            )
        }
        switch request {
        case .transaction(let transaction, let hash):
            return make(transaction.key, .transaction(transaction), hash)
        case .undo(let key, let options, let expected, let hash):
            return make(key, .takeBack(.undo, options, expected: expected), hash)
        case .redo(let key, let options, let expected, let hash):
            return make(key, .takeBack(.redo, options, expected: expected), hash)
        case .revert(let key, let options, let revision, let ofAnyone, let hash):
            let target = UndoTarget.revert(revision, ofAnyone: ofAnyone)
            return make(key, .takeBack(target, options, expected: nil), hash)
        case .beginGroup(let name, let joined):
            return make(nil, .beginGroup(name: name, joined: joined))
        case .endGroup:
            return make(nil, .endGroup)
        case .importSubtree(let staged, let hash):
            return make(staged.request.key, .importSubtree(staged), hash)
        default:
            return nil
        }
    }

    /// It takes long: a turn begins with it, and the writes before it are durable first. Known of an import before it
    /// begins, and of others when a group has tried them after other writes.
    private(set) var isHeavy = false

    func noteHeavy() { self.isHeavy = true }

    /// Few bytes may be much work: an undo, a cascade, many steps.
    var mayBeHeavy: Bool {
        switch self.operation {
        case .takeBack: true
        case .transaction(let transaction):
            transaction.mutations.count > Self.heavyMutationsMin
                || transaction.mutations.contains { if case .delete = $0 { true } else { false } }
        case .importSubtree, .beginGroup, .endGroup: false
        }
    }

    private static let heavyRowsMin = 1_024
    private static let heavyMutationsMin = 1_024

    /// An undo, redo or revert.
    var isRevert: Bool {
        if case .takeBack = self.operation { true } else { false }
    }

    /// Looks in the journal for what anybody has deleted.
    var rehomes: Bool {
        if case .takeBack(_, let options, _) = self.operation { options.rehomes } else { false }
    }

    var preconditions: [Precondition] {
        if case .transaction(let transaction) = self.operation { transaction.preconditions } else { [] }
    }

    /// What limits the token of a request with preconditions.
    var preconditionLimit: AccessConfinement? {
        guard let limit = self.scope.limit else { return nil }
        return self.preconditions.isEmpty ? nil : limit
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

    /// A request that may be refused, or turn out to change nothing, after it has written. `isJudgedLate`: the model
    /// has rules that only the end of a request can judge.
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
