import NestTestSupport

/// Counts the steps of many tasks, so that a test can wait for a number of them.
actor ProgressCounter {
    private(set) var count = 0

    func add(_ number: Int) {
        self.count += number
    }

    /// Waits until the count reaches `count`.
    func wait(for count: Int) async throws {
        try await waitUntil("\(count) done, not \(self.count)", every: .milliseconds(1)) { self.count >= count }
    }
}
