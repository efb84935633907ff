import NestModel

/// The client's first message: its name, features and durable session.
package struct Hello: Message, Equatable {
    package static let type = MessageType.hello

    /// For logs and `nestc clients`; at most 256 bytes.
    package var clientName: String
    package var features: Features
    /// 128 secret bits that the client keeps. Undo stacks and idempotency keys belong to the session.
    package var session: Identifier128
    /// If set, a server with another history answers with an error.
    package var expectedHistory: Identifier128?
    /// If set, a server with another model answers with SCHEMA_CHANGED. For clients that send requests before WELCOME:
    /// under another model their property numbers may mean something else.
    package var expectedModelHash: UInt64?
    /// The client's token, for a server that requires one.
    package var token: AccessToken?
    /// For a node of the server's cluster: proves that it can read the log.
    package var peer: Peer?
    /// The user that a client without a token claims to be; at most 256 bytes. Empty: none.
    package var user: String

    /// The proof that the client is a node of the cluster.
    package struct Peer: Equatable, Sendable {
        /// The node that connects, as the log lists it.
        package var node: Identifier128
        /// The secret of the node that it connects to, which only the log knows besides that node.
        package var secret: TokenSecret

        package init(node: Identifier128, secret: TokenSecret) {
            self.node = node
            self.secret = secret
        }
    }

    package init(
        clientName: String,
        features: Features = .usual,
        session: Identifier128,
        expectedHistory: Identifier128? = nil,
        expectedModelHash: UInt64? = nil,
        token: AccessToken? = nil,
        peer: Peer? = nil,
        user: String = ""
    ) {
        self.clientName = clientName
        self.features = features
        self.session = session
        self.expectedHistory = expectedHistory
        self.expectedModelHash = expectedModelHash
        self.token = token
        self.peer = peer
        self.user = user
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        var clientName = ""
        var features: Features = []
        var session: Identifier128?
        var expectedHistory: Identifier128?
        var expectedModelHash: UInt64?
        var token: AccessToken?
        var peer: Peer?
        var user = ""
        try TaggedFields.read(from: &reader) { (tag, field) throws(DecodingFailure) in
            switch tag {
            case 1: clientName = try field.string("client name", max: Limits.nameBytesMax)
            case 2: features = Features(rawValue: try field.integer(UInt64.self, "features"))
            case 3: session = try field.identifier("session")
            case 4: expectedHistory = try field.identifier("expected history")
            case 5: expectedModelHash = try field.integer(UInt64.self, "expected model hash")
            case 6:
                token = AccessToken(number: try field.varint("token"), secret: try field.tokenSecret("token secret"))
            case 8:
                peer = Peer(node: try field.identifier("node"), secret: try field.tokenSecret("node's secret"))
            case 9: user = try field.string("user", max: Limits.nameBytesMax)
            default: break
            }
        }
        guard let session else { throw DecodingFailure(.truncated, "session") }
        self.init(
            clientName: clientName,
            features: features,
            session: session,
            expectedHistory: expectedHistory,
            expectedModelHash: expectedModelHash,
            token: token,
            peer: peer,
            user: user
        )
    }

    package func encode(into writer: inout ByteWriter) {
        var fields = TaggedFields()
        fields.add(1) { $0.write(string: self.clientName) }
        fields.add(2) { $0.write(integer: self.features.rawValue) }
        fields.add(3) { $0.write(identifier: self.session) }
        if let expectedHistory { fields.add(4) { $0.write(identifier: expectedHistory) } }
        if let expectedModelHash { fields.add(5) { $0.write(integer: expectedModelHash) } }
        if let token {
            fields.add(6) {
                $0.write(varint: token.number)
                $0.write(tokenSecret: token.secret)
            }
        }
        if let peer {
            fields.add(8) {
                $0.write(identifier: peer.node)
                $0.write(tokenSecret: peer.secret)
            }
        }
        if !self.user.isEmpty { fields.add(9) { $0.write(string: self.user) } }
        fields.encode(into: &writer)
    }
}
