import NestModel
import NestProtocol
import NestSchema

/// The tokens of a store: their grants, and the hashes of their secrets. They are not part of the object graph, its
/// revisions and its journal.
extension Store {
    package struct Token: Sendable {
        package var description: TokenDescription
        /// SHA-256 of the secret, which the store does not keep.
        package var secretHash: TokenSecret

        package init(description: TokenDescription, secretHash: TokenSecret) {
            self.description = description
            self.secretHash = secretHash
        }
    }

    /// Returns all tokens, ascending by number.
    package func tokens() throws(StoreError) -> [Token] { try Self.tokens(self.connection, path: self.path) }

    static func tokens(_ connection: Connection, path: String) throws(StoreError) -> [Token] {
        let statement = try connection.statement(
            "SELECT number, hash, grant_bytes, created, last_used FROM nest_token ORDER BY number"
        )
        defer { statement.reset() }
        var tokens: [Token] = []
        while try statement.step() {
            guard
                let hash = try? ByteReader.read(
                    statement.blob(1),
                    { (reader) throws(DecodingFailure) in try reader.tokenSecret("hash") }
                ),
                let grant = try? ByteReader.read(
                    statement.blob(2),
                    { (reader) throws(DecodingFailure) in
                        var grant = try reader.tokenGrant()
                        // Stores from before format 7 have neither user nor expiry.
                        if !reader.isAtEnd { try reader.readIdentity(into: &grant) }
                        return grant
                    }
                )
            else { throw .corrupt(path: path, reason: "a token is damaged") }
            let description = TokenDescription(
                number: UInt64(clamping: statement.integer(0)),
                grant: grant,
                created: statement.integer(3),
                lastUsed: statement.integer(4)
            )
            tokens.append(Token(description: description, secretHash: hash))
        }
        return tokens
    }

    /// Creates a token, durable on return. A number is never assigned twice. Call it outside a transaction.
    ///
    /// If a token with the same secret and grant exists, it is returned: a client that repeats a lost request gets the
    /// same token. With another grant, the secret is refused: it would have two meanings.
    package func createToken(_ grant: TokenGrant, secretHash: TokenSecret, now: Int64) throws(StoreError) -> Token {
        let existing = try self.tokens()
        if let token = existing.first(where: { $0.secretHash == secretHash }) {
            guard token.description.grant == grant else {
                throw .refused(
                    .conflict,
                    "token \(token.description.number) has the same secret and other rights: make a new secret"
                )
            }
            return token
        }
        try Self.check(grant, among: existing.map(\.description), of: self, now: now)
        guard self.membership != nil else {
            try self.insertToken(number: nil, grant, secretHash: secretHash, created: now)
            return try self.newestToken()
        }
        var created: Token?
        try self.commitNotes(time: now) { () throws(StoreError) in
            try self.insertToken(number: nil, grant, secretHash: secretHash, created: now)
            let token = try self.newestToken()
            created = token
            return [.tokenCreated(token)]
        }
        guard let created else { preconditionFailure("the token is in the record") }
        return created
    }

    private func newestToken() throws(StoreError) -> Token {
        guard let token = try self.tokens().last else {
            throw .corrupt(path: self.path, reason: "a token is missing")
        }
        return token
    }

    /// `number`: `nil` for the next one.
    func insertToken(
        number: UInt64?,
        _ grant: TokenGrant,
        secretHash: TokenSecret,
        created: Int64
    ) throws(StoreError) {
        let insert = try self.connection.statement(
            """
            INSERT INTO nest_token (number, hash, grant_bytes, name, role, created, last_used)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)
            """
        )
        var hash = ByteWriter()
        hash.write(tokenSecret: secretHash)
        var bytes = ByteWriter()
        bytes.write(tokenGrant: grant)
        if grant.hasIdentity { bytes.write(identity: grant) }
        if let number { insert.bind(1, Int64(number)) } else { insert.bindNull(1) }
        insert.bind(2, blob: hash.bytes)
        insert.bind(3, blob: bytes.bytes)
        insert.bind(4, text: grant.name)
        insert.bind(5, text: grant.role.description)
        insert.bind(6, created)
        try insert.run()
    }

    /// Revokes a token, durable on return. Call it outside a transaction.
    ///
    /// An admin token is revoked only while another one is valid, which can administer the store then. This applies to
    /// an expired one too: it may be the last token, without which every client would be an administrator.
    package func revokeToken(_ number: UInt64, now: Int64) throws(StoreError) {
        let tokens = try self.tokens()
        guard let token = tokens.first(where: { $0.description.number == number }) else {
            throw .refused(.notFound, "there is no token \(number)")
        }
        let others = tokens.map(\.description).filter { $0.number != number }
        if token.description.grant.isFullAdmin,
            !others.contains(where: { $0.grant.isFullAdmin && !$0.grant.isExpired(at: now) })
        {
            throw .refused(
                .conflict,
                "no other token with role admin is valid: create one before you revoke token \(number), or revoke it "
                    + "with 'nestd token revoke' while nestd is stopped"
            )
        }
        try self.removeToken(number)
    }

    /// Removes a token without a check of the remaining tokens.
    package func removeToken(_ number: UInt64) throws(StoreError) {
        guard self.membership != nil else { return try self.deleteToken(number) }
        try self.commitNotes { () throws(StoreError) in
            try self.deleteToken(number)
            return [.tokenRevoked(number)]
        }
    }

    func deleteToken(_ number: UInt64) throws(StoreError) {
        let statement = try self.connection.statement("DELETE FROM nest_token WHERE number = ?1")
        statement.bind(1, Int64(number))
        try statement.run()
    }

    /// Saves when tokens were last used.
    package func noteUse(_ times: [UInt64: Int64]) throws(StoreError) {
        guard !times.isEmpty else { return }
        try self.connection.execute("BEGIN IMMEDIATE")
        do {
            for (number, time) in times.sorted(by: { $0.key < $1.key }) {
                let statement = try self.connection.statement("UPDATE nest_token SET last_used = ?2 WHERE number = ?1")
                statement.bind(1, Int64(number))
                statement.bind(2, time)
                try statement.run()
            }
            try self.connection.execute("COMMIT")
        } catch {
            try self.connection.rollBack()
            throw error
        }
    }

    /// Returns the model of the store in a file; `nil` if there is no store. Holds the lock while it reads.
    package static func storedModel(at location: Configuration.Location) throws(StoreError) -> ManagedObjectModel? {
        guard case .file(let name) = location else { return nil }
        let path = try StoreFile.resolve(name)
        guard try StoreFile.check(path) != .missing else { return nil }
        let lock = try StoreLock(storePath: path)
        defer { withExtendedLifetime(lock) {} }
        let connection = try Connection(path: path, role: .writer(.full))
        defer { try? connection.close() }
        return try connection.access { () throws(StoreError) in try Self.storedModel(connection, path: path) }
    }

    /// More connections than one nestd can have. Their number takes as many bytes as that of any token.
    private static let listedConnectionsMax = 1 << 29

    private static func check(
        _ grant: TokenGrant,
        among tokens: [TokenDescription],
        of store: Store,
        now: Int64
    ) throws(StoreError) {
        guard !grant.name.isEmpty else { throw .refused(.invalid, "a token needs a name") }
        guard grant.name.utf8.count <= Limits.nameBytesMax else {
            throw .refused(.valueTooLarge, "a token's name has at most \(Limits.nameBytesMax) bytes")
        }
        guard grant.user.utf8.count <= Limits.nameBytesMax else {
            throw .refused(.valueTooLarge, "a token's user label has at most \(Limits.nameBytesMax) bytes")
        }
        if let expires = grant.expires {
            guard expires > now else {
                throw .refused(.invalid, "the token would have expired already: its expiry must be later than now")
            }
            guard expires <= Limits.tokenExpiryMax else {
                throw .refused(.invalid, "a token expires by the end of the year 9999, or never")
            }
        }
        guard tokens.count < Limits.tokensMax else {
            throw .refused(.limitExceeded, "a store has at most \(Limits.tokensMax) tokens")
        }
        // The list names the connections of each token, which come and go: room for the longest number.
        let all = tokens + [TokenDescription(number: Limits.tokenNumberMax, grant: grant, created: now)]
        let listed = TokenList(
            all.map { token in
                var token = token
                token.connections = Self.listedConnectionsMax
                return token
            }
        )
        guard listed.body.count <= Limits.frameBytesMax else {
            throw .refused(
                .limitExceeded,
                "the list of tokens would not fit into a frame: use shorter names and user labels, or revoke tokens"
            )
        }
        if tokens.isEmpty, !grant.isFullAdmin {
            throw .refused(
                .invalid,
                "the first token must have the role admin and no root: from then on every client needs a token"
            )
        }
        guard let confinement = grant.confinement else { return }
        guard grant.role != .admin else {
            throw .refused(.invalid, "a token with role admin cannot be confined: it could create a token that is not")
        }
        guard let (layout, _) = try store.object(confinement.root) else {
            throw .refused(.notFound, "there is no object with id \(confinement.root)", object: confinement.root)
        }
        guard store.layout[confinement.entity]?.number == layout.number, store.layout.subtree(confinement) != nil
        else {
            throw .refused(
                .invalid,
                "a token can only be confined by a one-to-many relationship from an object to objects of its "
                    + "own entity"
            )
        }
    }
}

extension TokenGrant {
    /// Whether the token may create and revoke every token.
    package var isFullAdmin: Bool { self.role == .admin && self.confinement == nil }
}
