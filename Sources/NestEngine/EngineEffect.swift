import NestProtocol
import NestModel
import NestStore
import NestSchema

/// What the engine wants sent. Effects are in the order in which each connection must get them.
package enum EngineEffect: Sendable {
    case welcome(ConnectionID, EngineWelcome)
    case reply(ConnectionID, requestID: UInt32, EngineReply)
    /// One body, encoded once, for all these connections: a frame whose id is the view.
    case push(EnginePush, to: [ConnectionID])
    /// Run this on a thread that may block, and come back with the input `read`.
    case read(BackgroundRead)
    /// All synced subscriptions of these connections are at this revision.
    case progress(Revision, to: [ConnectionID])
    /// Writes of this connection in the batch, before the diffs that contain them.
    case own([Revision], to: ConnectionID)
    /// The undo state of these connections' session has changed.
    case undoState(UndoState, to: [ConnectionID])
    /// The connection ends with this error, after what it was sent before.
    case end(ConnectionID, NestError)
    /// A token was created or revoked; `by`: the token of the connection that did it.
    case tokensChanged(TokenChange, by: UInt64?)
    /// There is more for the connection: it goes on when `drained` says that everything before has been handed over.
    case whenDrained(ConnectionID)
}

extension EngineEffect {
    /// The connections that are sent something.
    package func forEachRecipient(_ body: (ConnectionID) -> Void) {
        switch self {
        case .welcome(let id, _), .reply(let id, _, _), .own(_, let id), .end(let id, _), .whenDrained(let id): body(id)
        case .push(_, let ids), .progress(_, let ids), .undoState(_, let ids): ids.forEach(body)
        case .read, .tokensChanged: break
        }
    }
}

/// A change of tokens: the I/O layer lets clients in.
package enum TokenChange: Sendable {
    case created(Store.Token)
    case revoked(UInt64)
}

/// Where the store is, for WELCOME.
package struct EngineWelcome: Equatable, Sendable {
    package var historyID: Identifier128
    package var revision: Revision
    package var oldestRevision: Revision
    package var modelHash: UInt64
    package var sessionNumber: UInt64
}

extension EngineWelcome {
    init(_ store: Store, sessionNumber: UInt64) {
        self.init(
            historyID: store.historyID,
            revision: store.head,
            oldestRevision: store.oldestBase,
            modelHash: store.layout.modelHash,
            sessionNumber: sessionNumber
        )
    }
}

package enum EngineReply: Sendable {
    case failure(NestError)
    case receipt(Receipt)
    case subscribed(view: UInt32, first: FirstState, reason: String, projection: [PropertyNumber])
    case done
    /// A fetch: the head, then bodies of rows frames (none when there are no rows).
    case snapshot(SnapshotHeader, rows: [SharedBytes])
    case object(ObjectDetail)
    case statistics([Statistic])
    case group(UInt64)
    case undoState(UndoState)
    case tokenCreated(UInt64)
    /// Answers a `query`. `byteCount`: about what it takes.
    case answer(any Message, byteCount: Int)
}

package struct EnginePush: Sendable {
    package enum Content: Sendable {
        /// The body of a DIFF frame.
        case diff([UInt8])
        /// A SNAPSHOT frame's header, then the bodies of its SNAPSHOT_ROWS frames.
        case snapshot(SnapshotHeader, rows: [SharedBytes])
        /// Where a window is, that shows the same as before.
        case position(WindowPosition, Revision)
        /// The body of a CHANGE_SET frame.
        case changeSet(SharedBytes)
        /// The server ends the subscription.
        case end(ErrorCode, String)
    }

    package var view: UInt32
    package var content: Content

    package init(view: UInt32, content: Content) {
        self.view = view
        self.content = content
    }
}
