import Dispatch
import NIOConcurrencyHelpers
import NestEngine
import NestServer
import NestTestSupport

/// Holds the engine's thread at a stage of its turn until the test releases it.
final class EngineGate: Sendable {
    private struct State {
        /// The stage at which the thread stops next, if the batch matches.
        var stage: EngineStage?
        var matches: @Sendable ([EngineInput]) -> Bool = { _ in true }
        var isOpen = false
    }

    private let state = NIOLockedValueBox(State())
    private let held = DispatchSemaphore(value: 0)
    private let released = DispatchSemaphore(value: 0)

    /// Called by the server on the engine's thread at each stage.
    func pass(_ stage: EngineStage, _ inputs: [EngineInput]) {
        let stops = self.state.withLockedValue { state in
            guard !state.isOpen, state.stage == stage, state.matches(inputs) else { return false }
            state.stage = nil
            return true
        }
        guard stops else { return }
        self.held.signal()
        self.released.wait()
    }

    /// Stops the next batch with a matching request at this stage.
    func holdNext(_ stage: EngineStage = .begun, _ matches: @escaping @Sendable (EngineRequest) -> Bool) {
        self.state.withLockedValue { state in
            state.stage = stage
            state.matches = { inputs in
                inputs.contains { if case .request(_, _, let request) = $0 { matches(request) } else { false } }
            }
        }
    }

    /// Stops the next batch with a transaction at this stage.
    func holdNextWrite(_ stage: EngineStage = .begun) {
        self.holdNext(stage) { if case .transaction = $0 { true } else { false } }
    }

    func waitUntilHeld() throws {
        let seconds = Duration.testPatience.components.seconds
        guard self.held.wait(timeout: .now() + .seconds(Int(seconds))) == .success else {
            throw WaitTimeout("the engine's thread to stop at a stage", .testPatience)
        }
    }

    /// Lets the thread continue to a later stage of the same turn.
    func advance(to stage: EngineStage) throws {
        self.state.withLockedValue { state in
            state.stage = stage
            state.matches = { _ in true }
        }
        self.released.signal()
        try self.waitUntilHeld()
    }

    /// Releases the thread and never holds it again.
    func open() {
        let wasOpen = self.state.withLockedValue { state in
            defer { state.isOpen = true }
            return state.isOpen
        }
        if !wasOpen { self.released.signal() }
    }
}
