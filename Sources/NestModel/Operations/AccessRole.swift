/// The permissions of a client. Each role includes those before it.
public enum AccessRole: UInt8, CaseIterable, Comparable, Sendable, CustomStringConvertible {
    /// Read, and follow changes.
    case read = 1
    /// Write and undo.
    case write = 2
    /// Create and revoke tokens.
    case admin = 3

    public static func < (a: AccessRole, b: AccessRole) -> Bool { a.rawValue < b.rawValue }

    public init?(name: String) {
        guard let role = Self.allCases.first(where: { $0.description == name }) else { return nil }
        self = role
    }

    public var description: String {
        switch self {
        case .read: "read"
        case .write: "write"
        case .admin: "admin"
        }
    }
}

/// The part of a store that a confined token can access: an object and everything below it.
public struct AccessConfinement: Hashable, Sendable {
    public var root: ObjectID
    /// The root's entity, or an ancestor of that.
    public var entity: EntityNumber
    /// The to-many relationship that leads down, such as `children` of an item.
    public var relationship: PropertyNumber

    public init(root: ObjectID, entity: EntityNumber, relationship: PropertyNumber) {
        self.root = root
        self.entity = entity
        self.relationship = relationship
    }
}

/// Limits for a token's connections; 0 means the server's default. A value above the default has no effect.
public struct TokenLimits: Hashable, Sendable {
    /// Connections at the same time.
    public var connections: Int
    /// Requests in flight on one connection.
    public var requestsInFlight: Int
    /// Subscriptions of one connection.
    public var subscriptions: Int
    /// Bytes waiting to be sent on one connection; above it the connection is closed.
    public var outputBytes: Int

    public init(connections: Int = 0, requestsInFlight: Int = 0, subscriptions: Int = 0, outputBytes: Int = 0) {
        self.connections = connections
        self.requestsInFlight = requestsInFlight
        self.subscriptions = subscriptions
        self.outputBytes = outputBytes
    }

    /// Returns the smaller of a token's limit and the server's.
    public static func smaller(_ limit: Int, _ server: Int) -> Int { limit == 0 ? server : min(limit, server) }
}

/// The rights of a token.
public struct TokenGrant: Hashable, Sendable {
    /// For people; at most 256 bytes.
    public var name: String
    public var role: AccessRole
    /// `nil`: the whole store.
    public var confinement: AccessConfinement?
    public var limits: TokenLimits
    /// The label of the token's clients, for people; at most 256 bytes. Empty: the name is the label.
    public var user: String
    /// When the token ends, in microseconds since 1970-01-01 UTC; `nil`: never. At most `Limits.tokenExpiryMax`.
    public var expires: Int64?

    public init(
        name: String,
        role: AccessRole,
        confinement: AccessConfinement? = nil,
        limits: TokenLimits = TokenLimits(),
        user: String = "",
        expires: Int64? = nil
    ) {
        self.name = name
        self.role = role
        self.confinement = confinement
        self.limits = limits
        self.user = user
        self.expires = expires
    }

    /// The label of the token's clients.
    public var label: UserLabel? { UserLabel(self.user.isEmpty ? self.name : self.user) }

    /// Whether the token has ended at a time, in microseconds since 1970-01-01 UTC.
    public func isExpired(at time: Int64) -> Bool { self.expires.map { $0 <= time } ?? false }
}

/// A token as its server lists it, without the secret, which the server does not store.
public struct TokenDescription: Hashable, Sendable {
    public var number: UInt64
    public var grant: TokenGrant
    /// Microseconds since 1970-01-01 UTC.
    public var created: Int64
    /// The last time that a client connected with it, to about a minute; 0 for never.
    public var lastUsed: Int64
    /// The number of current connections with it.
    public var connections: Int

    public init(number: UInt64, grant: TokenGrant, created: Int64, lastUsed: Int64 = 0, connections: Int = 0) {
        self.number = number
        self.grant = grant
        self.created = created
        self.lastUsed = lastUsed
        self.connections = connections
    }
}
