/// What a client may do; each role may do what those before it may.
public enum AccessRole: UInt8, CaseIterable, Comparable, Sendable, CustomStringConvertible {
    /// Look, and follow changes.
    case read = 1
    /// Write, and undo.
    case write = 2
    /// Make and revoke tokens.
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

/// The part of a store that a token is confined to: an object and what is below it.
public struct AccessConfinement: Hashable, Sendable {
    public var root: ObjectID
    /// Of the root, or one above it.
    public var entity: EntityNumber
    /// The to-many relationship that leads down, like the `children` of an item.
    public var relationship: PropertyNumber

    public init(root: ObjectID, entity: EntityNumber, relationship: PropertyNumber) {
        self.root = root
        self.entity = entity
        self.relationship = relationship
    }
}

/// What all connections with a token, or each of them, may take; 0 is what the server gives everybody. More than that
/// has no effect.
public struct TokenLimits: Hashable, Sendable {
    /// Connections at the same time.
    public var connections: Int
    /// Requests in flight on one connection.
    public var requestsInFlight: Int
    /// Subscriptions of one connection.
    public var subscriptions: Int
    /// Bytes that wait to be sent on one connection, above which it is closed.
    public var outputBytes: Int

    public init(connections: Int = 0, requestsInFlight: Int = 0, subscriptions: Int = 0, outputBytes: Int = 0) {
        self.connections = connections
        self.requestsInFlight = requestsInFlight
        self.subscriptions = subscriptions
        self.outputBytes = outputBytes
    }

    /// The smaller of a token's limit and the server's.
    public static func smaller(_ limit: Int, _ server: Int) -> Int { limit == 0 ? server : min(limit, server) }
}

/// What a token is made for.
public struct TokenGrant: Hashable, Sendable {
    /// For people; at most 256 bytes.
    public var name: String
    public var role: AccessRole
    /// `nil`: the whole store.
    public var confinement: AccessConfinement?
    public var limits: TokenLimits

    public init(
        name: String,
        role: AccessRole,
        confinement: AccessConfinement? = nil,
        limits: TokenLimits = TokenLimits()
    ) {
        self.name = name
        self.role = role
        self.confinement = confinement
        self.limits = limits
    }
}

/// A token as its server shows it: without the secret, which it does not know either.
public struct TokenDescription: Hashable, Sendable {
    public var number: UInt64
    public var grant: TokenGrant
    /// Microseconds since 1970-01-01 UTC.
    public var created: Int64
    /// When a client has connected with it last, to about a minute; 0 for never.
    public var lastUsed: Int64
    /// Connections with it now.
    public var connections: Int

    public init(number: UInt64, grant: TokenGrant, created: Int64, lastUsed: Int64 = 0, connections: Int = 0) {
        self.number = number
        self.grant = grant
        self.created = created
        self.lastUsed = lastUsed
        self.connections = connections
    }
}
