import NIOConcurrencyHelpers
import NIOCore
import NestStore

extension ReadDeadline {
    /// From now on for so long, unless it is cancelled before. Make it where the reading begins: who waits for a thread keeps
    /// nothing from the store.
    init(for time: TimeAmount, unless isCancelled: @escaping @Sendable () -> Bool) {
        let end = NIODeadline.now() + time
        self.init(isCancelled: isCancelled, isLate: { NIODeadline.now() >= end })
    }

    init(for time: TimeAmount, unless isCancelled: NIOLockedValueBox<Bool>) {
        self.init(for: time) { isCancelled.withLockedValue { $0 } }
    }
}
