/// Counts the steps of a request while it runs, and ends it when they exceed its limit or the server stops.
///
/// One step is one row that a statement finds, or one statement that finds none: a microsecond to ten. Every statement
/// of the connection counts by itself, so that no loop can forget to. Costs a subtraction a step.
final class WorkMeter {
    /// Steps between two looks at the signal.
    private static let sliceSteps = 1_024

    private let signal: StopSignal?
    private var stepsMax = 0
    /// Of the present slice and of those after it. Nothing is counted while no request is measured.
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
        // The step that has found the end of the slice.
        self.slice -= 1
    }

    /// Measures `body`, which may take so many steps. Returns what it has taken.
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

    /// Ends the count: the rollback of a request must not fail because of what the request has cost.
    func end() {
        guard self.isMeasuring else { return }
        self.isMeasuring = false
        self.lastSteps = max(0, self.stepsMax - self.rest - max(self.slice, 0))
        self.slice = .max
    }

    /// The steps of the last measured request.
    private(set) var lastSteps = 0
}
