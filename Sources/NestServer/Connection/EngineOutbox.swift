import NestEngine

/// What a connection has for the engine. It goes there once for each `settle`, in order.
struct EngineOutbox {
    private var inputs: [EngineInput] = []
    /// The engine knows the connection.
    private(set) var isRegistered = false

    var isEmpty: Bool { self.inputs.isEmpty }

    /// The client logged in: `input` introduces the connection to the engine.
    mutating func register(_ input: EngineInput) {
        self.isRegistered = true
        self.inputs.append(input)
    }

    mutating func append(_ input: EngineInput) { self.inputs.append(input) }

    /// Adds something that concerns the engine only if it knows the connection.
    mutating func appendIfRegistered(_ input: EngineInput) {
        if self.isRegistered { self.inputs.append(input) }
    }

    /// The connection ends.
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
