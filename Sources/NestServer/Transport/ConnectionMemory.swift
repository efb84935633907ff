import NIOConcurrencyHelpers
import NestModel

/// What the connections of all event loops hold together, and which loop has to end its largest when it is too much.
///
/// A loop reports when its sum has changed by more than a little. A report that finds the total over the maximum asks
/// the loop with the largest connection, which may be the reporting one, to end it.
package final class ConnectionMemory: Sendable {
    private struct Share {
        var bytes = 0
        var largest = 0
        var shed: @Sendable () -> Void = {}
        /// The loop was asked to end its largest connection and has not reported since.
        var isAsked = false
    }

    private let max: Int
    private let shares: NIOLockedValueBox<[Share]>

    package init(bytesMax: Int, loopCount: Int) {
        self.max = bytesMax
        self.shares = NIOLockedValueBox(Array(repeating: Share(), count: loopCount))
    }

    /// What all connections hold, as last reported.
    package var byteCount: Int { self.shares.withLockedValue { $0.reduce(0) { $0 + $1.bytes } } }

    /// `shed` ends the largest connection of the loop and then reports; it is called on any thread.
    package func onShed(loop: Int, _ shed: @escaping @Sendable () -> Void) {
        self.shares.withLockedValue { $0[loop].shed = shed }
    }

    /// Reports what the connections of a loop hold now. `largest` is the most that one of them holds; it is called only
    /// when the total is over half of the maximum.
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
