import NestModel

/// One row of the table of requests, ``all``: what a kind of request needs, and when the server answers it. Server, engine
/// and clients look the row up; no other code lists the kinds.
package struct RequestKind: Sendable {
    /// When and where the server answers a request.
    package enum Turn: Sendable {
        /// The server answers it on the connection's event loop.
        case server
        /// It is a stream of its own, beside other requests.
        case transfer
        /// It becomes part of a commit.
        case commit
        /// The engine answers it at once, in few bytes.
        case immediate
        /// The engine answers it after everything that the connection asked for before.
        case inOrder
        /// The engine answers it when the connection has taken what it was sent before.
        case whenDrained
        /// The engine takes turns between connections: the answer may be large, or take long to make.
        case fair
    }

    package let type: MessageType
    /// The message that answers the request, when it is one message.
    package let answer: MessageType?
    /// The request itself, when it is a `Query`.
    package let query: (any Query.Type)?
    /// The least role of a token that may ask it.
    package let role: AccessRole
    /// Concerns more than a sub-tree: refused for a token that is confined to one.
    package let isWhole: Bool
    package let turn: Turn
    /// The answer may be as large as a result: a connection has at most `Limits.resultsInFlightPerConnectionMax` of these.
    package let asksForResult: Bool
    /// The request or its answer has numbers of entities or properties, which mean nothing under another model.
    package let dependsOnModel: Bool

    package var isWrite: Bool { self.turn == .commit }

    init(
        _ type: MessageType,
        _ role: AccessRole,
        _ turn: Turn,
        answer: MessageType? = nil,
        query: (any Query.Type)? = nil,
        isWhole: Bool = false,
        asksForResult: Bool = false,
        dependsOnModel: Bool = true
    ) {
        self.type = type
        self.answer = answer
        self.query = query
        self.role = role
        self.isWhole = isWhole
        self.turn = turn
        self.asksForResult = asksForResult
        self.dependsOnModel = dependsOnModel
    }

    init<Asked: Query>(
        _ query: Asked.Type,
        _ role: AccessRole,
        _ turn: Turn,
        isWhole: Bool = false,
        dependsOnModel: Bool = true
    ) {
        self.init(
            Asked.type,
            role,
            turn,
            answer: Asked.Answer.type,
            query: query,
            isWhole: isWhole,
            dependsOnModel: dependsOnModel
        )
    }

    /// By the number of the type; a dictionary would cost a hash at each request.
    fileprivate static let byNumber: [RequestKind?] = {
        var kinds = [RequestKind?](repeating: nil, count: Int(UInt8.max) + 1)
        for kind in all { kinds[Int(kind.type.rawValue)] = kind }
        return kinds
    }()
}

extension MessageType {
    /// The kind of request that a message of this type is; `nil` when it is not a request.
    package var request: RequestKind? { RequestKind.byNumber[Int(self.rawValue)] }
}
