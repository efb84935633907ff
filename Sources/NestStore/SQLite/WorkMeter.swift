/// Counts the steps of a request while it runs, and ends it when they exceed its limit or the server stops.
///
/// One step is one row that a statement returns, or one statement that returns none: one to ten microseconds. Every
/// statement of the connection counts its own steps, so that no loop can forget to. Costs one subtraction per step.
final class WorkMeter {
    /// The number of steps between two checks of the stop signal.
    private static let sliceSteps = 1_024

    private let signal: StopSignal?
    private var stepsMax = 0
    /// The steps left in the current slice, and in all slices after it. Nothing is counted while no request is
    /// measured.
    private var slice = Int.max
    private var rest = 0
    private var isMeasuring = false

    init(_ signal: StopSignal?) {
        self.signal = signal
    }

    @inline(__always)
    func step() throws(StoreError) {
        self.slice -= 1
        if self.slice < 0 { try self.endSlice() }
    }

    private func endSlice() throws(StoreError) {
        guard self.isMeasuring else { return self.slice = .max }
        if self.signal?.isRaised ?? false { throw .stopping }
        guard self.rest > 0 else { throw .overBudget(steps: self.stepsMax) }
        self.slice = min(self.rest, Self.sliceSteps)
        self.rest -= self.slice
        // The step that ended the slice counts too.
        self.slice -= 1
    }

    /// Runs `body`, which may take at most `stepsMax` steps, and returns its result. `lastSteps` is then the number of
    /// its steps.
    func measure<Result, Failure: Error>(
        stepsMax: Int,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.stepsMax = stepsMax
        self.isMeasuring = true
        (self.slice, self.rest) = (0, stepsMax)
        defer { self.end() }
        return try body()
    }

    /// Ends the measurement: the rollback of a request must not fail because of the request's cost.
    func end() {
        guard self.isMeasuring else { return }
        self.isMeasuring = false
        self.lastSteps = max(0, self.stepsMax - self.rest - max(self.slice, 0))
        self.slice = .max
    }

    /// The number of steps of the last measured request.
    private(set) var lastSteps = 0
}
