import NestEngine

/// The effects of one batch, on their way to the connections.
package struct EngineDelivery: Sendable {
    package let effects: [EngineEffect]
    /// The inputs of the batch. They stay alive until the effects are with their connections, so that the event loops
    /// that made them free them, and not the engine's thread.
    let inputs: [EngineInput]
    /// The memory that the answers take until then.
    let share: AnswerShare
    /// There may be changes of tokens among the effects.
    let hasTokenChanges: Bool
}
