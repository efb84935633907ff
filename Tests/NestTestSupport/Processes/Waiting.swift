/// The error for a wait that exceeded its limit.
public struct WaitTimeout: Error, CustomStringConvertible {
    public let description: String

    public init(_ what: String, _ limit: Duration) { self.description = "waited \(limit) for \(what)" }
}

extension Duration {
    /// The default limit of waits in tests. It is longer than any step takes on a busy machine, so that only a hang
    /// reaches it.
    public static let testPatience = Duration.seconds(60)
}

/// Calls `look` repeatedly until it returns a value. Throws after `limit`; the error names `what`.
public func waitFor<Value>(
    _ what: @autoclosure () -> String,
    within limit: Duration = .testPatience,
    every pause: Duration = .milliseconds(5),
    _ look: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        if let value = try await look() { return value }
        guard ContinuousClock.now < deadline else { throw WaitTimeout(what(), limit) }
        try await Task.sleep(for: pause)
    }
}

/// Waits until a condition holds. Throws after `limit`; the error names `what`.
public func waitUntil(
    _ what: @autoclosure () -> String,
    within limit: Duration = .testPatience,
    every pause: Duration = .milliseconds(5),
    _ condition: () async throws -> Bool
) async throws {
    try await waitFor(what(), within: limit, every: pause) { try await condition() ? () : nil }
}
