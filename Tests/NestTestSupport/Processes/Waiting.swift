/// A test has waited too long.
public struct WaitTimeout: Error, CustomStringConvertible {
    public let description: String

    public init(_ what: String, _ limit: Duration) { self.description = "waited \(limit) for \(what)" }
}

extension Duration {
    /// The limit of every wait in the tests: longer than anything takes on a busy machine, so only what hangs reaches
    /// it.
    public static let testPatience = Duration.seconds(60)
}

/// Looks again and again until `look` finds something, and throws after `limit` with what it waited for.
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

/// Waits until a condition holds, and throws after `limit` with what it waited for.
public func waitUntil(
    _ what: @autoclosure () -> String,
    within limit: Duration = .testPatience,
    every pause: Duration = .milliseconds(5),
    _ condition: () async throws -> Bool
) async throws {
    try await waitFor(what(), within: limit, every: pause) { try await condition() ? () : nil }
}
