import NestModel

extension Limits {
    public static let frames = ProtocolLimits()
    public static let connections = ConnectionLimits()
    public static let engine = EngineDefaults()
    public static let storage = StorageLimits()
    public static let clients = ClientLimits()
    public static let cluster = ClusterLimits()

    /// All limits, in the order in which the groups declare them.
    public static let all: [Limit] =
        Limit.list(model) + Limit.list(frames) + Limit.list(connections) + Limit.list(engine) + Limit.list(storage)
        + Limit.list(clients) + Limit.list(cluster)

    @inlinable public static subscript<Value>(dynamicMember limit: KeyPath<ProtocolLimits, Value>) -> Value {
        self.frames[keyPath: limit]
    }

    @inlinable public static subscript<Value>(dynamicMember limit: KeyPath<ConnectionLimits, Value>) -> Value {
        self.connections[keyPath: limit]
    }

    @inlinable public static subscript<Value>(dynamicMember limit: KeyPath<EngineDefaults, Value>) -> Value {
        self.engine[keyPath: limit]
    }

    @inlinable public static subscript<Value>(dynamicMember limit: KeyPath<StorageLimits, Value>) -> Value {
        self.storage[keyPath: limit]
    }

    @inlinable public static subscript<Value>(dynamicMember limit: KeyPath<ClientLimits, Value>) -> Value {
        self.clients[keyPath: limit]
    }

    @inlinable public static subscript<Value>(dynamicMember limit: KeyPath<ClusterLimits, Value>) -> Value {
        self.cluster[keyPath: limit]
    }
}
