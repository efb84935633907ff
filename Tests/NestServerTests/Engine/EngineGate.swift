import Dispatch
import NIOConcurrencyHelpers
import NestEngine
import NestServer
import NestTestSupport

/// Holds the engine's thread at a stage of its turn until the test lets it go.
final class EngineGate: Sendable {
    private struct State {
        /// Where the thread stops next, and of which batches.
        var stage: EngineStage?
        var isMeant: @Sendable ([EngineInput]) -> Bool = { _ in true }
        var isOpen = false
    }

    private let state = NIOLockedValueBox(State())
    private let held = DispatchSemaphore(value: 0)
    private let released = DispatchSemaphore(value: 0)

    /// What the server calls.
    func pass(_ stage: EngineStage, _ inputs: [EngineInput]) {
        let stops = self.state.withLockedValue { state in
            guard !state.isOpen, state.stage == stage, state.isMeant(inputs) else { return false }
            state.stage = nil
            return true
        }
        guard stops else { return }
        self.held.signal()
        self.released.wait()
    }

    /// The next batch with such an input stops at this stage.
    func holdNext(_ stage: EngineStage = .begun, _ isMeant: @escaping @Sendable (EngineRequest) -> Bool) {
        self.state.withLockedValue { state in
            state.stage = stage
            state.isMeant = { inputs in
                inputs.contains { if case .request(_, _, let request) = $0 { isMeant(request) } else { false } }
            }
        }
    }

    /// The next batch that commits something does.
    func holdNextWrite(_ stage: EngineStage = .begun) {
        self.holdNext(stage) { if case .transaction = $0 { true } else { false } }
    }

    func waitUntilHeld() throws {
        let seconds = Duration.testPatience.components.seconds
        guard self.held.wait(timeout: .now() + .seconds(Int(seconds))) == .success else {
            throw WaitTimeout("the engine's thread to stop at a stage", .testPatience)
        }
    }

    /// Lets the thread go on to a later stage of the same turn.
    func advance(to stage: EngineStage) throws {
        self.state.withLockedValue { state in
            state.stage = stage
            state.isMeant = { _ in true }
        }
        self.released.signal()
        try self.waitUntilHeld()
    }

    /// Lets the thread go, and holds it no more.
    func open() {
        let wasOpen = self.state.withLockedValue { state in
            defer { state.isOpen = true }
            return state.isOpen
        }
        if !wasOpen { self.released.signal() }
    }
}
