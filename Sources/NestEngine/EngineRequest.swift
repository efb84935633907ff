import NestModel
import NestProtocol
import NestStore

/// A request of a client to the engine.
///
/// A request that may carry an idempotency key also carries the hash that distinguishes a retry from another request
/// with the same key. `transaction(_:)`, `undo(key:)` and the other functions of these names compute it, so the thread
/// that decodes a request hashes it too. See `RequestHash`.
///
/// Large cases are indirect, here and in inputs, replies and effects: these are moved often, and most are small.
package enum EngineRequest: Sendable {
    indirect case transaction(WriteTransaction, requestHash: UInt64)
    /// `expected`: the revision of the entry that the client expects to undo.
    indirect case undo(key: Identifier128?, UndoOptions, expected: Revision?, requestHash: UInt64)
    indirect case redo(key: Identifier128?, UndoOptions, expected: Revision?, requestHash: UInt64)
    indirect case revert(key: Identifier128?, UndoOptions, Revision, ofAnyone: Bool, requestHash: UInt64)
    /// `joined`: the group of another connection of the session to join.
    case beginGroup(name: String?, joined: UInt64?)
    case endGroup
    case undoState(follows: Bool)
    /// `bytes`: `nil` to leave the scope.
    case setPresence(scope: ObjectID, bytes: [UInt8]?)
    case followPresence(scope: ObjectID, follows: Bool)
    indirect case importSubtree(StagedSubtree, requestHash: UInt64)
    indirect case subscribe(ObjectFetchRequest, resume: ResumePoint?, atLeast: Revision)
    indirect case resubscribe(view: UInt32, ObjectFetchRequest)
    case setExpanded(view: UInt32, [ExpandedState])
    /// `place`: the number of parts of the change set after `since` that the client has.
    case subscribeChanges(since: ResumePoint?, place: Int, entities: [EntityNumber])
    case unsubscribe(view: UInt32)
    indirect case fetch(ObjectFetchRequest, atLeast: Revision)
    case object(ObjectID)
    case statistics
    /// `secretHash`: the SHA-256 of the secret. The secret itself stays with the client that creates it.
    indirect case createToken(TokenGrant, secretHash: TokenSecret)
    case revokeToken(UInt64)
    case reserveIDs(Int)
    indirect case putValue(StagedValue)
    /// A request of a client of another node, which has forwarded it. `group`: the undo group that the client is in; 0:
    /// none. `isAgain`: it may have been sent before, to this leader or to an earlier one.
    indirect case forwarded(EngineRequest, group: UInt64, isAgain: Bool)
    /// Any other request that one message answers. Indirect, because a value of any type in place would make copies of
    /// every request slow.
    indirect case query(any EngineQuery)
}

extension EngineRequest {
    /// The number of ids that the request reserves, also for a client of another node; `nil` if it is another request.
    var reservedCount: Int? {
        switch self {
        case .reserveIDs(let count): count
        case .forwarded(let request, _, _): request.reservedCount
        default: nil
        }
    }

    /// The request's row in `RequestKind.all`.
    package var kind: RequestKind {
        // Every type below has a row in `RequestKind.all`; `RequestKindTests` and `MeaningWire` check this.
        self.type.request!
    }

    package var type: MessageType {
        switch self {
        case .transaction: .transaction
        case .undo: .undo
        case .redo: .redo
        case .revert: .revert
        case .beginGroup: .beginGroup
        case .endGroup: .endGroup
        case .undoState: .getUndoState
        case .setPresence: .setPresence
        case .followPresence: .followPresence
        case .importSubtree: .importSubtree
        case .subscribe: .subscribe
        case .resubscribe: .resubscribe
        case .setExpanded: .setExpanded
        case .subscribeChanges: .subscribeChanges
        case .unsubscribe: .unsubscribe
        case .fetch: .fetch
        case .object: .getObject
        case .statistics: .getStatistics
        case .createToken: .createToken
        case .revokeToken: .revokeToken
        case .reserveIDs: .reserve
        case .putValue: .putValue
        case .forwarded(let request, _, _): request.type
        case .query(let query): Swift.type(of: query).type
        }
    }
}
