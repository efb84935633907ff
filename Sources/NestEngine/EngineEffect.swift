import NestProtocol
import NestModel
import NestStore
import NestSchema

/// An output of the engine. Each connection must receive its effects in their order.
package enum EngineEffect: Sendable {
    indirect case welcome(ConnectionID, EngineWelcome)
    case reply(ConnectionID, requestID: UInt32, EngineReply)
    /// A frame for all these connections, encoded once. The id of the frame is the view.
    indirect case push(EnginePush, to: [ConnectionID])
    /// A read to run on a thread that may block. Its outcome comes back as the input `read`.
    indirect case read(BackgroundRead)
    /// All synced subscriptions of these connections are at this revision.
    case progress(Revision, to: [ConnectionID])
    /// The connection's own writes in the batch. Sent before the diffs that contain them.
    case own(OwnMessage, to: ConnectionID)
    /// The body of AUTHORS, encoded once. Sent before the diffs of these revisions.
    case authors([UInt8], to: [ConnectionID])
    /// The undo state of these connections' session has changed.
    indirect case undoState(UndoState, to: [ConnectionID])
    /// The body of PRESENCE, encoded once. Sent after the diffs that it may refer to.
    case presence([UInt8], to: [ConnectionID])
    /// The body of PEER_PRESENCE, for the connection of another node.
    case peerPresence([UInt8], to: ConnectionID)
    /// The model is this one from now on. Sent before anything that was made with it.
    case model(ServedModel, to: [ConnectionID])
    /// Ends the connection with this error, after everything that it was sent before.
    indirect case end(ConnectionID, NestError)
    /// A token was created or revoked; `by`: the token of the connection that did it.
    indirect case tokensChanged(TokenChange, by: UInt64?)
    /// The engine has more for the connection. It continues when `drained` reports that everything before was written.
    case whenDrained(ConnectionID)
    /// For the driver of the node's `ReplicaMachine`.
    indirect case replica(ReplicaEvent)
    /// For the node's link to the leader. The link keeps the order.
    indirect case forward(ForwardEffect)
}

extension EngineEffect {
    /// Calls `body` with each connection that the effect is sent to.
    package func forEachRecipient(_ body: (ConnectionID) -> Void) {
        switch self {
        case .welcome(let id, _), .reply(let id, _, _), .own(_, let id), .end(let id, _), .whenDrained(let id),
            .peerPresence(_, let id):
            body(id)
        case .push(_, let ids), .progress(_, let ids), .authors(_, let ids), .undoState(_, let ids),
            .presence(_, let ids), .model(_, let ids):
            ids.forEach(body)
        case .read, .tokensChanged, .replica, .forward: break
        }
    }
}

/// A change of the tokens, by which the I/O layer admits clients.
package enum TokenChange: Sendable {
    case created(Store.Token)
    case revoked(UInt64)
}

/// The state of the store, for WELCOME.
package struct EngineWelcome: Equatable, Sendable {
    package var historyID: Identifier128
    package var revision: Revision
    package var oldestRevision: Revision
    package var model: ServedModel
    package var sessionNumber: UInt64

    package var modelHash: UInt64 { self.model.hash }

    package static func == (a: EngineWelcome, b: EngineWelcome) -> Bool {
        a.historyID == b.historyID && a.revision == b.revision && a.oldestRevision == b.oldestRevision
            && a.modelHash == b.modelHash && a.sessionNumber == b.sessionNumber
    }
}

extension EngineWelcome {
    init(_ store: Store, _ model: ServedModel, sessionNumber: UInt64) {
        self.init(
            historyID: store.historyID,
            revision: store.head,
            oldestRevision: store.oldestBase,
            model: model,
            sessionNumber: sessionNumber
        )
    }
}

package enum EngineReply: Sendable {
    indirect case failure(NestError)
    indirect case receipt(Receipt)
    indirect case subscribed(view: UInt32, first: FirstState, reason: String, projection: [PropertyNumber])
    case done
    /// The answer to a fetch: the body of its totals if it asks for them, the header, then the bodies of rows frames
    /// (none when there are no rows).
    indirect case snapshot(SnapshotHeader, rows: [SharedBytes], totals: [UInt8]? = nil)
    case object(ObjectBody)
    case statistics([Statistic])
    case group(UInt64)
    indirect case undoState(UndoState)
    case tokenCreated(UInt64)
    case reserved(ObjectID, count: Int)
    indirect case value(LargeValue, AttributeType)
    /// The number by which others see the client; 0: none.
    case present(UInt64)
    /// The answer to a `query`. `byteCount`: its approximate size. Indirect, because a value of any type in place would
    /// make copies of every reply slow.
    indirect case answer(any Message, byteCount: Int)
}

package struct EnginePush: Sendable {
    package enum Content: Sendable {
        /// The body of a DIFF frame.
        case diff([UInt8])
        /// A SNAPSHOT frame's header, then the bodies of its SNAPSHOT_ROWS frames.
        indirect case snapshot(SnapshotHeader, rows: [SharedBytes])
        /// The new position of a window that shows the same rows as before.
        indirect case position(WindowPosition, Revision)
        /// The body of a RESULT_TOTALS frame for the rows that were sent before.
        case totals([UInt8])
        /// The body of a CHANGE_SET frame.
        case changeSet(SharedBytes)
        /// The server ends the subscription.
        case end(ErrorCode, String)
    }

    package var view: UInt32
    package var content: Content
    /// The body of the RESULT_TOTALS frame before a diff or a snapshot.
    package var totals: [UInt8]?

    package init(view: UInt32, content: Content, totals: [UInt8]? = nil) {
        self.view = view
        self.content = content
        self.totals = totals
    }
}
