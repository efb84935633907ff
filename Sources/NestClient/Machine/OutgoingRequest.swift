import NestModel
import NestProtocol

/// Identifies a request of this client for its waiting caller, across all connections.
package struct RequestToken: Hashable, Sendable {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// A request that is sent to the server, or waits to be sent.
package struct OutgoingRequest: Equatable, Sendable {
    /// What happens to the request if the connection is lost before the answer.
    package enum Kind: Equatable, Sendable {
        /// Changes nothing. It is sent again.
        case read
        /// Has an idempotency key. It is sent again with the key, to the same history.
        case write
        /// A stream from the server. It fails, and the caller may start again.
        case download
        /// A stream to the server. Nothing is stored before its end is sent.
        case upload(isEnded: Bool)
        /// Belongs to its connection. It fails with the connection.
        case connection
    }

    /// The receiver of the answer.
    package enum Owner: Equatable, Sendable {
        case caller(RequestToken)
        case subscription(SubscriptionID)
        /// A change of a subscription, which had this view when the request was sent.
        case change(SubscriptionID, view: UInt32)
        /// The fold states of an outline that had this view.
        case folds(SubscriptionID, view: UInt32)
        /// All followers of the undo state.
        case undoState
        /// A scope. `isShown`: the request shows the client there; otherwise it follows the scope.
        case presence(ObjectID, isShown: Bool)
        /// The answer is ignored.
        case noCaller
    }

    package var owner: Owner
    package var kind: Kind
    package var type: MessageType
    package var body: [UInt8]
    /// The expected answer, if the request is a `Query`.
    package var answer: ExpectedAnswer?
    /// The properties of the rows in the answer, if it has rows.
    package var projection: [PropertyNumber]
    /// Whether it is sent only to a server that knows users and expiries. Another would ignore these fields.
    package var needsUsers = false
    /// The history that the store must have; `nil`: any. The request fails instead of being sent to another one.
    package var history: Identifier128?
    /// The group that the request belongs to. It is not sent again outside the group.
    package var group: UInt64?

    package init(owner: Owner, kind: Kind, type: MessageType, body: [UInt8], projection: [PropertyNumber] = []) {
        self.owner = owner
        self.kind = kind
        self.type = type
        self.body = body
        self.projection = projection
    }

    package init(owner: Owner, kind: Kind, _ message: some Message, projection: [PropertyNumber] = []) {
        self.init(
            owner: owner,
            kind: kind,
            type: Swift.type(of: message).type,
            body: message.body,
            projection: projection
        )
    }

    package init<Asked: Query>(owner: Owner, kind: Kind, query: Asked) {
        self.init(owner: owner, kind: kind, query)
        self.answer = ExpectedAnswer(Asked.Answer.self)
    }

    /// Whether it has numbers of the model.
    var dependsOnModel: Bool { self.type.request?.dependsOnModel == true }

    /// Whether it is a stream of objects with all their properties.
    var isTransfer: Bool {
        switch self.kind {
        case .download, .upload: self.dependsOnModel
        case .read, .write, .connection: false
        }
    }

    /// The error for a request that was sent to a server whose connection was lost.
    package var lossError: NestError {
        switch self.kind {
        case .write, .upload(isEnded: true):
            NestError(
                .outcomeUnknown,
                "the connection was lost before the answer: the change may have been made; check before you retry"
            )
        case .upload(isEnded: false):
            NestError(.connectionLost, "the connection was lost during the upload: nothing was stored")
        case .read, .download, .connection:
            NestError(.connectionLost, "the connection was lost before the answer")
        }
    }
}
