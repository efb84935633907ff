import NestModel

/// Why the server ends its connections, as GOAWAY states it.
package struct DrainReason: Sendable {
    let code: ErrorCode
    let message: String
    /// A client waits a random time from this range before it connects again, so that not all do at once.
    let retryMilliseconds: Range<Int>

    package static let stopping = DrainReason(
        code: .shuttingDown,
        message: "the server is stopping",
        retryMilliseconds: 500..<2_000
    )
    static let modelChanged = DrainReason(
        code: .schemaChanged,
        message: "the cluster's model has changed: connect again, and get the model with GET_MODEL",
        retryMilliseconds: 200..<1_000
    )
    static let modelGrown = DrainReason(
        code: .schemaChanged,
        message: "the server's model has changed: connect again, and get the model with GET_MODEL",
        retryMilliseconds: 0..<1_000
    )
    static let historyChanged = DrainReason(
        code: .shuttingDown,
        message: "the cluster has lost records and begins a new history: connect again, and subscribe anew",
        retryMilliseconds: 200..<1_000
    )
    static let drained = DrainReason(
        code: .shuttingDown,
        message: "an operator has drained this node: connect to another node of the cluster",
        retryMilliseconds: 1_000..<3_000
    )
    static let lagging = DrainReason(
        code: .shuttingDown,
        message: "this node has heard nothing of its cluster's log for a while: connect to another node",
        retryMilliseconds: 200..<1_000
    )
    static let rejoining = DrainReason(
        code: .shuttingDown,
        message: "this node joins its cluster anew: connect again",
        retryMilliseconds: 200..<1_000
    )
}
