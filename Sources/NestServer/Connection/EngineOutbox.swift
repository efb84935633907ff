import NestEngine

/// The inputs that a connection has for the engine. Each `settle` submits them, in order.
struct EngineOutbox {
    private var inputs: [EngineInput] = []
    /// Whether the engine knows the connection.
    private(set) var isRegistered = false

    var isEmpty: Bool { self.inputs.isEmpty }

    /// Adds `input`, which registers the connection with the engine after the login.
    mutating func register(_ input: EngineInput) {
        self.isRegistered = true
        self.inputs.append(input)
    }

    mutating func append(_ input: EngineInput) { self.inputs.append(input) }

    /// Adds `input` only if the engine knows the connection.
    mutating func appendIfRegistered(_ input: EngineInput) {
        if self.isRegistered { self.inputs.append(input) }
    }

    /// Notifies the engine of the connection's end, if the engine knows the connection.
    mutating func deregister(_ id: ConnectionID) {
        self.appendIfRegistered(.disconnected(id))
        self.isRegistered = false
    }

    mutating func submit(to engine: EngineThread) {
        guard !self.inputs.isEmpty else { return }
        engine.submit(self.inputs)
        self.inputs.removeAll(keepingCapacity: true)
    }
}
