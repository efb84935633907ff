import NIOConcurrencyHelpers
import NIOCore
import NestStore

extension ReadDeadline {
    /// Creates a read deadline at `time` from now. The read also ends when `isCancelled` returns true. Create it where
    /// the read begins: time spent waiting for a thread does not count.
    init(for time: TimeAmount, unless isCancelled: @escaping @Sendable () -> Bool) {
        let end = NIODeadline.now() + time
        self.init(isCancelled: isCancelled, isLate: { NIODeadline.now() >= end })
    }

    init(for time: TimeAmount, unless isCancelled: NIOLockedValueBox<Bool>) {
        self.init(for: time) { isCancelled.withLockedValue { $0 } }
    }
}
