import NIOConcurrencyHelpers
import NestModel

/// Counts the bytes that the connections of all event loops hold, and chooses the loop that must end its largest
/// connection when the total is too large.
///
/// A loop reports when its sum has changed enough. A report that finds the total over the maximum has the loop with the
/// largest connection, which may be the reporting one, end that connection.
package final class ConnectionMemory: Sendable {
    private struct Share {
        var bytes = 0
        var largest = 0
        var shed: @Sendable () -> Void = {}
        /// Whether the loop was asked to end its largest connection and has not reported since.
        var isAsked = false
    }

    private let max: Int
    private let shares: NIOLockedValueBox<[Share]>

    package init(bytesMax: Int, loopCount: Int) {
        self.max = bytesMax
        self.shares = NIOLockedValueBox(Array(repeating: Share(), count: loopCount))
    }

    /// The bytes that all connections hold, as last reported.
    package var byteCount: Int { self.shares.withLockedValue { $0.reduce(0) { $0 + $1.bytes } } }

    /// Sets the closure that ends the largest connection of the loop and then reports. It is called on any thread.
    package func onShed(loop: Int, _ shed: @escaping @Sendable () -> Void) {
        self.shares.withLockedValue { $0[loop].shed = shed }
    }

    /// Reports the bytes that the connections of a loop hold now. `largest` returns the bytes of the largest one; it is
    /// called only when the total is over half of the maximum.
    package func report(loop: Int, bytes: Int, largest: () -> Int) {
        let shed = self.shares.withLockedValue { shares -> (@Sendable () -> Void)? in
            shares[loop].bytes = bytes
            shares[loop].isAsked = false
            let sum = shares.reduce(0) { $0 + $1.bytes }
            shares[loop].largest = sum > self.max / 2 ? largest() : 0
            guard sum > self.max, let fullest = shares.indices.max(by: { shares[$0].largest < shares[$1].largest }),
                shares[fullest].largest > 0, !shares[fullest].isAsked
            else { return nil }
            shares[fullest].isAsked = true
            return shares[fullest].shed
        }
        shed?()
    }
}
