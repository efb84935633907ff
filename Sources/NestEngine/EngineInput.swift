import NestModel
import NestStore
import NestProtocol

/// Names a connection for as long as the server runs; never reused.
package struct ConnectionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }

    package static func < (a: ConnectionID, b: ConnectionID) -> Bool { a.rawValue < b.rawValue }

    package var description: String { "c\(self.rawValue)" }
}

/// Everything that happens outside and that the engine is told of. The engine has no other source of events.
package enum EngineInput: Sendable {
    /// A client has said HELLO. Answered by the effect `welcome`.
    ///
    /// `takesCompressed`: it knows compressed frames. `token`: with which it has been let in; the engine refuses one that has been
    /// taken back meanwhile. `subscriptionsMax`: what it may have. `isWelcomed`: a standby answered it, and holds the session's
    /// number for it.
    case connected(
        ConnectionID,
        session: Identifier128,
        scope: AuthorisationScope,
        takesCompressed: Bool = false,
        token: UInt64? = nil,
        subscriptionsMax: Int = Limits.subscriptionsPerConnectionMax,
        isWelcomed: Bool = false
    )
    /// The connection is gone; nothing is sent to it any more.
    case disconnected(ConnectionID)
    case request(ConnectionID, requestID: UInt32, EngineRequest)
    /// The connection does not drain: bytes wait for it in the server. From now on its subscriptions lag.
    case blocked(ConnectionID)
    /// All that was waiting has been written, after a block or when `whenDrained` asks for it. Its subscriptions are brought
    /// up to date by one net diff each, and what is sent page by page goes on.
    case drained(ConnectionID)
    /// What the effect `read` asked for.
    case read(UInt64, Result<SideRead.Rows, NestError>)
    /// How it stands about the store's file and the room beside it; seen about once a second.
    case sight(StoreHealth.Sample)
    /// Time has passed; sent about once a second.
    case tick
    /// The same, ten times a second: for what is told at most so often.
    case pulse

    /// Asks for one object: such requests come in rows, and are read together.
    var isObjectRead: Bool {
        if case .request(_, _, .object) = self { true } else { false }
    }
}

package enum EngineRequest: Sendable {
    case transaction(Transaction)
    /// `expected`: the revision of the entry that it is to take.
    case undo(key: Identifier128?, UndoOptions = UndoOptions(), expected: Revision? = nil)
    case redo(key: Identifier128?, UndoOptions = UndoOptions(), expected: Revision? = nil)
    case revert(key: Identifier128?, UndoOptions, Revision, ofAnyone: Bool)
    /// `joined`: a group that another connection of the session has open.
    case beginGroup(name: String?, joined: UInt64?)
    case endGroup
    case previewUndo(UndoTarget, UndoOptions)
    case undoState(follows: Bool)
    case importSubtree(StagedSubtree)
    case subscribe(FetchRequest, resume: ResumePoint?, atLeast: Revision)
    case resubscribe(view: UInt32, FetchRequest)
    /// `place`: how much of the change set after `since` the client has.
    case subscribeChanges(since: ResumePoint?, place: Int, entities: [EntityNumber])
    case unsubscribe(view: UInt32)
    case fetch(FetchRequest, atLeast: Revision)
    case object(ObjectID)
    case history(before: Revision, limit: Int, onlyMine: Bool)
    case statistics
    /// The secret's SHA-256: the secret itself stays with who makes it.
    case createToken(TokenGrant, secretHash: TokenSecret)
    case tokens
    case revokeToken(UInt64)
    case explain(FetchRequest)
}

extension EngineRequest {
    /// The row of its kind.
    package var kind: RequestKind {
        // Every type that is named here has a row: `everyEngineRequestHasAKind`.
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
        case .previewUndo: .previewUndo
        case .undoState: .getUndoState
        case .importSubtree: .importSubtree
        case .subscribe: .subscribe
        case .resubscribe: .resubscribe
        case .subscribeChanges: .subscribeChanges
        case .unsubscribe: .unsubscribe
        case .fetch: .fetch
        case .object: .getObject
        case .history: .getHistory
        case .statistics: .getStatistics
        case .createToken: .createToken
        case .tokens: .listTokens
        case .revokeToken: .revokeToken
        case .explain: .explain
        }
    }
}
