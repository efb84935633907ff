import NestEngine

/// The effects of one batch, on their way to the connections.
package struct EngineDelivery: Sendable {
    package let effects: [EngineEffect]
    /// The inputs of the batch. They stay alive until the connections have the effects, so that the event loops that
    /// made them free them, and not the engine's thread. Behind a gate either may: the event loops are done before the
    /// sync.
    let inputs: [EngineInput]
    /// The memory that the answers hold until then.
    let share: AnswerShare
    /// Whether the effects may contain token changes.
    let hasTokenChanges: Bool
    /// Holds the output, because the effects are not durable yet.
    package private(set) var gate: OutputGate?

    func behind(_ gate: OutputGate) -> EngineDelivery {
        var delivery = self
        delivery.gate = gate
        return delivery
    }
}

extension [EngineEffect] {
    /// The most connections that one of the pushes or progress marks goes to.
    package var subscriberCount: Int {
        self.reduce(0) { most, effect in
            switch effect {
            case .push(_, let connections), .progress(_, let connections): Swift.max(most, connections.count)
            default: most
            }
        }
    }
}
