import NIOConcurrencyHelpers
import NestModel

/// A result that comes later, once, and that any number of tasks wait for.
final class Awaited<Value: Sendable>: Sendable {
    private struct Contents {
        var result: Result<Value, NestError>?
        var waiters: [UInt64: CheckedContinuation<Result<Value, NestError>, Never>] = [:]
        var nextWaiter: UInt64 = 0
    }

    private let contents = NIOLockedValueBox(Contents())

    /// `nil` before it has come.
    var result: Result<Value, NestError>? { self.contents.withLockedValue { $0.result } }

    func finish(_ result: Result<Value, NestError>) {
        let waiters = self.contents.withLockedValue { contents in
            contents.result = result
            defer { contents.waiters = [:] }
            return Array(contents.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: result) }
    }

    /// Waits for the result. A cancelled task stops waiting, and gets `cancelled`.
    func value() async throws(NestError) -> Value {
        let number = self.contents.withLockedValue { contents in
            defer { contents.nextWaiter += 1 }
            return contents.nextWaiter
        }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = self.contents.withLockedValue { contents -> Result<Value, NestError>? in
                    if contents.result == nil, !Task.isCancelled { contents.waiters[number] = continuation }
                    return contents.result ?? (Task.isCancelled ? .failure(Self.stoppedWaiting) : nil)
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            let waiter = self.contents.withLockedValue { $0.waiters.removeValue(forKey: number) }
            waiter?.resume(returning: .failure(Self.stoppedWaiting))
        }
        return try result.get()
    }

    private static var stoppedWaiting: NestError { NestError(.cancelled, "cancelled while waiting; the write goes on") }
}
