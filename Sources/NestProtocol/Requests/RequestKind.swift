import NestModel

/// One row of the table of requests, ``all``: the properties of a kind of request and when the server answers it.
/// Server, engine and clients look the row up; no other code lists the kinds.
package struct RequestKind: Sendable {
    /// When and where the server answers a request.
    package enum Turn: Sendable {
        /// The server answers it on the connection's event loop.
        case server
        /// The server answers it with a stream, concurrently with other requests.
        case transfer
        /// The engine makes it part of a commit.
        case commit
        /// The engine answers it at once, with few bytes.
        case immediate
        /// The engine answers it after all earlier requests of the connection.
        case inOrder
        /// The engine answers it when the connection is not blocked: the client has read what the server sent before.
        case whenDrained
        /// The engine takes turns between connections (fair scheduling): the answer may be large or expensive.
        case fair
    }

    package let type: MessageType
    /// The type of the answer, if it is one message.
    package let answer: MessageType?
    /// The type of the request, if it is a `Query`.
    package let query: (any Query.Type)?
    /// The least role that may send it.
    package let role: AccessRole
    /// Whether it concerns the whole store and is refused for a confined token.
    package let isWhole: Bool
    package let turn: Turn
    /// Whether the answer may be as large as a result. A connection may have at most
    /// `Limits.resultsInFlightPerConnectionMax` of these in flight.
    package let asksForResult: Bool
    /// Whether the request or its answer contains numbers of entities or properties, which are valid under one model
    /// only.
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

    /// The kinds by the type's number; a dictionary would cost a hash for each request.
    fileprivate static let byNumber: [RequestKind?] = {
        var kinds = [RequestKind?](repeating: nil, count: Int(UInt8.max) + 1)
        for kind in all { kinds[Int(kind.type.rawValue)] = kind }
        return kinds
    }()
}

extension MessageType {
    /// The kind of request of this type; `nil` if it is not a request.
    package var request: RequestKind? { RequestKind.byNumber[Int(self.rawValue)] }
}
