import NestTestSupport
import NestSchema

/// Counts what many tasks have done, for those who wait for a moment in the middle of it.
actor Tally {
    private(set) var count = 0

    func add(_ number: Int) {
        self.count += number
    }

    /// Waits until so much has been counted, with the patience that a process is given.
    func wait(for count: Int) async throws {
        let deadline = ContinuousClock.now + ChildProcess.patience
        while self.count < count {
            guard ContinuousClock.now < deadline else { throw ProcessFailure("\(self.count) done, not \(count)") }
            try await Task.sleep(for: .milliseconds(1))
        }
    }
}
