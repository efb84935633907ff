import NestModel
import NestStore

/// A write of a batch, and the connection that its answer goes to. A class, because it is passed on often and holds a
/// whole transaction.
final class WriteRequest {
    /// The large cases are indirect: most writes are transactions.
    enum Operation {
        /// The steps are in `WriteRequest.transaction`.
        case transaction
        /// `expected`: the revision of the entry that the client expects to be next on the session's stack.
        indirect case takeBack(UndoTarget, UndoOptions, expected: Revision?)
        indirect case importSubtree(StagedSubtree)
        /// Changes nothing, but keeps its order among the writes of its connection.
        indirect case beginGroup(name: String?, joined: UInt64?)
        case endGroup
    }

    /// The answers to questions that are asked of each write several times.
    struct Traits: OptionSet {
        let rawValue: UInt8

        /// A place is specified as "at index N".
        static let namesIndex = Traits(rawValue: 1 << 0)
        /// The write is of a kind that can be prepared, if it turns out to be large.
        static let canBePrepared = Traits(rawValue: 1 << 1)
        /// The write may be heavy although its request is small: an undo, a cascade, or many mutations.
        static let mayBeHeavy = Traits(rawValue: 1 << 2)
        /// The write may be refused, or turn out to change nothing, after it has written.
        static let mayBeRolledBack = Traits(rawValue: 1 << 3)
        /// An undo, redo or revert.
        static let isRevert = Traits(rawValue: 1 << 4)
        /// The write restores objects under another owner. It then searches the journal for deletions by all sessions.
        static let rehomes = Traits(rawValue: 1 << 5)
        static let hasPreconditions = Traits(rawValue: 1 << 6)
    }

    let connection: ConnectionID
    let requestID: UInt32
    let session: UInt64
    /// The scope of the connection.
    let scope: AuthorisationScope
    /// The user of the connection.
    let user: UserLabel?
    let key: Identifier128?
    let operation: Operation
    /// Empty unless the operation is a transaction.
    let transaction: WriteTransaction
    let traits: Traits
    let requestHash: UInt64
    /// The steps that the write may take.
    let stepsMax: Int
    /// The object that is all that the write deletes.
    let deletedObject: ObjectID?
    /// The rows of an import; 0 for other writes.
    private var importedCount = 0
    /// The undo group that a client of another node is in; 0: none. `nil`: the client is one of this node.
    let portGroup: UInt64?

    init(
        connection: ConnectionID,
        requestID: UInt32,
        session: UInt64,
        scope: AuthorisationScope = .everything,
        user: UserLabel? = nil,
        key: Identifier128?,
        operation: Operation,
        transaction: consuming WriteTransaction,
        requestHash: UInt64,
        stepsMax: Int,
        portGroup: UInt64? = nil
    ) {
        self.connection = connection
        self.requestID = requestID
        self.session = session
        self.scope = scope
        self.user = user
        self.key = key
        self.operation = operation
        self.requestHash = requestHash
        self.stepsMax = stepsMax
        self.portGroup = portGroup
        let deletedObject = Self.deletedObject(transaction)
        var traits = Traits(operation, transaction)
        if deletedObject != nil || Self.isUnforcedRevert(operation), scope == .everything {
            traits.insert(.canBePrepared)
        }
        self.deletedObject = deletedObject
        self.traits = traits
        self.transaction = transaction
        if case .importSubtree(let staged) = operation { self.importedCount = staged.rowCount }
        self.takesLong = self.importedCount > Self.heavyRowsMin
    }

    /// Returns the write of a request; `nil` if the request is not a write.
    static func from(
        _ request: consuming EngineRequest,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ limits: EngineLimits,
        portGroup: UInt64? = nil
    ) -> WriteRequest? {
        func make(
            _ key: Identifier128?,
            _ operation: Operation,
            _ hash: UInt64 = 0,
            _ transaction: consuming WriteTransaction = WriteTransaction(mutations: [])
        ) -> WriteRequest {
            WriteRequest(
                connection: connection.id,
                requestID: requestID,
                session: connection.session,
                scope: connection.scope,
                user: connection.user,
                key: key,
                operation: operation,
                transaction: transaction,
                requestHash: hash,
                stepsMax: limits.stepsMax(connection.scope),
                portGroup: portGroup
            )
        }
        switch request {
        case .transaction(let transaction, let hash):
            return make(transaction.key, .transaction, hash, transaction)
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
        case .forwarded(let request, let group, _):
            return from(request, connection, requestID, limits, portGroup: group)
        default:
            return nil
        }
    }

    /// The request that it was made from.
    var request: EngineRequest {
        let hash = self.requestHash
        return switch self.operation {
        case .transaction: .transaction(self.transaction, requestHash: hash)
        case .takeBack(.undo, let options, let expected):
            .undo(key: self.key, options, expected: expected, requestHash: hash)
        case .takeBack(.redo, let options, let expected):
            .redo(key: self.key, options, expected: expected, requestHash: hash)
        case .takeBack(.revert(let revision, let ofAnyone), let options, _):
            .revert(key: self.key, options, revision, ofAnyone: ofAnyone, requestHash: hash)
        case .importSubtree(let staged): .importSubtree(staged, requestHash: hash)
        case .beginGroup(let name, let joined): .beginGroup(name: name, joined: joined)
        case .endGroup: .endGroup
        }
    }

    /// Whether the write takes long. A heavy write begins a turn of its own, and the writes before it become durable
    /// first. Imports are known to be heavy from their row count; other writes become heavy when a group has tried them
    /// after other writes.
    var isHeavy: Bool { self.takesLong && self.preparation == nil }
    private var takesLong = false

    func noteHeavy() { self.takesLong = true }

    /// How far the preparation of a write of very many objects is.
    enum Stage {
        /// It is not known yet whether the write must be prepared.
        case unknown
        case wanted
        case preparing(Preparation)
        /// The write must run as one piece, when nothing is prepared any more.
        case waiting
        /// The write must run as one piece.
        case impossible
        indirect case failed(NestError)
    }

    var stage = Stage.unknown

    /// Notes that the write waits for preparations: its own, or those of a write that was given up.
    func noteWaiting(forOwn isOwn: Bool) {
        if case .impossible = self.stage { self.stage = .waiting } else { self.stage = isOwn ? .wanted : .waiting }
    }

    /// The completed preparation.
    var preparation: Preparation? {
        if case .preparing(let preparation) = self.stage, preparation.state == .done { preparation } else { nil }
    }

    /// Whether the write cannot run yet.
    var isBeingPrepared: Bool {
        switch self.stage {
        case .wanted, .waiting: true
        case .preparing(let preparation): preparation.state == .open
        case .unknown, .impossible, .failed: false
        }
    }

    /// A forced undo may delete objects that its entry does not name.
    private static func isUnforcedRevert(_ operation: Operation) -> Bool {
        if case .takeBack(_, let options, _) = operation { options.policy != .force } else { false }
    }

    private static func deletedObject(_ transaction: borrowing WriteTransaction) -> ObjectID? {
        guard transaction.mutations.count == 1, case .delete(let object) = transaction.mutations[0], object.rawValue > 0
        else { return nil }
        return ObjectID(object.rawValue)
    }

    /// Whether the write is an import of more than `objectsMin` objects, whose preparation has not been tried.
    func mustBePrepared(from objectsMin: Int) -> Bool {
        guard self.importedCount > objectsMin, case .unknown = self.stage else { return false }
        return true
    }

    private static let heavyRowsMin = 1_024
    fileprivate static let heavyMutationsMin = 1_024

    /// The confinement of a request with preconditions; `nil` without preconditions.
    var preconditionLimit: AccessConfinement? {
        self.traits.contains(.hasPreconditions) ? self.scope.limit : nil
    }

    /// Whether the request may be refused, or turn out to change nothing, after it has written. `hasDeferredChecks`:
    /// the model has rules that are checked only at the end of a request.
    func needsSavepoint(hasDeferredChecks: Bool) -> Bool {
        hasDeferredChecks || self.traits.contains(.mayBeRolledBack)
    }
}

extension WriteRequest.Traits {
    /// Without `canBePrepared`, which also depends on the scope.
    fileprivate init(_ operation: WriteRequest.Operation, _ transaction: borrowing WriteTransaction) {
        switch operation {
        case .transaction: self.init(transaction)
        case .takeBack(_, let options, _):
            self = [.mayBeHeavy, .mayBeRolledBack, .isRevert]
            if options.rehomes { self.insert(.rehomes) }
        case .importSubtree, .beginGroup, .endGroup: self = .mayBeRolledBack
        }
    }

    private init(_ transaction: borrowing WriteTransaction) {
        self = []
        if !transaction.preconditions.isEmpty { self.insert(.hasPreconditions) }
        guard transaction.mutations.count == 1 else {
            self.insert(.mayBeRolledBack)
            let isHeavy =
                transaction.mutations.count > WriteRequest.heavyMutationsMin
                || transaction.mutations.contains { if case .delete = $0 { true } else { false } }
            if isHeavy { self.insert(.mayBeHeavy) }
            return
        }
        switch transaction.mutations[0] {
        case .insert(_, _, let placements), .findOrCreate(_, _, _, let placements),
            .insertAs(_, _, _, let placements):
            if placements.contains(where: { $0.place.isIndex }) { self.insert(.namesIndex) }
        case .move(_, let placement):
            if placement.place.isIndex { self.insert(.namesIndex) }
        case .relate(_, _, _, let place):
            self.insert(.mayBeRolledBack)
            if place.isIndex { self.insert(.namesIndex) }
        case .delete: self.formUnion([.mayBeRolledBack, .mayBeHeavy])
        case .unrelate, .setRelated: self.insert(.mayBeRolledBack)
        case .update: break
        }
    }
}
