import NestModel

extension ByteWriter {
    package mutating func write(tokenGrant grant: TokenGrant) {
        self.write(string: grant.name)
        self.write(byte: grant.role.rawValue)
        self.write(confinement: grant.confinement)
        self.write(count: grant.limits.connections)
        self.write(count: grant.limits.requestsInFlight)
        self.write(count: grant.limits.subscriptions)
        self.write(count: grant.limits.outputBytes)
    }

    /// Writes a token's user label and expiry, which follow grants as later fields.
    package mutating func write(identity grant: TokenGrant) {
        self.write(string: grant.user)
        self.write(expiry: grant.expires)
    }

    /// Writes 0, or the object, its entity and the relationship.
    package mutating func write(confinement: AccessConfinement?) {
        self.write(varint: UInt64(confinement?.root.rawValue ?? 0))
        if let confinement {
            self.write(varint: UInt64(confinement.entity.rawValue))
            self.write(varint: UInt64(confinement.relationship.rawValue))
        }
    }
}

extension ByteReader {
    package mutating func tokenGrant() throws(DecodingFailure) -> TokenGrant {
        let name = try self.string("token name", max: Limits.nameBytesMax)
        guard let role = AccessRole(rawValue: try self.byte("role")) else {
            throw DecodingFailure(.invalidValue, "role")
        }
        let confinement = try self.confinement()
        let limits = TokenLimits(
            connections: try self.index("connections"),
            requestsInFlight: try self.index("requests in flight"),
            subscriptions: try self.index("subscriptions"),
            outputBytes: try self.index("output bytes")
        )
        return TokenGrant(name: name, role: role, confinement: confinement, limits: limits)
    }

    package mutating func readIdentity(into grant: inout TokenGrant) throws(DecodingFailure) {
        grant.user = try self.string("user", max: Limits.nameBytesMax)
        grant.expires = try self.expiry()
    }

    package mutating func confinement() throws(DecodingFailure) -> AccessConfinement? {
        let root = try self.varint("root")
        guard root > 0 else { return nil }
        guard root <= UInt64(Limits.objectIDMax) else { throw DecodingFailure(.invalidValue, "root") }
        guard let entity = UInt16(exactly: try self.varint("entity")), entity > 0 else {
            throw DecodingFailure(.invalidValue, "entity")
        }
        guard let relationship = UInt16(exactly: try self.varint("relationship")), relationship > 0 else {
            throw DecodingFailure(.invalidValue, "relationship")
        }
        return AccessConfinement(
            root: ObjectID(Int64(root)),
            entity: EntityNumber(entity),
            relationship: PropertyNumber(relationship)
        )
    }
}

extension TokenGrant {
    /// Whether the grant has a user label or an expiry, which older records and messages do not have.
    package var hasIdentity: Bool { !self.user.isEmpty || self.expires != nil }
}
