import NestModel
import NestProtocol

/// Names a request of this client for the caller who waits for its answer, over all connections.
package struct RequestToken: Hashable, Sendable {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// A request on its way to the server.
package struct OutgoingRequest: Equatable, Sendable {
    /// What may be done when the connection is lost before the answer.
    package enum Kind: Equatable, Sendable {
        /// Changes nothing: sent again.
        case read
        /// Has an idempotency key: sent again with it, to the same history.
        case write
        /// A stream from the server: it fails, the caller may begin again.
        case download
        /// A stream to the server: until its end is sent, nothing of it counts.
        case upload(isEnded: Bool)
        /// Belongs to its connection and goes with it.
        case connection
    }

    /// Who wants the answer.
    package enum Owner: Equatable, Sendable {
        case caller(RequestToken)
        case subscription(SubscriptionID)
        /// Of a subscription that had this view when it was sent.
        case change(SubscriptionID, view: UInt32)
        /// All who follow the undo state.
        case undoState
        case nobody
    }

    package var owner: Owner
    package var kind: Kind
    package var type: MessageType
    package var body: [UInt8]
    /// What answers it, if it is a `Query`.
    package var answer: ExpectedAnswer?
    /// The properties of the rows in the answer, for those that have rows.
    package var projection: [PropertyNumber]
    /// The group that it is a part of, and without which it is not sent again.
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

    /// Why it failed, when it was sent to a server whose connection is gone.
    package var lossError: NestError {
        switch self.kind {
        case .write, .upload(isEnded: true):
            NestError(
                .outcomeUnknown,
                "the connection was lost before the answer: the change may have been made; look before trying again"
            )
        case .upload(isEnded: false):
            NestError(.connectionLost, "the connection was lost during the upload: nothing of it was stored")
        case .read, .download, .connection:
            NestError(.connectionLost, "the connection was lost before the answer")
        }
    }
}
