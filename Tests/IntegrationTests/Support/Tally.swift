import NestTestSupport

/// Counts what many tasks have done, for those who wait for a moment in the middle of it.
actor Tally {
    private(set) var count = 0

    func add(_ number: Int) {
        self.count += number
    }

    /// Waits until so much has been counted.
    func wait(for count: Int) async throws {
        try await waitUntil("\(count) done, not \(self.count)", every: .milliseconds(1)) { self.count >= count }
    }
}
